import Foundation

/// Threads of their own: `concurrentPerform` runs no more at a time than there are cores.
enum Threads {
    /// For campaigns of many calls; `make soak` makes it more.
    static var callsPerThread: Int {
        ProcessInfo.processInfo.environment["SECURESTORAGE_CALLS"].flatMap { Int($0) } ?? 1_000
    }

    /// Runs `body` with the numbers from 0 in as many threads, and waits for them.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let done = DispatchGroup()
        for number in 0..<count {
            done.enter()
            Thread.detachNewThread {
                body(number)
                done.leave()
            }
        }
        done.wait()
    }
}

#if os(Linux)
    /// Starts threads one after the other, each when the one before sleeps: in its block, or
    /// waiting for its turn.
    extension Threads {
        /// Runs `body` with the numbers from 0 in as many threads, which arrive in this order.
        ///
        /// - Parameters:
        ///   - count: How many.
        ///   - release: Called when all have arrived.
        ///   - body: Returns in the end.
        static func arrive(
            _ count: Int, release: () -> Void, _ body: @escaping @Sendable (Int) -> Void
        ) {
            let done = DispatchGroup()
            for number in 0..<count {
                let identifier = Shared(0)
                done.enter()
                Thread.detachNewThread {
                    // A link to PID/task/TID.
                    let link = try? FileManager.default.destinationOfSymbolicLink(
                        atPath: "/proc/thread-self")
                    identifier.withLock {
                        $0 = link?.split(separator: "/").last.flatMap { Int($0) } ?? 0
                    }
                    body(number)
                    done.leave()
                }
                while !isSleeping(identifier.current) { sched_yield() }
            }
            release()
            done.wait()
        }

        private static func isSleeping(_ thread: Int) -> Bool {
            guard thread != 0 else { return false }
            let status = try? String(
                contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8)
            return status?.split(separator: ")").last?.hasPrefix(" S") == true
        }
    }
#endif
