import Foundation
import SecureStorage

/// An encrypted index of files in a pool.
struct FileIndex: Sendable {
    private let pool: SecureDatabasePool

    init(path: String) { pool = SecureDatabasePool(fullDatabasePath: path) }

    func open(with key: DatabaseKey) async throws {
        try await pool.open(with: key) { db in
            do {
                try db.executeStatements(
                    """
                    CREATE TABLE file (path TEXT PRIMARY KEY, bytes INTEGER NOT NULL, modified INTEGER);
                    CREATE TABLE batch (id INTEGER PRIMARY KEY, files INTEGER NOT NULL);
                    """)
                return nil
            } catch {
                return error
            }
        }
    }

    func close() async { await pool.close() }

    /// Adds the files below a folder, a hundred per transaction.
    func add(filesBelow folder: String) async throws {
        let entries = FileManager.default.enumerator(
            at: URL(fileURLWithPath: folder), includingPropertiesForKeys: [.fileSizeKey])
        var batch: [IndexedFile] = []
        while let entry = entries?.nextObject() as? URL {
            guard let file = IndexedFile(entry) else { continue }
            batch.append(file)
            guard batch.count == 100 else { continue }
            try await add(batch)
            batch = []
        }
        if !batch.isEmpty { try await add(batch) }
    }

    private func add(_ files: [IndexedFile]) async throws {
        try await pool.write { db in
            for file in files {
                try db.executeUpdate(
                    "INSERT INTO file VALUES (?, ?, ?)", file.path, file.bytes, file.modified)
            }
            try db.executeUpdate("INSERT INTO batch (files) VALUES (?)", files.count)
        }
    }

    func totals() async throws -> Totals {
        try await pool.read { db in
            // Two queries, one snapshot.
            let files = try db.fetchOne(
                Totals.self,
                "SELECT count(*) AS files, CAST(total(bytes) AS INTEGER) AS bytes FROM file")
            var totals = files ?? Totals()
            totals.transactions = try db.int(forQuery: "SELECT count(*) FROM batch")
            totals.filesOfTransactions = try db.int(forQuery: "SELECT sum(files) FROM batch")
            return totals
        }
    }

    /// Returns the files, largest first; each is read when a loop requests it.
    func filesBySize() -> SecureDatabaseRows<IndexedFile> {
        pool.rows(as: IndexedFile.self) {
            try $0.executeQuery("SELECT path, bytes, modified FROM file ORDER BY bytes DESC")
        }
    }

    /// - Throws: `.backingStoreError` code 9 when it takes longer.
    func pairsOfSameSize(within limit: Duration) async throws -> Int {
        try await pool.read { db in
            try db.withDeadline(limit) {
                try db.int(
                    forQuery: """
                        SELECT count(*) FROM file a, file b
                        WHERE a.bytes = b.bytes AND a.path < b.path
                        """) ?? 0
            }
        }
    }
}

struct IndexedFile: Codable, Sendable {
    var path: String
    var bytes: Int64
    var modified: Date?

    /// nil for anything but a regular file.
    init?(_ url: URL) {
        let keys: Set<URLResourceKey> = [
            .isRegularFileKey, .fileSizeKey, .contentModificationDateKey,
        ]
        guard let values = try? url.resourceValues(forKeys: keys), values.isRegularFile == true
        else { return nil }
        path = url.path
        bytes = Int64(values.fileSize ?? 0)
        modified = values.contentModificationDate
    }
}

struct Totals: Codable, Sendable {
    var files = 0
    var bytes = 0
    var transactions: Int?
    /// The writer's own count, updated once per transaction.
    var filesOfTransactions: Int?
}

/// Whether the import is still running.
final class Importing: @unchecked Sendable {
    // @unchecked: `isOver` is accessed only under `lock`.
    private let lock = NSLock()
    private var isOver = false

    var hasEnded: Bool { lock.withLock { isOver } }

    func end() { lock.withLock { isOver = true } }
}

/// A violated expectation, which ends the example with an error.
struct Surprise: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}
