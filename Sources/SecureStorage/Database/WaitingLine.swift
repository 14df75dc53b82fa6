internal import Foundation

#if canImport(Darwin)
    /// Lets one thread in at a time, in the order of their arrival.
    ///
    /// A serial queue, since whoever waits for one lends its priority to the thread inside.
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
    }
#else
    /// Lets one thread in at a time, in the order of their arrival.
    ///
    /// Not a serial queue, which costs as much as reading a row: Swift's Dispatch on Linux makes a block of
    /// each closure. There are no priorities to be lent here.
    final class WaitingLine: @unchecked Sendable {
        // @unchecked: everything below is only touched under `mutex`.
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private var isOccupied = false
        private var waiting: [DispatchSemaphore] = []
        /// Those before it have been let in.
        private var next = 0

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
            wait()
            defer { leave() }
            return try body()
        }

        private func wait() {
            pthread_mutex_lock(mutex)
            guard isOccupied else {
                isOccupied = true
                pthread_mutex_unlock(mutex)
                return
            }
            let turn = DispatchSemaphore(value: 0)
            waiting.append(turn)
            pthread_mutex_unlock(mutex)
            // Whoever leaves hands its place over, so that nobody who comes meanwhile is faster.
            turn.wait()
            // What the one before has written is visible through the mutex, which sanitizers know.
            pthread_mutex_lock(mutex)
            pthread_mutex_unlock(mutex)
        }

        private func leave() {
            pthread_mutex_lock(mutex)
            guard next < waiting.count else {
                isOccupied = false
                pthread_mutex_unlock(mutex)
                return
            }
            let turn = waiting[next]
            next += 1
            if next == waiting.count {
                waiting.removeAll(keepingCapacity: true)
                next = 0
            }
            pthread_mutex_unlock(mutex)
            turn.signal()
        }
    }
#endif
