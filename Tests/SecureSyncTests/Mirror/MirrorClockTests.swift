import Foundation
@testable import SecureMirror
import SecureStoragePlatform
import TestSupport
import Testing

@testable import SecureSync

/// The times of a mirror's objects, while the machine's clock is wrong.
struct MirrorClockTests {
    private let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let real = Locked(0.0)
    private let error = Locked(0.0)
    private let clock: MirrorClock

    init() {
        clock = MirrorClock(
            { [start, real, error] in start + real.withLock { $0 } + error.withLock { $0 } },
            uptime: { [real] in .seconds(real.withLock { $0 }) })
    }

    /// Lets seconds pass, and returns the next object's, from the start.
    private func next(after seconds: Double = 1) -> Double {
        real.withLock { $0 += seconds }
        return Double(clock.next()) / 1000 - start.timeIntervalSince1970
    }

    private func set(_ wrong: Double) { error.withLock { $0 = wrong } }

    @Test(arguments: [7200.0, -7200, 1e9, -1e9])
    func `a clock that jumps for seconds has no effect`(jump: Double) {
        check(next(), equals: 1)
        set(jump)
        for second in 2...7 { check(next(), equals: Double(second)) }
        set(0)
        for second in 8...200 { check(next(), equals: Double(second)) }
    }

    @Test func `a clock that keeps another time is believed after a minute`() {
        check(next(), equals: 1)
        set(7200)
        check(next(), equals: 2)
        check(next(after: 30), equals: 32)
        check(next(after: 30), equals: 62 + 7200)
    }

    @Test func `one that goes back is believed, but no time before that of the object before`() {
        check(next(), equals: 1)
        set(-100)
        check(next(), equals: 2)
        for second in 3...65 { check(next() > 2, "\(second)") }
        check(clock.now < UInt64((start.timeIntervalSince1970 + 62) * 1000))
        check(next(after: 100), equals: 65)
        check(next(), equals: 66)
    }

    @Test func `one that is adjusted in small steps is followed`() {
        var last = 0.0
        for second in 1...100 {
            error.withLock { $0 += 1 }
            let now = next()
            check(now > last, "\(second)")
            last = now
        }
        check(last, equals: 200)
    }

    @Test
    func `one that begins before what is in the store continues from there, until it is right`() {
        set(-1e9)
        clock.note(UInt64((start.timeIntervalSince1970 - 10) * 1000))
        check((next() + 9.999).magnitude < 0.0001)
        check((next() + 9.998).magnitude < 0.0001)
        set(0)
        check(next(), equals: 3)
    }

    @Test func `what is removed is decided by time that has passed, not by a jump`() {
        let day = 24.0 * 3600
        clock.note(UInt64((start.timeIntervalSince1970 - day) * 1000))
        set(400 * day)
        func removal() -> Double {
            Double(clock.nextForRemoval()) / 1000 - start.timeIntervalSince1970
        }
        check(removal(), equals: 0)
        real.withLock { $0 += 60 }
        check(removal(), equals: 60)
        set(0)
        real.withLock { $0 += 61 }
        check(removal(), equals: 121)
        real.withLock { $0 += 61 }
        check(removal(), equals: 182)
    }
}
