internal import Foundation
internal import SecureStoragePlatform

#if canImport(Darwin)
    /// Admits one caller at a time, in order of arrival.
    ///
    /// A serial queue, because waiting for one donates the waiter's priority to the running block.
    final class WaitingLine: @unchecked Sendable {
        // @unchecked: `waitTime` is accessed only by the holder of the turn.
        private let queue = DispatchQueue(label: "SecureStorage")
        /// How long the holder of the turn has waited for it, in nanoseconds.
        @exclusivity(unchecked) private(set) var waitTime: Int64 = 0
        /// The calls that have arrived and not ended.
        private let calls = Locked(0)

        /// Whether a call waits, besides the one whose turn it is.
        var hasWaiters: Bool { calls.withLock { $0 > 1 } }

        /// Runs `body` on the calling thread in its turn.
        func enter<T>(_ body: () throws -> sending T) throws -> sending T {
            calls.withLock { $0 += 1 }
            defer { calls.withLock { $0 -= 1 } }
            // Unsafe only to the compiler: `sync` has returned, on this thread, before the read.
            nonisolated(unsafe) var outcome: Result<T, any Error>?
            let arrival = MonotonicTime.now
            queue.sync {
                waitTime = MonotonicTime.now - arrival
                outcome = Result { try body() }
            }
            guard let outcome else {
                preconditionFailure("DispatchQueue.sync did not run its block")
            }
            nonisolated(unsafe) let value = try outcome.get()
            return value
        }

        /// Runs `body` in its turn on a Dispatch thread, without waiting for it.
        func enqueue(_ body: @escaping @Sendable () -> Void) {
            calls.withLock { $0 += 1 }
            let arrival = MonotonicTime.now
            queue.async { [self] in
                defer { calls.withLock { $0 -= 1 } }
                waitTime = MonotonicTime.now - arrival
                body()
            }
        }
    }
#else
    /// Admits one caller at a time, in order of arrival.
    ///
    /// Not a serial queue, which costs as much as reading a row: Swift's Dispatch on Linux creates
    /// a block for each closure. Here there are no priorities to donate.
    final class WaitingLine: @unchecked Sendable {
        // @unchecked: everything below is only accessed under `mutex`.
        private enum Waiter {
            case thread(DispatchSemaphore)
            case body(@Sendable () -> Void, arrival: Int64)
        }

        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        @exclusivity(unchecked) private var isOccupied = false
        @exclusivity(unchecked) private var waiting = FirstInFirstOut<Waiter>()
        /// The length of `waiting`: cheaper to read than the list, which is mostly empty.
        @exclusivity(unchecked) private var waitingCount = 0
        /// How long the holder of the turn has waited for it, in nanoseconds; accessed only by the
        /// holder, except under `mutex`.
        @exclusivity(unchecked) private(set) var waitTime: Int64 = 0

        /// Runs the bodies that no thread waits for.
        ///
        /// Serial, since such a queue gets a thread even if all threads of the concurrent queues
        /// and of Swift's tasks are busy.
        private let worker = DispatchQueue(label: "SecureStorage")

        init() {
            mutex = .allocate(capacity: 1)
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        /// Whether a call waits, besides the one whose turn it is.
        var hasWaiters: Bool {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return waitingCount > 0
        }

        /// Runs `body` on the calling thread in its turn.
        func enter<T>(_ body: () throws -> sending T) throws -> sending T {
            pthread_mutex_lock(mutex)
            if isOccupied {
                let turn = DispatchSemaphore(value: 0)
                waiting.append(.thread(turn))
                waitingCount += 1
                pthread_mutex_unlock(mutex)
                let arrival = MonotonicTime.now
                turn.wait()
                // The mutex makes the previous holder's writes visible, in a way that sanitizers
                // recognise.
                pthread_mutex_lock(mutex)
                waitTime = MonotonicTime.now - arrival
            } else {
                waitTime = 0
            }
            isOccupied = true
            pthread_mutex_unlock(mutex)
            defer { leave() }
            return try body()
        }

        /// Runs `body` in its turn on a Dispatch thread, without waiting for it.
        func enqueue(_ body: @escaping @Sendable () -> Void) {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            if isOccupied {
                waiting.append(.body(body, arrival: MonotonicTime.now))
                waitingCount += 1
            } else {
                isOccupied = true
                start(body, waitTime: 0)
            }
        }

        private func start(_ body: @escaping @Sendable () -> Void, waitTime: Int64) {
            worker.async {
                pthread_mutex_lock(self.mutex)  // as in `enter`
                self.waitTime = waitTime
                pthread_mutex_unlock(self.mutex)
                body()
                self.leave()
            }
        }

        /// Hands the lock directly to the next waiter so that newcomers cannot barge in.
        private func leave() {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            guard waitingCount > 0, let waiter = waiting.popFirst() else {
                isOccupied = false
                return
            }
            waitingCount -= 1
            switch waiter {
            case .thread(let turn): turn.signal()
            case .body(let body, let arrival):
                start(body, waitTime: MonotonicTime.now - arrival)
            }
        }
    }
#endif
