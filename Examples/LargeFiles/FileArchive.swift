import Foundation
import SecureStorage

/// Files of any size in an encrypted database, each in pieces: a value has at most a billion bytes,
/// and a transaction per file would keep all of it in the log.
struct FileArchive: Sendable {
    private let pool: SecureDatabasePool

    /// Bytes of a piece, of which a reader or a writer holds a few in memory.
    private static let pieceSize = 1 << 18
    /// Pieces in a transaction.
    private static let batchSize = 32

    struct Entry: Sendable, Equatable {
        let id: Int64
        let name: String
        let bytes: Int64
    }

    init(path: String) {
        var configuration = SecureDatabaseConfiguration()
        // Each page is used once, so a larger cache gains nothing.
        configuration.cacheSize = 2 << 20
        pool = SecureDatabasePool(fullDatabasePath: path, configuration: configuration)
    }

    func open(with key: DatabaseKey) async throws {
        try await pool.open(with: key) { db in
            do {
                // A file without a name is not complete.
                try db.executeStatements(
                    """
                    CREATE TABLE file (id INTEGER PRIMARY KEY, name TEXT UNIQUE, bytes INTEGER);
                    CREATE TABLE piece (
                        file INTEGER NOT NULL REFERENCES file,
                        number INTEGER NOT NULL, bytes BLOB NOT NULL,
                        PRIMARY KEY (file, number)
                    );
                    """)
                return nil
            } catch {
                return error
            }
        }
    }

    func close() async { await pool.close() }

    /// Adds a file, or replaces the one of that name.
    ///
    /// Readers see the earlier file until the new one is complete. What a crash leaves has no name,
    /// and `removeIncomplete()` removes it.
    func put(_ source: FileHandle, as name: String) async throws {
        let id = try await pool.write { db in
            try db.executeUpdate("INSERT INTO file DEFAULT VALUES")
            return try db.lastInsertRowId()
        }
        let size: Int
        do {
            size = try await copy(source, to: id)
        } catch {
            try? await remove(id)
            throw error
        }
        let earlier = try await pool.write { db in
            let earlier = try db.int64(forQuery: "SELECT id FROM file WHERE name = ?", name)
            try db.executeUpdate("UPDATE file SET name = NULL WHERE name = ?", name)
            try db.executeUpdate("UPDATE file SET name = ?, bytes = ? WHERE id = ?", name, size, id)
            return earlier
        }
        if let earlier { try await remove(earlier) }
    }

    /// - Returns: The number of bytes.
    private func copy(_ source: FileHandle, to id: Int64) async throws -> Int {
        var (number, size) = (0, 0)
        var isAtEnd = false
        while !isAtEnd {
            try Task.checkCancellation()
            let first = number
            let added = try await pool.write { db in
                var bytes = 0
                for number in first..<(first + Self.batchSize) {
                    guard let piece = try source.read(upToCount: Self.pieceSize), !piece.isEmpty
                    else { break }
                    try db.executeUpdate("INSERT INTO piece VALUES (?, ?, ?)", id, number, piece)
                    bytes += piece.count
                }
                return bytes
            }
            size += added
            number += Self.batchSize
            isAtEnd = added == 0
        }
        return size
    }

    /// Writes a file's bytes to `destination`, all of one state, whatever is stored meanwhile.
    ///
    /// - Returns: false if no file has the name.
    func get(_ name: String, into destination: FileHandle) async throws -> Bool {
        let pieces = pool.rows(
            """
            SELECT piece.bytes FROM file LEFT JOIN piece ON piece.file = file.id
            WHERE name = ? ORDER BY number
            """, name
        ) { (bytes: Data?) in bytes ?? Data() }
        var isThere = false
        for try await piece in pieces {
            isThere = true
            try destination.write(contentsOf: piece)
        }
        return isThere
    }

    func list() async throws -> [Entry] {
        try await pool.fetchAll(
            "SELECT id, name, bytes FROM file WHERE name IS NOT NULL ORDER BY name"
        ) { (id: Int64, name: String, bytes: Int64) in Entry(id: id, name: name, bytes: bytes) }
    }

    /// - Returns: false if no file has the name.
    func remove(_ name: String) async throws -> Bool {
        let id = try await pool.fetchOne("SELECT id FROM file WHERE name = ?", name) {
            (id: Int64) in id
        }
        guard let id else { return false }
        try await remove(id)
        return true
    }

    /// Removes files that were not stored to their end; no other process may be storing one.
    func removeIncomplete() async throws {
        let ids = try await pool.fetchAll("SELECT id FROM file WHERE name IS NULL") {
            (id: Int64) in id
        }
        for id in ids { try await remove(id) }
    }

    /// In several transactions, as it was stored; without its name first.
    private func remove(_ id: Int64) async throws {
        try await pool.write { db in
            try db.executeUpdate("UPDATE file SET name = NULL WHERE id = ?", id)
        }
        var isEmpty = false
        while !isEmpty {
            isEmpty = try await pool.write { db in
                try db.executeUpdate(
                    """
                    DELETE FROM piece WHERE rowid IN
                        (SELECT rowid FROM piece WHERE file = ? LIMIT ?)
                    """, id, Self.batchSize)
                return try db.changedRowCount() == 0
            }
        }
        try await pool.write { try $0.executeUpdate("DELETE FROM file WHERE id = ?", id) }
    }
}
