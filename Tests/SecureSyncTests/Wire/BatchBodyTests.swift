import Foundation
import SecureStorage
import SecureSync
import Testing
import TestSupport

struct BatchBodyTests {
    private let time = BatchSamples.time

    private func body(_ changes: [RowChange]) -> BatchBody { BatchSamples.body(changes) }

    @Test func `a body is read as it was written`() throws {
        var written = body(BatchSamples.rows)
        (written.isLast, written.hasLowerBound) = (false, false)
        written.positions = [
            BatchPosition(member: BatchSamples.members[1], number: 7, hash: Data(1...16)),
            BatchPosition(
                member: BatchSamples.members[2], number: UInt64(Int64.max), hash: Data(2...17)),
        ]
        try check(BatchBody(decoding: written.encoded()), equals: written)
        let empty = body([])
        try check(BatchBody(decoding: empty.encoded()), equals: empty)
        check(empty.encoded().count < 20)
    }

    @Test(arguments: 0..<200) func `any rows are read as they were written`(_ seed: UInt64) throws {
        let written = body(BatchSamples.random(Int(seed % 40), seed: seed))
        let bytes = written.encoded()
        let read = try BatchBody(decoding: bytes)
        check(read, equals: written)
        // Equality of values takes 0.0 for -0.0, and that of texts composed for decomposed letters.
        check(read.encoded(), equals: bytes)
    }

    @Test func `names that differ in their bytes only are two names`() throws {
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        let timestamp = BatchSamples.timestamp(time)
        let rows = [composed, decomposed].map { table in
            RowChange(
                table: table, key: [.integer(1)],
                incarnation: .init(timestamp: timestamp, isAlive: true),
                columnGroups: [decomposed, composed].map {
                    .init(columns: [$0], values: [.text($0)], timestamp: timestamp)
                })
        }
        let read = try BatchBody(decoding: body(rows).encoded()).changes
        func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }
        check(bytes(read.map(\.table)), equals: bytes([composed, decomposed]))
        for row in read {
            check(
                bytes(row.columnGroups.flatMap(\.columns)), equals: bytes([decomposed, composed]))
        }
    }

    @Test func `positions keep sixteen bytes of a hash`() {
        let position = BatchPosition(member: BatchSamples.members[1], number: 1, hash: Data(1...32))
        let body = BatchBody(time: 0, schema: 0, positions: [position], changes: [], isLast: true)
        check(body.positions.map(\.hash), equals: [Data(1...16)])
    }

    @Test(arguments: [0, 1 << 63, UInt64.max])
    func `a position with a number that no batch has is refused`(_ number: UInt64) {
        let position = BatchPosition(
            member: BatchSamples.members[1], number: number, hash: Data(1...16))
        let body = BatchBody(time: 0, schema: 0, positions: [position], changes: [], isLast: true)
        #expect(throws: CBORError.self) { try BatchBody(decoding: body.encoded()) }
    }

    @Test func `a time beyond all timestamps is written as the last one`() throws {
        let body = BatchBody(time: .max, schema: 0, positions: [], changes: [], isLast: true)
        try check(BatchBody(decoding: body.encoded()).time, equals: (1 << 47) - 1)
    }

    @Test func `NaN becomes null, as in SQLite`() throws {
        let row = BatchSamples.insertion(1, [("a", .real(.nan))])
        let read = try BatchBody(decoding: body([row]).encoded())
        check(read.changes.first?.columnGroups.first?.values, equals: [.null])
    }

    // MARK: - Sizes

    /// The bytes of a body beside those that the values take by themselves, for each row.
    private func overhead(_ changes: [RowChange]) -> Double {
        let values = changes.reduce(0) { size, change in
            (change.key + change.columnGroups.flatMap(\.values)).reduce(size) { size, value in
                var writer = CBORWriter()
                switch value {
                case .null: writer.null()
                case .integer(let number): writer.signed(number)
                case .real(let number): writer.double(number)
                case .text(let text): writer.text(text)
                case .blob(let bytes): writer.data(bytes)
                }
                return size + writer.bytes.count
            }
        }
        return Double(body(changes).encoded().count - values) / Double(changes.count)
    }

    @Test func `an inserted row takes 12 bytes beside its values`() {
        let rows = (0..<100).map { number in
            BatchSamples.insertion(
                number, (0..<20).map { ("column \($0)", .integer(Int64(number))) },
                at: BatchSamples.timestamp(time - 4000 + UInt64(number / 2), counter: 1))
        }
        check(overhead(rows) <= 12)
    }

    @Test func `an updated or deleted row takes 32 bytes beside its values`() {
        // Timestamps of rows that were written at any time in 49 days; older ones take 4 more
        // bytes.
        func old(_ number: Int) -> Timestamp {
            BatchSamples.timestamp(
                time - 1_000_000_000 - UInt64(number) * 1_000_003, 1, counter: 300)
        }
        let updates = (0..<100).map { number in
            let (new, known) = (
                BatchSamples.timestamp(time - 4000 + UInt64(number)),
                BatchSamples.timestamp(time - 10_000_000, 1)
            )
            var row = BatchSamples.insertion(number, [("a", .null), ("b", .null), ("c", .null)])
            row.incarnation = .init(timestamp: old(number), isAlive: true)
            row.columnGroups = row.columnGroups.map {
                .init(columns: $0.columns, values: $0.values, timestamp: new, known: known)
            }
            return row
        }
        check(overhead(updates) <= 32)
        let deletions = (0..<100).map { number in
            var row = BatchSamples.insertion(number, [])
            row.incarnation = .init(
                timestamp: BatchSamples.timestamp(time - UInt64(number)), isAlive: false,
                known: old(number)
            )
            return row
        }
        check(overhead(deletions) <= 32)
    }

    // MARK: - What is not read

    @Test func `every cut is an error, and every byte after the end`() {
        let bytes = body(BatchSamples.rows).encoded()
        for count in bytes.indices {
            #expect(throws: CBORError.self) { try BatchBody(decoding: Array(bytes[..<count])) }
        }
        #expect(throws: CBORError.self) { try BatchBody(decoding: bytes + [0]) }
    }

    /// Flips each bit; `make campaign NAME=damage` gives each byte every other value.
    @Test func `changed bytes are an error, or another content with no other form`() {
        let changes: [UInt8] =
            environmentNumber("SECURESTORAGE_DAMAGES", default: 0) > 0
            ? Array(1...255) : (0..<8).map { 1 << $0 }
        let bytes = body(BatchSamples.rows + BatchSamples.random(5, seed: 3)).encoded()
        var (accepted, refused) = (0, 0)
        for index in bytes.indices {
            for change in changes {
                var changed = bytes
                changed[index] ^= change
                do {
                    let read = try BatchBody(decoding: changed)
                    check(read.encoded(), equals: changed, "byte \(index) as \(changed[index])")
                    accepted += 1
                } catch is CBORError {
                    refused += 1
                } catch {
                    Issue.record("\(error)")
                }
            }
        }
        // Values may be changed, structure may not.
        check(accepted > 0 && refused > bytes.count)
    }

    /// Writes a body of one table `t` with a key of one column and a column group of a column `c`.
    private func bytes(
        names: [String] = ["t", "c"], members: Int = 1, shapes: Int = 1, key: UInt64 = 1,
        columns: [UInt64] = [1], rows count: Int = 1, row: (inout CBORWriter) -> Void
    ) -> [UInt8] {
        var writer = CBORWriter()
        writer.array(9)
        writer.unsigned(time)
        writer.unsigned(0)
        writer.bool(true)
        writer.bool(false)
        writer.array(0)
        writer.array(names.count)
        for name in names { writer.text(name) }
        writer.array(members)
        for member in BatchSamples.members.prefix(members) { writer.data(member.bytes) }
        writer.array(shapes)
        for _ in 0..<shapes {
            writer.array(3)
            writer.unsigned(0)
            writer.unsigned(key)
            writer.array(columns.count)
            for column in columns { writer.unsigned(column) }
        }
        writer.array(count)
        for _ in 0..<count { row(&writer) }
        return writer.bytes
    }

    /// Writes a row: shape, kind, timestamp of its incarnation, nothing known, key 1, value 2.
    private func row(
        shape: UInt64 = 0, kind: UInt64 = 2, count: Int = 6,
        timestamp: @escaping (inout CBORWriter) -> Void = { writer in
            writer.array(2)
            writer.signed(-1)
            writer.unsigned(0)
        },
        own: @escaping (inout CBORWriter) -> Void = { _ in }
    ) -> (inout CBORWriter) -> Void {
        { writer in
            writer.array(count)
            writer.unsigned(shape)
            writer.unsigned(kind)
            timestamp(&writer)
            writer.null()
            writer.unsigned(1)
            own(&writer)
            writer.unsigned(2)
        }
    }

    @Test func `a body made by hand is read`() throws {
        let read = try BatchBody(decoding: bytes(row: row()))
        check(
            read.changes,
            equals: [
                RowChange(
                    table: "t", key: [.integer(1)],
                    incarnation: .init(timestamp: BatchSamples.timestamp(time - 1), isAlive: true),
                    columnGroups: [
                        .init(
                            columns: ["c"], values: [.integer(2)],
                            timestamp: BatchSamples.timestamp(time - 1))
                    ])
            ])
    }

    @Test func `names that are unused, twice or unknown are refused`() {
        for bytes in [
            bytes(names: ["t", "c", "more"], row: row()), bytes(names: ["t", "t"], row: row()),
            bytes(names: ["t"], row: row()), bytes(columns: [2], row: row()),
            bytes(columns: [.max], row: row()), bytes(columns: [], row: row()),
            bytes(columns: [1, 1], row: row()), bytes(key: 0, row: row()),
            bytes(key: .max, row: row()), bytes(members: 2, row: row()),
            bytes(members: 0, row: row()), bytes(shapes: 2, row: row()),
            bytes(shapes: 0, row: row()), bytes(row: row(shape: 1)), bytes(rows: 0, row: row()),
        ] {
            #expect(throws: CBORError.self) { try BatchBody(decoding: bytes) }
        }
    }

    @Test func `a row of another length or kind is refused`() {
        for row in [
            row(kind: 0), row(kind: 1), row(kind: 3), row(count: 5), row(count: 7),
            row(kind: 1, count: 8) {
                $0.bool(true)
                $0.null()
            },
        ] {
            #expect(throws: CBORError.self) { try BatchBody(decoding: bytes(row: row)) }
        }
    }

    @Test func `a timestamp out of range, or in another form than the shortest, is refused`() {
        typealias Write = (inout CBORWriter) -> Void
        func parts(_ milliseconds: Int64, _ rest: UInt64...) -> Write {
            { writer in
                writer.array(1 + rest.count)
                writer.signed(milliseconds)
                for number in rest { writer.unsigned(number) }
            }
        }
        let now = Int64(time)
        let timestamps: [Write] = [
            { $0.null() }, { $0.bool(true) }, { $0.array(0) }, parts(0), parts(0, 0, 0),
            parts(0, 65536, 0), parts(0, 1), parts(-now - 1, 0), parts((1 << 47) - now, 0),
            parts(.max, 0), parts(.min, 0), parts(0, 1, 1, 0),
        ]
        for timestamp in timestamps {
            #expect(throws: CBORError.self) {
                try BatchBody(decoding: bytes(row: row(timestamp: timestamp)))
            }
        }
        for timestamp in [parts((1 << 47) - 1 - now, 65535, 0), parts(-now, 0)] {
            #expect(throws: Never.self) {
                try BatchBody(decoding: bytes(row: row(timestamp: timestamp)))
            }
        }
        // The same as that of the row before is written as such.
        #expect(throws: CBORError.self) { try BatchBody(decoding: bytes(rows: 2, row: row())) }
    }

    @Test func `more rows than a part has are refused`() {
        func rows(_ count: Int) -> [RowChange] {
            (0..<count).map { BatchSamples.insertion($0, []) }
        }
        #expect(throws: Never.self) { try BatchBody(decoding: body(rows(1000)).encoded()) }
        #expect(throws: CBORError("array is too long")) {
            try BatchBody(decoding: body(rows(1001)).encoded())
        }
    }

    @Test func `a few bytes cannot make many values in memory`() {
        // 100 rows of 1,000 column groups that are null: 200 bytes of memory for each of the bytes.
        let timestamp = BatchSamples.timestamp(time)
        let columnGroups = (0..<1000).map {
            RowChange.ColumnGroup(columns: ["\($0)"], values: [.null], timestamp: timestamp)
        }
        let changes = (0..<100).map { number in
            RowChange(
                table: "t", key: [.integer(Int64(number))],
                incarnation: .init(timestamp: timestamp, isAlive: true), columnGroups: columnGroups)
        }
        #expect(throws: CBORError("too many values")) {
            try BatchBody(decoding: body(changes).encoded())
        }
        #expect(throws: Never.self) {
            for part in try TransactionParts.split(changes) {
                _ = try BatchBody(decoding: body(Array(part)).encoded())
            }
        }
    }
}
