import Foundation
import SecureStorage
import SecureSync

/// What it costs to apply another member's changes, against plain writes of the same rows, both in
/// transactions of 1,000 rows.
struct ApplyFigures {
    static let batch = 1_000

    var plainInsert = Double.infinity
    var plainUpdate = Double.infinity
    var applyInsert = Double.infinity
    var applyUpdate = Double.infinity

    private let member = MemberID.random()

    mutating func measure(_ rows: Range<Int>, ids: [Data], text: String, in folder: URL) throws {
        let (plain, applied) = (try Self.database(folder), try Self.database(folder))
        defer {
            plain.close()
            applied.close()
        }
        var tables = SyncedTables()
        tables.add("note")
        let capture = Capture(tables)
        try transaction(applied) {
            try capture.install(in: applied)
            try capture.setMember(.random(), in: applied)
        }
        let insert = try plain.prepare("INSERT INTO note VALUES (?, ?, ?, ?)")
        let edit = try plain.prepare("UPDATE note SET n = ? WHERE id = ?")
        let batches = stride(from: rows.lowerBound, to: rows.upperBound, by: Self.batch).map {
            $0..<min($0 + Self.batch, rows.upperBound)
        }
        let insertions = batches.map { $0.map { insertion($0, ids[$0], text) } }
        // Rows are rarely edited in the order in which they were made.
        var random = SystemRandomNumberGenerator()
        let order = rows.shuffled(using: &random)
        let updates = batches.map { $0.map { update(order[$0], ids[order[$0]]) } }
        try transaction(applied) { try capture.removeAllRows(in: applied) }
        plainInsert = min(
            plainInsert,
            try seconds(CLOCK_PROCESS_CPUTIME_ID) {
                for batch in batches {
                    try transaction(plain) {
                        for row in batch {
                            try insert.executeUpdate(values: [ids[row], text, row, row])
                        }
                    }
                }
            })
        applyInsert = min(applyInsert, try apply(insertions, capture, applied))
        plainUpdate = min(
            plainUpdate,
            try seconds(CLOCK_PROCESS_CPUTIME_ID) {
                for batch in batches {
                    try transaction(plain) {
                        for row in batch {
                            let row = order[row]
                            try edit.executeUpdate(values: [-row - 1, ids[row]])
                        }
                    }
                }
            })
        applyUpdate = min(applyUpdate, try apply(updates, capture, applied))
    }

    private func apply(
        _ batches: [[RowChange]], _ capture: Capture, _ db: SecureDatabaseStore
    ) throws -> Double {
        try seconds(CLOCK_PROCESS_CPUTIME_ID) {
            for batch in batches {
                try transaction(db) {
                    let report = try capture.apply(batch, in: db)
                    precondition(report.written == batch.count)
                }
            }
        }
    }

    private static func database(_ folder: URL) throws -> SecureDatabaseStore {
        let db = SecureDatabaseStore(
            url: folder.appendingPathComponent("\(UUID().uuidString).db"),
            configuration: SecureDatabaseConfiguration())
        try db.open(with: .raw(SecretBytes.random(count: 32)))
        try db.executeStatements(
            "CREATE TABLE note (id BLOB PRIMARY KEY NOT NULL, text TEXT, n INTEGER, at INTEGER)")
        return db
    }

    private func stamp(_ row: Int, _ milliseconds: UInt64) -> Stamp {
        Stamp(time: Stamp.time(milliseconds: milliseconds + UInt64(row)), member: member)
    }

    private func insertion(_ row: Int, _ id: Data, _ text: String) -> RowChange {
        let stamp = stamp(row, 1_700_000_000_000)
        let values: [(String, SQLiteValue)] = [
            ("text", .text(text)), ("n", .integer(Int64(row))), ("at", .integer(Int64(row))),
        ]
        return RowChange(
            table: "note", key: [.blob(id)], life: .init(stamp: stamp, isAlive: true),
            registers: values.map { .init(columns: [$0.0], values: [$0.1], stamp: stamp) })
    }

    private func update(_ row: Int, _ id: Data) -> RowChange {
        let life = stamp(row, 1_700_000_000_000)
        return RowChange(
            table: "note", key: [.blob(id)], life: .init(stamp: life, isAlive: true),
            registers: [
                .init(
                    columns: ["n"], values: [.integer(Int64(-row - 1))],
                    stamp: stamp(row, 1_710_000_000_000), known: life)
            ])
    }
}
