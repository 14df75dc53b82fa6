import Foundation
import SecureKeys
import SecureStorage
import TestSupport
import Testing

@testable import SecureSync

struct TransactionPartsTests {
    private func row(_ number: Int, _ bytes: Int) -> RowChange {
        BatchSamples.insertion(number, [("body", .blob(Data(count: bytes)))])
    }

    @Test func `nothing is one part without rows`() throws {
        try check(TransactionParts.split([]), equals: [[]])
    }

    @Test(arguments: [1, 999, 1000, 1001, 2500]) func `small rows are divided by their number`(
        _ count: Int
    ) throws {
        let rows = (0..<count).map { row($0, 10) }
        let parts = try TransactionParts.split(rows)
        check(
            parts.map(\.count),
            equals: stride(from: 0, to: count, by: 1000).map { min(1000, count - $0) }
        )
        check(Array(parts.joined()), equals: rows)
    }

    @Test func `large rows are divided by their size`() throws {
        let sizes = [1, 300_000, 1, 1, 100_000, 100_000, 100_000, 262_000, 1, 5_000_000]
        let rows = sizes.enumerated().map { row($0, $1) }
        let parts = try TransactionParts.split(rows)
        check(parts.map(\.count), equals: [1, 1, 4, 1, 2, 1])
        check(Array(parts.joined()), equals: rows)
        for part in parts where part.count > 1 {
            check(BatchSamples.body(Array(part)).encoded().count <= 256 << 10)
        }
    }

    @Test func `names count, but not for each row`() throws {
        // As many names as rows, of 1,000 bytes.
        let many = (0..<1000).map { number in
            BatchSamples.insertion(
                number, [("\(number)" + String(repeating: "x", count: 1000), .null)])
        }
        let parts = try TransactionParts.split(many)
        check(parts.count, equals: 5)
        for part in parts {
            check(BatchSamples.body(Array(part)).encoded().count <= 300 << 10)
        }
        let same = (0..<1000).map { number in
            BatchSamples.insertion(number, [(String(repeating: "x", count: 1000), .null)])
        }
        try check(TransactionParts.split(same).count, equals: 1)
    }

    @Test func `a row of more than 16 MiB is refused with the name of its table`() throws {
        try check(TransactionParts.split([row(1, (16 << 20) - 1000)]).count, equals: 1)
        #expect(throws: SyncError.rowTooLarge("note")) {
            try TransactionParts.split([row(0, 1), row(1, 16 << 20)])
        }
    }

    @Test func `the largest row fits into an object`() throws {
        let timestamp = BatchSamples.timestamp(3, 1, counter: 65535)
        var large = row(1, (16 << 20) - 900_000)
        // As many column groups as a table has columns at most, with the longest timestamps.
        large.columnGroups += (0..<32_766).map { number in
            .init(
                columns: ["\(number)"], values: [.null],
                timestamp: BatchSamples.timestamp(1 << 46 + UInt64(number), 2, counter: 65535),
                known: BatchSamples.timestamp(UInt64(number), 1, counter: 65535))
        }
        large.incarnation.known = timestamp
        try check(TransactionParts.split([large]).count, equals: 1)
        let key = try DataEncryptionKey.random(name: "epoch 1")
        let batch = try SealedBatch.seal(
            BatchSamples.body([large]), BatchSamples.header(), key: key
        ) { _ in Data(count: 64) }
        let read = try SealedBatch(reading: batch.bytes).open(key: key)
        check(read.changes, equals: [large])
    }

    // MARK: - Assembly

    @Test func `a transaction of one part is whole at once`() throws {
        var assembly = TransactionAssembly()
        let body = BatchSamples.body(BatchSamples.rows)
        try check(assembly.add(body), equals: body)
        check(!assembly.isOpen)
        try check(assembly.add(body), equals: body)
    }

    @Test func `parts become one transaction with the last one, in their order`() throws {
        let rows = (0..<2500).map { row($0, 10) }
        let parts = try TransactionParts.split(rows)
        var assembly = TransactionAssembly()
        for round in 0..<2 {
            for (index, part) in parts.enumerated() {
                var body = BatchSamples.body(Array(part), isLast: index == parts.count - 1)
                body.time += UInt64(index)
                body.schema = UInt64(round)
                if index == 0 {
                    body.positions = [
                        BatchPosition(member: BatchSamples.members[1], number: 4, hash: Data(1...8))
                    ]
                }
                let whole = try assembly.add(body)
                check(assembly.isOpen, equals: !body.isLast)
                guard body.isLast else {
                    check(whole == nil)
                    continue
                }
                check(whole?.changes, equals: rows)
                check(whole?.positions.map(\.number), equals: [4])
                check(whole?.time, equals: body.time)
                check(whole?.schema, equals: UInt64(round))
                check(whole?.isLast, equals: true)
            }
        }
    }

    @Test func `what would take too much memory is several transactions`() throws {
        let rows = (0..<10).map { row($0, 300_000) }
        let parts = try TransactionParts.split(rows)
        check(parts.count, equals: 10)
        func lasts(longest: Int) -> [Bool] {
            var memory = 0
            return zip(parts, parts.dropFirst()).map { part, next in
                memory += TransactionParts.memory(of: part)
                let isLast = TransactionParts.isLast(
                    after: memory, part.last, before: next, longest: longest)
                if isLast { memory = 0 }
                return isLast
            }
        }
        check(
            lasts(longest: 1_000_000),
            equals: [false, false, true, false, false, true, false, false, true])
        // A part of more is one of its own.
        check(lasts(longest: 1), equals: Array(repeating: true, count: 9))
        check(lasts(longest: TransactionParts.longest), equals: Array(repeating: false, count: 9))
    }

    @Test func `a transaction that never ends is an error, before it takes all memory`() throws {
        var assembly = TransactionAssembly(longest: 1_000_000)
        let open = BatchSamples.body([row(1, 300_000)], isLast: false)
        for _ in 0..<3 { try check(assembly.add(open) == nil) }
        #expect(throws: CBORError.self) { try assembly.add(open) }
        // What somebody has written as one part is no longer than an object.
        var other = TransactionAssembly(longest: 1)
        let whole = BatchSamples.body([row(1, 300_000)])
        try check(other.add(whole), equals: whole)
        try check(other.add(whole), equals: whole)
    }

    @Test func `a row that is too long for one batch is divided by its columns`() {
        let values = ["a", "b", "c", "d"].map { ($0, SQLiteValue.blob(Data(count: 400))) }
        let row = BatchSamples.insertion(1, values)
        check(TransactionParts.divided([row], longestRow: 3000), equals: [row])
        let parts = TransactionParts.divided([row], longestRow: 1000)
        check(parts.map { $0.columnGroups.flatMap(\.columns) }, equals: [["a", "b"], ["c", "d"]])
        let other = BatchSamples.insertion(2, values)
        check(TransactionParts.joined([other] + parts + [other]), equals: [other, row, other])
        check(TransactionParts.isLast(after: 9000, parts[0], before: [other], longest: 1000))
        check(!TransactionParts.isLast(after: 9000, parts[0], before: [parts[1]], longest: 1000))
    }
}
