import Foundation
import TestSupport
import Testing

@testable import SecureSync
@testable import SecureSyncTests

struct StablePointTests {
    /// Takes one step, chosen by `pick`, which returns a number below its argument.
    private func step(_ simulation: inout StablePointSimulation, _ pick: (Int) -> Int) {
        let index = pick(simulation.members.count)
        let other = StablePointSimulation.id(pick(simulation.members.count))
        switch pick(12) {
        case 0, 1:
            let kind: [StablePointSimulation.Kind] = [.update, .none, .delete, .insert, .update]
            _ = simulation.seal(
                index, kind[pick(kind.count)], above: UInt64(pick(3)), promising: UInt64(pick(5)))
        case 2, 3: _ = simulation.send(index)
        case 4, 5, 6: _ = simulation.pull(index, from: other)
        case 7: _ = simulation.adopt(index)
        case 8: _ = simulation.snapshot(index, silent: pick(3) == 0 ? [other] : [])
        case 9: _ = simulation.load(index)
        case 10: _ = simulation.comeBack(index)
        default: _ = simulation.forgetUndeclared(index)
        }
    }

    /// Walks at random until something fails, and returns the walk and what failed.
    private func walk(_ seeds: Range<Int>, mistake: StablePointSimulation.Mistake?) -> (
        Int, String
    )? {
        for seed in seeds {
            var state = UInt64(seed) &* 0x9e37_79b9_7f4a_7c15 &+ 1
            func pick(_ count: Int) -> Int {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                return Int(state >> 33) % count
            }
            var simulation = StablePointSimulation(members: 2 + seed % 2, mistake: mistake)
            for _ in 0..<150 {
                step(&simulation, pick)
                if let failure = simulation.failure { return (seed, failure) }
            }
        }
        return nil
    }

    /// More walks: `SECURESTORAGE_STABLE_POINT_WALKS=100000`.
    @Test func `what is forgotten changes nothing that is seen, on any walk`() {
        let count = ProcessInfo.processInfo.environment["SECURESTORAGE_STABLE_POINT_WALKS"].flatMap(
            Int.init)
        let found = walk(0..<(count ?? 1000), mistake: nil)
        check(found == nil, "\(String(describing: found))")
    }

    /// The seeds begin shortly before the first walk that has shown the mistake.
    @Test(arguments: [
        (StablePointSimulation.Mistake.closedAtOnce, 12_600), (.undeclared, 600),
        (.futureForgotten, 0),
        (.timestampedLow, 0), (.lateMerged, 100), (.returnMerged, 50), (.entryUndeclared, 200),
    ])
    func `each mistake is seen on some walk`(_ mistake: StablePointSimulation.Mistake, _ first: Int)
    {
        check(walk(first..<first + 2000, mistake: mistake) != nil)
        check(walk(first..<first + 150, mistake: nil) == nil)
    }

    /// Too rare for walks: a row is deleted and inserted again below the stable point, and an edit
    /// of its first incarnation, which is above the stable point, comes after the clocks of both
    /// are forgotten.
    @Test(arguments: [nil, StablePointSimulation.Mistake.adoptedEarly])
    func `forgetting waits for all of the snapshot`(_ mistake: StablePointSimulation.Mistake?) {
        var simulation = StablePointSimulation(members: 3, mistake: mistake)
        let (b, a, c) = (0, 1, 2)
        func publish(
            _ index: Int, _ kind: StablePointSimulation.Kind = .none, promising: UInt64 = 0
        ) {
            let isSealed = simulation.seal(index, kind, above: 0, promising: promising)
            let isSent = simulation.send(index)
            check(isSealed && isSent)
        }
        func pull(_ index: Int, _ others: Int...) {
            for other in others {
                let isPulled = simulation.pull(index, from: StablePointSimulation.id(other))
                check(isPulled)
            }
        }
        publish(c, promising: 10)
        publish(b, promising: 10)
        pull(a, b, c)
        pull(b, c)
        publish(a, .delete)
        publish(a, .insert, promising: 10)
        publish(b, .update)
        pull(b, a, a)
        publish(b)
        pull(c, b, a, a)
        publish(c)
        pull(a, b, b, c)
        let isWritten = simulation.snapshot(a, silent: [])
        check(isWritten)
        check(simulation.snapshots[1].declaration.stablePoint.time, equals: 10)
        let isAdopted = simulation.adopt(c)
        check(isAdopted, equals: (mistake != nil))
        pull(c, b)
        check((simulation.failure != nil), equals: (mistake != nil))
    }

    @Test func `a founder alone forgets up to its own lower bound`() throws {
        let me = StablePointSimulation.id(0)
        let first = Declaration.first(of: me)
        let next = try require(
            first.next(by: me, positions: [me: 3], published: [:], lowerBound: { _, _ in 70 }))
        check(next.number, equals: 2)
        check(next.stablePoint, equals: StablePoint(positions: [me: 3], time: 70))
        check(
            next.stablePoint.covers(
                Timestamp(time: Timestamp.time(milliseconds: 70) + 9, member: me)))
        check(
            !next.stablePoint.covers(Timestamp(time: Timestamp.time(milliseconds: 71), member: me)))
        check(
            next.next(by: me, positions: [me: 2], published: [:], lowerBound: { _, _ in 0 }) == nil)
    }

    @Test func `a log that begins holds the stable point until all have heard of it`() throws {
        let (me, other) = (StablePointSimulation.id(0), StablePointSimulation.id(1))
        let began = try require(
            Declaration.first(of: me, positions: [me: 1]).beginningLog(of: other))
        let next = try require(
            began.next(by: me, positions: [me: 3], published: [:], lowerBound: { _, _ in 70 }))
        check(next.stablePoint.time, equals: 0)
        check(next.beginningLog(of: other) == nil)
    }

    @Test func `a closed log takes no edit`() throws {
        let (me, other) = (StablePointSimulation.id(0), StablePointSimulation.id(1))
        let began = try require(Declaration.first(of: me).beginningLog(of: other))
        let positions: VersionVector = [me: 3, other: 2]
        let closing = try require(
            began.next(
                by: me, positions: positions, published: [:], lowerBound: { _, _ in 5 },
                silent: [other]))
        check(closing.limit(of: other), equals: 2)
        check(closing.limit(of: other, named: 3), equals: 3)
        let closed = try require(
            closing.next(by: me, positions: positions, published: [:], lowerBound: { _, _ in 5 }))
        check(closed.closed, equals: [other: 2])
        check(closed.limit(of: other, named: 3), equals: 2)
        check(closed.limit(of: me), equals: nil)
        check(closed.isOpen(other), equals: false)
    }
}
