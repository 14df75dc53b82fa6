import Foundation
import SecureStorage
import SecureSync
import TestSupport
import Testing

struct RowStateTests {
    private static func timestamp(_ time: UInt64, _ member: UInt8 = 1) -> Timestamp {
        Timestamp(time: time, member: .numbered(member))
    }

    /// Few timestamps and values, so that ties are usual.
    private static func state(_ random: inout SplitMix64) -> RowState {
        func timestamp() -> Timestamp {
            Self.timestamp(.random(in: 1...3, using: &random), .random(in: 1...2, using: &random))
        }
        var state = RowState(incarnation: timestamp(), isAlive: .random(using: &random))
        guard state.isAlive else { return state }
        for column in ["a", "b"] where Bool.random(using: &random) {
            let values: [SQLiteValue] = [
                .null, .integer(1), .real(1), .text("x"), .blob(Data([1])),
            ]
            state.cells[column] = .init(
                value: values.randomElement(using: &random) ?? .null, timestamp: timestamp())
        }
        return state
    }

    private static func joined(_ left: RowState, _ right: RowState) -> RowState {
        var state = left
        state.join(right)
        return state
    }

    @Test func `the join does not depend on order, on grouping, and on repetition`() {
        var random = SplitMix64(seed: 7)
        for _ in 0..<20_000 {
            let (a, b, c) = (Self.state(&random), Self.state(&random), Self.state(&random))
            let ab = Self.joined(a, b)
            guard ab == Self.joined(b, a), Self.joined(ab, b) == ab, Self.joined(a, a) == a,
                Self.joined(ab, c) == Self.joined(a, Self.joined(b, c))
            else {
                Issue.record("\(a) \(b) \(c)")
                return
            }
        }
    }

    @Test func `a state survives its encoding`() throws {
        var random = SplitMix64(seed: 8)
        for _ in 0..<1_000 {
            let state = Self.state(&random)
            try check(RowState(decoding: state.encoded()), equals: state)
        }
        #expect(throws: CBORError.self) { try RowState(decoding: [1, 2]) }
    }

    private static func edit(
        _ value: Int64, at time: UInt64, by member: UInt8, knowing known: Timestamp
    ) -> RowChange {
        RowChange(
            table: "t", key: [.text("k")],
            incarnation: .init(timestamp: timestamp(1), isAlive: true),
            columnGroups: [
                .init(
                    columns: ["a"], values: [.integer(value)], timestamp: timestamp(time, member),
                    known: known)
            ])
    }

    private static var born: RowState {
        RowState(
            incarnation: timestamp(1), isAlive: true,
            cells: ["a": .init(value: .integer(0), timestamp: timestamp(1))])
    }

    @Test func `what was overwritten knowingly is not a conflict`() {
        var state = Self.born
        check(state.merge(Self.edit(1, at: 2, by: 2, knowing: Self.timestamp(1))).isEmpty)
        check(state.merge(Self.edit(2, at: 3, by: 3, knowing: Self.timestamp(2, 2))).isEmpty)
        check(state.cells["a"]?.value, equals: .integer(2))
    }

    @Test func `of two concurrent edits, the earlier one is reported, whichever comes first`() {
        let edits = [
            Self.edit(1, at: 2, by: 2, knowing: Self.timestamp(1)),
            Self.edit(2, at: 3, by: 3, knowing: Self.timestamp(1)),
        ]
        for order in [edits, edits.reversed()] {
            var state = Self.born
            let lost = order.flatMap { state.merge($0) }
            check(lost.map(\.values), equals: [[.integer(1)]])
            check(lost.first?.timestamp, equals: Self.timestamp(2, 2))
            check(lost.first?.winner, equals: Self.timestamp(3, 3))
            check(state.cells["a"]?.value, equals: .integer(2))
        }
    }

    @Test func `two members that write the same value have no conflict`() {
        var state = Self.born
        _ = state.merge(Self.edit(5, at: 2, by: 2, knowing: Self.timestamp(1)))
        check(state.merge(Self.edit(5, at: 3, by: 3, knowing: Self.timestamp(1))).isEmpty)
    }

    /// The row's first insertion, or another one.
    private static func insertion(
        _ value: Int64, at time: UInt64, knowing known: Timestamp? = nil
    ) -> RowChange {
        RowChange(
            table: "t", key: [.text("k")],
            incarnation: .init(timestamp: timestamp(time), isAlive: true, known: known),
            columnGroups: [
                .init(columns: ["a"], values: [.integer(value)], timestamp: timestamp(time))
            ])
    }

    @Test func `an insertion that comes after the row's edits has lost nothing`() {
        var state = Self.born
        _ = state.merge(Self.edit(5, at: 2, by: 2, knowing: Self.timestamp(1)))
        check(state.merge(Self.insertion(0, at: 1)).isEmpty)
        check(state.cells["a"]?.value, equals: .integer(5))
    }

    @Test func `of a row that is inserted again, what the new one has too is not lost`() {
        for (value, lost) in [(5, []), (6, [.integer(5)])] as [(Int64, [SQLiteValue])] {
            let (edit, again) = (
                Self.edit(5, at: 2, by: 2, knowing: Self.timestamp(1)),
                Self.insertion(value, at: 3, knowing: Self.timestamp(1))
            )
            for order in [[edit, again], [again, edit]] {
                var state = Self.born
                let found = order.flatMap { state.merge($0) }
                check(found.flatMap(\.values), equals: lost)
                check(found.allSatisfy { $0.reason == .replaced })
                check(state.cells["a"]?.value, equals: .integer(value))
            }
        }
    }

    @Test func `a deletion wins over an edit that it did not know, which is reported`() {
        let deletion = RowChange(
            table: "t", key: [.text("k")],
            incarnation: .init(
                timestamp: Self.timestamp(2, 3), isAlive: false, known: Self.timestamp(1)))
        // Later by its clock, and of the incarnation that has ended.
        let edit = Self.edit(1, at: 9, by: 2, knowing: Self.timestamp(1))
        for order in [[deletion, edit], [edit, deletion]] {
            var state = Self.born
            let lost = order.flatMap { state.merge($0) }
            check(lost.map(\.values), equals: [[.integer(1)]])
            check(lost.first?.reason, equals: .deleted)
            check(state, equals: RowState(incarnation: Self.timestamp(2, 3), isAlive: false))
        }
    }

    @Test func `folded values are equal as SQLite compares them`() throws {
        let home = try TemporaryDatabase()
        let db = try home.openStore()
        let values: [SQLiteValue] = [
            .integer(1), .real(1), .real(1.5), .text("a"), .text("A"), .text("a "), .text("é"),
            .text("É"), .text("a\0"), .blob(Data([97])), .text(""), .blob(Data()), .text("  "),
            .integer(.max), .real(9.223372036854775807e18),
        ]
        for collation in ["BINARY", "NOCASE", "RTRIM"] {
            for left in values {
                for right in values {
                    let rows = try db.executeQuery(
                        "SELECT ? = ? COLLATE \(collation)", values: [left, right])
                    defer { rows.close() }
                    try require(rows.next())
                    let isEqual = rows.int(forColumnIndex: 0) == 1
                    check(
                        (left.folded(collation) == right.folded(collation)), equals: isEqual,
                        "\(left) \(right) \(collation)")
                }
            }
        }
    }
}
