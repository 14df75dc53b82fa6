import SecureSync
import TestSupport
import Testing

struct StampTests {
    @Test func `a time is milliseconds with room for a counter, whatever a clock says`() {
        check(Stamp.time(milliseconds: 0), equals: 0)
        check(Stamp.time(milliseconds: 3), equals: 0x3_0000)
        let most: UInt64 = 0xffff_ffff_ffff
        check(Stamp.time(milliseconds: most), equals: 0xffff_ffff_ffff_0000)
        for beyond in [most + 1, most + 5, .max] {
            check(Stamp.time(milliseconds: beyond), equals: 0xffff_ffff_ffff_0000)
        }
        check(Stamp(time: 0x3_0007, member: .none).milliseconds, equals: 3)
    }

    @Test func `there is room above the greatest time of a clock, and all are whole numbers`() {
        check(Stamp.greatestClock, equals: 1 << 62)
        check(Stamp.greatestTime, equals: UInt64(Int64.max))
        check(Stamp.greatestClock < Stamp.greatestTime)
    }

    @Test func `the later stamp is the greater one, and of two at one time a member's`() {
        let stamps = [
            Stamp.floor, Stamp(time: 0, member: .numbered(1)), Stamp(time: 1, member: .none),
            Stamp(time: 1, member: .numbered(1)), Stamp(time: 1, member: .numbered(2)),
        ]
        check(stamps.shuffled().sorted(), equals: stamps)
    }
}
