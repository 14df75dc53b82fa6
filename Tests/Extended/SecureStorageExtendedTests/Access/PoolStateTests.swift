import Foundation
import TestSupport
import Testing

@testable import SecureStorage
@testable import SecureStorageTests

/// Every order in which threads can change a pool's state.
struct PoolStateTests {
    /// The maximum number of threads; `make campaign NAME=soak` uses more.
    private static let threadCount =
        ProcessInfo.processInfo.environment["SECURESTORAGE_THREADS"].flatMap { Int($0) } ?? 2

    @Test(arguments: ["closed", "open", "suspended", "suspended with a copy"])
    func `no order lets two threads use the writer, a read overlap a re-key, or a thread hang`(
        _ beginning: String
    ) {
        var states = 0
        let longest = max(Self.threadCount, 2)
        for calls in Self.groups(of: longest, from: PoolModel.Call.allCases) {
            states += Self.explore(calls, from: beginning)
        }
        print("\(states) states of \(longest) calls, \(beginning)")
        check(states > 500)
    }

    @Test func `the same holds for three threads that block each other`() {
        let calls: [PoolModel.Call] = [.read, .rekey, .close, .suspend, .resume]
        var states = 0
        for calls in Self.groups(of: 3, from: calls) { states += Self.explore(calls, from: "open") }
        check(states > 1000)
    }

    @Test func `the model notices a pool that stays blocked`() {
        var model = Self.model("open")
        check(model.finalProblem == nil)
        // A change of key that never reports its end.
        model.state.beginRekey()
        check(model.finalProblem != nil)
    }

    private static func model(_ beginning: String) -> PoolModel {
        var model = PoolModel()
        guard beginning != "closed" else { return model }
        _ = model.state.beginOpening()
        model.state.endOpening(isOpen: true)
        model.isWriterOpen = true
        guard beginning != "open" else {
            // An idle reader.
            model.idleCount = 1
            return model
        }
        _ = model.state.announceSuspension(keepingReads: beginning != "suspended")
        _ = model.state.takeDuty()
        model.state.endLeaving()
        model.isWriterOpen = false
        return model
    }

    /// Returns all combinations of `count` calls, in which calls may repeat.
    private static func groups(
        of count: Int, from calls: [PoolModel.Call]
    ) -> [[PoolModel.Call]] {
        guard count > 0 else { return [[]] }
        return calls.indices.flatMap { first in
            groups(of: count - 1, from: Array(calls[first...])).map { [calls[first]] + $0 }
        }
    }

    /// Explores everything that can happen and returns the number of distinct states.
    private static func explore(_ calls: [PoolModel.Call], from beginning: String) -> Int {
        var start = model(beginning)
        start.threads = calls.map { PoolModel.Thread(call: $0) }
        var known: Set<PoolModel> = [start]
        var open = [start]
        while let model = open.popLast() {
            let next = model.next()
            let problem = model.problem ?? (next.isEmpty ? model.finalProblem : nil)
            if let problem {
                let names = calls.map(\.rawValue).joined(separator: ", ")
                Issue.record("\(names), \(beginning): \(problem)\n\(model)")
                return known.count
            }
            for model in next where known.insert(model).inserted { open.append(model) }
        }
        return known.count
    }
}
