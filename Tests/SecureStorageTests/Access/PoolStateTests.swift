import Foundation
import Testing

@testable import SecureStorage

/// Every order in which threads can change a pool's state.
@Suite struct PoolStateTests {
    /// How many threads at most; `make soak` takes more.
    private static let threadCount =
        ProcessInfo.processInfo.environment["SECURESTORAGE_THREADS"].flatMap { Int($0) } ?? 2

    @Test(arguments: ["closed", "open", "suspended", "suspended with a copy"])
    func `in no order two use the writer, reads meet a change of the key, or somebody hangs`(
        _ beginning: String
    ) {
        var worlds = 0
        let longest = max(Self.threadCount, 2)
        for calls in Self.groups(of: longest, from: PoolModel.Call.allCases) {
            worlds += Self.explore(calls, from: beginning)
        }
        print("\(worlds) states of \(longest) calls, \(beginning)")
        #expect(worlds > 500)
    }

    @Test func `the same for three threads that stop each other`() {
        let calls: [PoolModel.Call] = [.read, .rekey, .close, .suspend, .resume]
        var worlds = 0
        for calls in Self.groups(of: 3, from: calls) { worlds += Self.explore(calls, from: "open") }
        #expect(worlds > 1000)
    }

    @Test func `the model notices a pool that stays barred`() {
        var world = Self.world("open")
        #expect(world.finalProblem == nil)
        // A change of the key that does not say that it has ended.
        world.state.beginRekey()
        #expect(world.finalProblem != nil)
    }

    private static func world(_ beginning: String) -> PoolModel {
        var world = PoolModel()
        guard beginning != "closed" else { return world }
        _ = world.state.beginOpening()
        world.state.endOpening(isOpen: true)
        world.isWriterOpen = true
        guard beginning != "open" else {
            // A reader that nobody uses.
            world.idleCount = 1
            return world
        }
        _ = world.state.announceSuspension(keepingReads: beginning != "suspended")
        _ = world.state.takeDuty()
        world.state.endLeaving()
        world.isWriterOpen = false
        return world
    }

    /// All groups of `count` calls, whatever their order.
    private static func groups(
        of count: Int, from calls: [PoolModel.Call]
    ) -> [[PoolModel.Call]] {
        guard count > 0 else { return [[]] }
        return calls.indices.flatMap { first in
            groups(of: count - 1, from: Array(calls[first...])).map { [calls[first]] + $0 }
        }
    }

    /// Goes through all that can happen; the number of different worlds.
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
