import SecureSync
import TestSupport
import Testing

/// Clocks as bytes.
struct RowClockTests {
    private func coded(_ clock: RowClock) throws -> (bytes: [UInt8], again: RowClock?) {
        func number(_ member: MemberID) -> Int64 { Int64(member.bytes.last ?? 0) }
        func member(_ number: Int64) -> MemberID? { .numbered(UInt8(truncatingIfNeeded: number)) }
        let bytes = clock.encoded(number: number)
        return (bytes, RowClock(decoding: bytes, member: member))
    }

    private static let now = Timestamp.time(milliseconds: 1_800_000_000_000)
    private static let clocks: [RowClock] = [
        .stablePoint,
        RowClock(incarnation: Timestamp(time: now, member: .numbered(1)), isAlive: true),
        RowClock(incarnation: Timestamp(time: now + 3, member: .numbered(2)), isAlive: false),
        RowClock(
            incarnation: Timestamp(time: now, member: .numbered(1)), isAlive: true,
            columns: [
                0: Timestamp(time: now + 1, member: .numbered(1)),
                7: Timestamp(time: 5, member: .numbered(2)),
                300: Timestamp(time: now + 1, member: .numbered(1)),
            ]),
        RowClock(
            incarnation: Timestamp(time: .max, member: .numbered(1)), isAlive: true,
            columns: [
                .max: Timestamp(time: 0, member: .none),
                1: Timestamp(time: .max, member: .numbered(2)),
            ]),
    ]

    @Test(arguments: clocks) func `a clock survives its coding`(_ clock: RowClock) throws {
        let (bytes, again) = try coded(clock)
        check(again, equals: clock)
        for count in bytes.indices {
            check(RowClock(decoding: bytes.prefix(count), member: { _ in .numbered(1) }) != clock)
        }
    }

    @Test func `bytes that are not a clock are refused`() {
        for bytes: [UInt8] in [
            [], [2, 0, 0, 0], [1, 0, 0], [1, 0, 0, 0, 0], [1, 0, 0, 0, 1, 1, 1, 9, 1],
            [1] + Array(repeating: 0xff, count: 40),
        ] {
            check(RowClock(decoding: bytes, member: { _ in .numbered(1) }) == nil)
        }
        check(RowClock(decoding: [1, 5, 0, 0], member: { _ in nil }) == nil)
    }

    @Test func `a clock is short`() throws {
        let incarnation = Timestamp(time: Self.now, member: .numbered(1))
        try check(coded(RowClock(incarnation: incarnation, isAlive: true)).bytes.count <= 10)
        let minute = Timestamp(time: Self.now + 60_000 << 16, member: .numbered(1))
        try check(
            coded(RowClock(incarnation: incarnation, isAlive: true, columns: [4: minute])).bytes
                .count <= 17)
    }

    @Test func `a column that has the incarnation's timestamp is not kept`() {
        let incarnation = Timestamp(time: Self.now, member: .numbered(1))
        let later = Timestamp(time: Self.now + 1, member: .numbered(1))
        var clock = RowClock(
            incarnation: incarnation, isAlive: true, columns: [1: incarnation, 2: later])
        check(clock.columns, equals: [2: later])
        check(clock[1] == incarnation && clock[2] == later && clock.greatest == later)
        clock[2] = incarnation
        check(clock, equals: RowClock(incarnation: incarnation, isAlive: true))
    }
}
