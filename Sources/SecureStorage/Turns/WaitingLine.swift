internal import Foundation

#if canImport(Darwin)
    /// Lets one caller in at a time, in the order of their arrival.
    ///
    /// A serial queue, since whoever waits for one lends its priority to the one inside.
    final class WaitingLine: Sendable {
        private let queue = DispatchQueue(label: "SecureStorage")

        /// Runs `body` on the calling thread when it is its turn.
        func enter<T>(_ body: () throws -> sending T) throws -> sending T {
            // Unsafe for the compiler only: `sync` has ended, on this thread, before it is read.
            nonisolated(unsafe) var outcome: Result<T, any Error>?
            queue.sync { outcome = Result { try body() } }
            guard let outcome else {
                preconditionFailure("DispatchQueue.sync did not run its block")
            }
            nonisolated(unsafe) let value = try outcome.get()
            return value
        }

        /// Runs `body` when it is its turn, on a thread of Dispatch's, and does not wait for it.
        func enqueue(_ body: @escaping @Sendable () -> Void) {
            queue.async(execute: body)
        }
    }
#else
    /// Lets one caller in at a time, in the order of their arrival.
    ///
    /// Not a serial queue, which costs as much as reading a row: Swift's Dispatch on Linux makes a
    /// block of each closure. There are no priorities to be lent here.
    final class WaitingLine: @unchecked Sendable {
        // @unchecked: everything below is only touched under `mutex`.
        private enum Waiter {
            case thread(DispatchSemaphore)
            case body(@Sendable () -> Void)
        }

        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private var isOccupied = false
        private var waiting = FirstInFirstOut<Waiter>()
        /// Of `waiting`: a plain number costs less to look at than the list, which is mostly empty.
        private var waitingCount = 0

        /// Where bodies run that no thread waits for.
        ///
        /// Serial, since such a queue gets a thread also when all
        /// threads of the concurrent ones, and of Swift's tasks, are busy.
        private let worker = DispatchQueue(label: "SecureStorage")

        init() {
            mutex = .allocate(capacity: 1)
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        /// Runs `body` on the calling thread when it is its turn.
        func enter<T>(_ body: () throws -> sending T) throws -> sending T {
            pthread_mutex_lock(mutex)
            if isOccupied {
                let turn = DispatchSemaphore(value: 0)
                waiting.append(.thread(turn))
                waitingCount += 1
                pthread_mutex_unlock(mutex)
                turn.wait()
                // What the one before has written is visible through the mutex, which sanitizers
                // know.
                pthread_mutex_lock(mutex)
            }
            isOccupied = true
            pthread_mutex_unlock(mutex)
            defer { leave() }
            return try body()
        }

        /// Runs `body` when it is its turn, on a thread of Dispatch's, and does not wait for it.
        func enqueue(_ body: @escaping @Sendable () -> Void) {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            if isOccupied {
                waiting.append(.body(body))
                waitingCount += 1
            } else {
                isOccupied = true
                start(body)
            }
        }

        private func start(_ body: @escaping @Sendable () -> Void) {
            worker.async {
                pthread_mutex_lock(self.mutex)  // as in `enter`
                pthread_mutex_unlock(self.mutex)
                body()
                self.leave()
            }
        }

        /// Hands the place over, so that nobody who comes meanwhile is faster than those who wait.
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
            case .body(let body): start(body)
            }
        }
    }
#endif
