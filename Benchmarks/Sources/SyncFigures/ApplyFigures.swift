import Foundation
import SecureStorage
import SecureSync

/// What it costs to apply another member's changes, against plain writes of the same rows, both in
/// transactions of 1,000 rows.
struct ApplyFigures {
    static let batch = 1_000
    static let rowCount = 50_000

    struct Times {
        var plain = Double.infinity
        var applied = Double.infinity
    }

    var firstInserts = Times()
    var updates = Times()
    /// Into a table of twice as many rows, which is larger than the engine's cache.
    var laterInserts = Times()

    private let ids = (0..<(3 * rowCount)).map { _ in
        Data((0..<16).map { _ in UInt8.random(in: 0 ... .max) })
    }

    mutating func measure(text: String, in folder: URL) throws {
        // Rows are rarely edited in the order in which they were made.
        var random = SystemRandomNumberGenerator()
        let order = (0..<Self.rowCount).shuffled(using: &random)
        let files = try Files(in: folder)
        defer { files.close() }
        func inserts(in db: SecureDatabaseStore) throws -> (Int) throws -> Void {
            let insert = try db.prepare("INSERT INTO note VALUES (?, ?, ?, ?)")
            return { [ids] in try insert.executeUpdate(values: [ids[$0], text, $0, $0]) }
        }
        func edits(in db: SecureDatabaseStore) throws -> (Int) throws -> Void {
            let update = try db.prepare("UPDATE note SET n = ? WHERE id = ?")
            return { [ids] in
                try update.executeUpdate(values: [-$0 - 1, ids[order[$0]]])
            }
        }
        let count = Self.rowCount
        firstInserts.add(try files.measure(0..<count, inserts))
        self.updates.add(try files.measure(0..<count, edits))
        _ = try files.measure(count..<(2 * count), inserts)
        laterInserts.add(try files.measure((2 * count)..<(3 * count), inserts))
    }
}

extension ApplyFigures.Times {
    /// Keeps the best.
    mutating func add(_ other: Self) {
        plain = min(plain, other.plain)
        applied = min(applied, other.applied)
    }
}

/// A file that is written to, another member's that is written to and timestamped, and one to which
/// that member's changes are applied.
private struct Files {
    let plain: SecureDatabaseStore
    let member: SecureDatabaseStore
    let applied: SecureDatabaseStore
    let capture: Capture

    init(in folder: URL) throws {
        plain = try Self.database(folder)
        member = try Self.database(folder)
        applied = try Self.database(folder)
        var tables = SyncedTables()
        tables.add("note")
        capture = Capture(tables)
        for db in [member, applied] {
            try transaction(db) {
                try capture.install(in: db)
                try capture.setMember(.random(), in: db)
            }
        }
    }

    func close() { for db in [plain, member, applied] { db.close() } }

    private static func database(_ folder: URL) throws -> SecureDatabaseStore {
        let db = SecureDatabaseStore(
            url: folder.appendingPathComponent("\(UUID().uuidString).db"),
            configuration: SecureDatabaseConfiguration())
        try db.open(with: .raw(SecretBytes.random(count: 32)))
        try db.executeStatements(
            "CREATE TABLE note (id BLOB PRIMARY KEY NOT NULL, text TEXT, n INTEGER, at INTEGER)")
        return db
    }

    func measure(
        _ rows: Range<Int>, _ writes: (SecureDatabaseStore) throws -> (Int) throws -> Void
    ) throws -> ApplyFigures.Times {
        let (written, memberWrites) = (try writes(plain), try writes(member))
        var times = ApplyFigures.Times(plain: 0, applied: 0)
        for start in stride(from: rows.lowerBound, to: rows.upperBound, by: ApplyFigures.batch) {
            let batch = start..<min(start + ApplyFigures.batch, rows.upperBound)
            var changes: [RowChange] = []
            try transaction(member) {
                try batch.forEach(memberWrites)
                changes = try capture.timestamp(in: member)
            }
            times.plain += try seconds(CLOCK_PROCESS_CPUTIME_ID) {
                try transaction(plain) { try batch.forEach(written) }
            }
            times.applied += try seconds(CLOCK_PROCESS_CPUTIME_ID) {
                try transaction(applied) {
                    let report = try capture.apply(changes, in: applied)
                    precondition(report.written == changes.count)
                }
            }
        }
        return times
    }
}
