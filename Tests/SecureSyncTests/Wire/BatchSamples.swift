import Crypto
import Foundation
import SecureKeys
import SecureStorage
import SecureSync
import TestSupport

/// Batches as tests need them.
enum BatchSamples {
    static let time: UInt64 = 1_790_000_000_000
    static let group = Data(1...16)
    static let members = (0..<3).compactMap { MemberID(Array(repeating: UInt8($0 + 1), count: 16)) }

    static let chain = ChainPosition(number: 5, hash: Data(repeating: 9, count: 32))

    static func timestamp(_ milliseconds: UInt64, _ member: Int = 0, counter: UInt64 = 0)
        -> Timestamp
    {
        Timestamp(
            time: Timestamp.time(milliseconds: milliseconds) + counter, member: members[member])
    }

    static func header(_ number: UInt64 = 1) -> BatchHeader {
        BatchHeader(
            group: group, member: members[0], number: number, epoch: 1,
            previous: Data(repeating: number == 1 ? 0 : 7, count: 32), chain: chain)
    }

    static func body(_ changes: [RowChange], isLast: Bool = true) -> BatchBody {
        BatchBody(time: time, schema: 3, positions: [], changes: changes, isLast: isLast)
    }

    /// A new row of a table `note` with a key of 16 bytes.
    static func insertion(
        _ number: Int, _ values: [(String, SQLiteValue)],
        at timestamp: Timestamp = timestamp(time - 500)
    ) -> RowChange {
        RowChange(
            table: "note", key: [.blob(Data(SHA256.hash(data: Data("\(number)".utf8)).prefix(16)))],
            incarnation: .init(timestamp: timestamp, isAlive: true),
            columnGroups: values.map {
                .init(columns: [$0.0], values: [$0.1], timestamp: timestamp)
            })
    }

    /// A few rows of all kinds.
    static let rows: [RowChange] = [
        insertion(1, [("title", .text("milk")), ("size", .real(-0.0)), ("body", .null)]),
        insertion(2, [("title", .text("")), ("size", .real(.infinity)), ("body", .blob(Data()))]),
        RowChange(
            table: "note", key: [.blob(Data([1]))],
            incarnation: .init(timestamp: .stablePoint, isAlive: true),
            columnGroups: [
                .init(
                    columns: ["begins", "ends"], values: [.integer(.min), .integer(.max)],
                    timestamp: timestamp(time + 3, 1, counter: 9), known: .stablePoint)
            ]),
        RowChange(
            table: "tag", key: [.integer(4), .text("a\0b")],
            incarnation: .init(
                timestamp: timestamp(time, 2), isAlive: false, known: timestamp(5, 1))),
        RowChange(
            table: "tag", key: [.integer(5), .text("")],
            incarnation: .init(timestamp: timestamp(time, 2), isAlive: true, known: timestamp(5, 1))
        ),
    ]

    /// Changes of any kind, the same for a seed.
    static func random(_ count: Int, seed: UInt64) -> [RowChange] {
        var generator = SplitMix64(seed: seed)
        func pick<T>(_ items: [T]) -> T { items[Int.random(in: items.indices, using: &generator)] }
        func anyTimestamp() -> Timestamp {
            pick([
                timestamp(time), timestamp(time - 1, 1), timestamp(3, 2, counter: 65535),
                .stablePoint,
                timestamp(.random(in: 0...(1 << 47 - 1), using: &generator), 1),
            ])
        }
        func value() -> SQLiteValue {
            pick([
                .null, .integer(.random(in: .min ... .max, using: &generator)), .integer(-1),
                .real(Double(bitPattern: .random(in: 0...(.max >> 12), using: &generator))),
                .text(pick(["", "é", "e\u{301}", "words"])), .blob(Data([0, 255])),
            ])
        }
        return (0..<count).map { _ in
            let incarnation = RowChange.Incarnation(
                timestamp: anyTimestamp(), isAlive: pick([true, true, false]),
                known: pick([nil, anyTimestamp()]))
            let groups = pick([[["a"], ["b", "c"]], [["e\u{301}"], ["é"]], [], [["b"]]])
            let isInsertion = pick([true, false])
            return RowChange(
                table: pick(["t", "é", "e\u{301}"]), key: pick([[value()], [value(), value()]]),
                incarnation: incarnation,
                columnGroups: !incarnation.isAlive
                    ? []
                    : groups.map { columns in
                        RowChange.ColumnGroup(
                            columns: columns, values: columns.map { _ in value() },
                            timestamp: isInsertion ? incarnation.timestamp : anyTimestamp(),
                            known: isInsertion
                                ? nil : pick([nil, anyTimestamp(), incarnation.timestamp]))
                    })
        }
    }
}
