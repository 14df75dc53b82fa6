import Foundation
import Testing
import TestSupport
@testable import SecureStorageTests

/// Repeats calls on several threads at the same moment, and detects calls that hang.
///
/// The defaults are small; `make campaign NAME=soak` raises them.
enum Storm {
    /// One call of the library, which checks its own outcome.
    struct Call: Sendable {
        let name: String
        let run: @Sendable () -> Void
    }

    /// How often each group of calls is made in a storm of pairs.
    static var rounds: Int { number("SECURESTORAGE_ROUNDS") ?? 1 }

    /// How long a storm of mixed calls lasts.
    static var duration: Duration {
        number("SECURESTORAGE_STORM_SECONDS").map { .seconds($0) } ?? .milliseconds(800)
    }

    /// How long a call may take before it counts as hanging.
    private static let patience = 90.0

    private static func number(_ variable: String) -> Int? {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
    }

    /// Runs `body` on a separate thread, since it blocks: tasks share few threads, and the calls
    /// need them.
    static func apart(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Returns all pairs of `calls`, including each call with itself.
    static func pairs<Call>(of calls: [Call]) -> [(Call, Call)] {
        calls.indices.flatMap { first in
            calls[first...].map { (calls[first], $0) }
        }
    }

    /// Makes all calls at the same time, one thread each, `rounds` times.
    ///
    /// After each round, when no call is running, `settle` is called; its error ends the storm, and
    /// so does its hanging.
    ///
    /// - Returns: False if calls did not end. They are reported, and their threads are abandoned.
    static func blow(
        _ calls: [Call], rounds: Int, settle: @escaping @Sendable () throws -> Void
    ) throws -> Bool {
        let threads = calls.map { StormThread($0) }
        defer { for thread in threads { thread.end() } }
        for _ in 0..<rounds {
            for thread in threads { thread.start() }
            let deadline = DispatchTime.now() + patience
            for thread in threads where !thread.wait(until: deadline) {
                let hanging = threads.filter(\.isRunning).map(\.call.name).joined(separator: ", ")
                let all = calls.map(\.name).joined(separator: ", ")
                Issue.record("of \(all), these did not end: \(hanging)")
                return false
            }
            try within("what follows \(calls.map(\.name))", settle)
        }
        return true
    }

    /// A call that did not return in time.
    struct Hanging: Error {
        let name: String
    }

    /// Runs `body` on a separate thread, which is abandoned if its call hangs.
    static func within(_ name: String, _ body: @escaping @Sendable () throws -> Void) throws {
        let outcome = Shared<Result<Void, any Error>?>(nil)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let result = Result { try body() }
            outcome.withLock { $0 = result }
            done.signal()
        }
        guard done.wait(timeout: .now() + patience) == .success, let result = outcome.current
        else { throw Hanging(name: name) }
        try result.get()
    }

    /// Lets `count` threads make random calls for `duration`.
    ///
    /// - Returns: The number of calls made, or nil if one did not end.
    static func mix(
        _ calls: [Call], threads count: Int, for duration: Duration, seed: UInt64
    ) -> Int? {
        let end = ContinuousClock.now + duration
        let made = Shared(0)
        let present = Shared<[String?]>(Array(repeating: nil, count: count))
        let done = DispatchSemaphore(value: 0)
        for number in 0..<count {
            Thread.detachNewThread {
                var random = SplitMix64(seed: seed &+ UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
                while .now < end, let call = calls.randomElement(using: &random) {
                    present.withLock { $0[number] = call.name }
                    call.run()
                    present.withLock { $0[number] = nil }
                    made.withLock { $0 += 1 }
                }
                done.signal()
            }
        }
        let patience = patience + Double(duration.components.seconds)
        let deadline = DispatchTime.now() + patience
        for _ in 0..<count where done.wait(timeout: deadline) == .timedOut {
            let hanging = present.current.compactMap { $0 }.joined(separator: ", ")
            Issue.record("calls did not end (seed \(seed)): \(hanging)")
            return nil
        }
        return made.current
    }
}

/// A thread that makes one call each time it is started.
private final class StormThread: @unchecked Sendable {
    // @unchecked: `hasEnded` is written before the last `go`; `running` has a lock.
    let call: Storm.Call
    private let go = DispatchSemaphore(value: 0)
    private let done = DispatchSemaphore(value: 0)
    private let running = Shared(false)
    private var hasEnded = false

    init(_ call: Storm.Call) {
        self.call = call
        Thread.detachNewThread { [self] in
            var random = SystemRandomNumberGenerator()
            while true {
                go.wait()
                if hasEnded { return }
                // Varies which of two calls comes first.
                for _ in 0..<Int.random(in: 0..<40, using: &random) { sched_yield() }
                call.run()
                running.withLock { $0 = false }
                done.signal()
            }
        }
    }

    var isRunning: Bool { running.current }

    func start() {
        running.withLock { $0 = true }
        go.signal()
    }

    func wait(until deadline: DispatchTime) -> Bool { done.wait(timeout: deadline) == .success }

    /// Ends the thread, unless its call hangs.
    func end() {
        guard !isRunning else { return }
        hasEnded = true
        go.signal()
    }
}
