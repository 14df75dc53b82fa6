import SecureSync
import TestSupport
import Testing

struct TimestampTests {
    @Test func `a time is milliseconds with room for a counter, whatever a clock says`() {
        check(Timestamp.time(milliseconds: 0), equals: 0)
        check(Timestamp.time(milliseconds: 3), equals: 0x3_0000)
        let most: UInt64 = 0xffff_ffff_ffff
        check(Timestamp.time(milliseconds: most), equals: 0xffff_ffff_ffff_0000)
        for beyond in [most + 1, most + 5, .max] {
            check(Timestamp.time(milliseconds: beyond), equals: 0xffff_ffff_ffff_0000)
        }
        check(Timestamp(time: 0x3_0007, member: .none).milliseconds, equals: 3)
    }

    @Test func `there is room above the greatest time of a clock, and all are whole numbers`() {
        check(Timestamp.greatestClock, equals: 1 << 62)
        check(Timestamp.greatestTime, equals: UInt64(Int64.max))
        check(Timestamp.greatestClock < Timestamp.greatestTime)
    }

    @Test func `the later timestamp is the greater one, and of two at one time a member's`() {
        let timestamps = [
            Timestamp.stablePoint, Timestamp(time: 0, member: .numbered(1)),
            Timestamp(time: 1, member: .none),
            Timestamp(time: 1, member: .numbered(1)), Timestamp(time: 1, member: .numbered(2)),
        ]
        check(timestamps.shuffled().sorted(), equals: timestamps)
    }
}
