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
        var worlds = 0
        let longest = max(Self.threadCount, 2)
        for calls in Self.groups(of: longest, from: PoolModel.Call.allCases) {
            worlds += Self.explore(calls, from: beginning)
        }
        print("\(worlds) states of \(longest) calls, \(beginning)")
        check(worlds > 500)
    }

    @Test func `the same holds for three threads that block each other`() {
        let calls: [PoolModel.Call] = [.read, .rekey, .close, .suspend, .resume]
        var worlds = 0
        for calls in Self.groups(of: 3, from: calls) { worlds += Self.explore(calls, from: "open") }
        check(worlds > 1000)
    }

    @Test func `the model notices a pool that stays blocked`() {
        var world = Self.world("open")
        check(world.finalProblem == nil)
        // A change of key that never reports its end.
        world.state.beginRekey()
        check(world.finalProblem != nil)
    }

    private static func world(_ beginning: String) -> PoolModel {
        var world = PoolModel()
        guard beginning != "closed" else { return world }
        _ = world.state.beginOpening()
        world.state.endOpening(isOpen: true)
        world.isWriterOpen = true
        guard beginning != "open" else {
            // An idle reader.
            world.idleCount = 1
            return world
        }
        _ = world.state.announceSuspension(keepingReads: beginning != "suspended")
        _ = world.state.takeDuty()
        world.state.endLeaving()
        world.isWriterOpen = false
        return world
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

    /// Explores everything that can happen and returns the number of distinct worlds.
    private static func explore(_ calls: [PoolModel.Call], from beginning: String) -> Int {
        var start = world(beginning)
        start.threads = calls.map { PoolModel.Thread(call: $0) }
        var known: Set<PoolModel> = [start]
        var open = [start]
        while let world = open.popLast() {
            let next = world.next()
            let problem = world.problem ?? (next.isEmpty ? world.finalProblem : nil)
            if let problem {
                let names = calls.map(\.rawValue).joined(separator: ", ")
                Issue.record("\(names), \(beginning): \(problem)\n\(world)")
                return known.count
            }
            for world in next where known.insert(world).inserted { open.append(world) }
        }
        return known.count
    }
}
