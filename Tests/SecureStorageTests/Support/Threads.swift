import Foundation
import TestSupport

/// Threads beyond `onThreads`: their campaigns, and their order.
enum Threads {
    /// The number of calls in campaigns; `make campaign NAME=soak` raises it.
    static var callsPerThread: Int {
        ProcessInfo.processInfo.environment["SECURESTORAGE_CALLS"].flatMap { Int($0) } ?? 1_000
    }

    /// Runs `body` on `count` threads, numbered from 0, and throws the first error of any of them.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
        let errors = Gathered<any Error>()
        onThreads(count) { number in
            do {
                try body(number)
            } catch {
                errors.add(error)
            }
        }
        if let error = errors.values.first { throw error }
    }
}

#if os(Linux)
    /// Starts threads one after another, each when the previous one sleeps: in its block, or
    /// waiting for its turn.
    extension Threads {
        /// Runs `body` on `count` threads, numbered from 0, which arrive in this order.
        ///
        /// - Parameters:
        ///   - count: The number of threads.
        ///   - release: Called when all have arrived.
        ///   - body: The work of a thread, which must return in the end.
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
