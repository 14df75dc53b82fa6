import Foundation
import SecureStorage

/// A note, as it is stored and answered.
struct Note: Codable, Equatable, Sendable {
    /// Its place in the list, from 1.
    var number: Int64
    /// The identity that its client chose, or a random one.
    var id: String
    var text: String
    var at: Date
}

/// The notes in an encrypted file.
struct NoteDatabase: Sendable {
    let pool: SecureDatabasePool

    /// Steps are only ever added at the end; see Docs/Migrations.md.
    private static var migrations: SchemaMigrations {
        var migrations = SchemaMigrations()
        // AUTOINCREMENT: a list that continues after a number never meets a number again.
        migrations.add(
            "notes",
            sql: """
                CREATE TABLE note (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    id TEXT NOT NULL UNIQUE,
                    text TEXT NOT NULL,
                    at INTEGER NOT NULL)
                """)
        return migrations
    }

    /// Opens the file, or creates it, and brings its schema up to date.
    ///
    /// A commit is on the disk before the mirror gets it (`synchronous` is `.full`, and writes are
    /// not grouped, which are the defaults). Otherwise a power cut could leave a file that is older
    /// than what the mirror has, and the service would continue with that.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - key: Its key.
    /// - Returns: The open database.
    /// - Throws: `SecureStorageError`.
    static func open(_ url: URL, key: DatabaseKey) async throws -> NoteDatabase {
        let pool = SecureDatabasePool(url: url)
        try await pool.open(with: key)
        do {
            try await pool.migrate(migrations)
        } catch {
            await pool.close()
            throw error
        }
        return NoteDatabase(pool: pool)
    }

    /// Adds a note, or finds it: a client whose answer was lost sends it again with the same id.
    ///
    /// - Parameters:
    ///   - id: The note's identity.
    ///   - text: Its text.
    /// - Returns: The note, and whether this call has added it.
    /// - Throws: `ServiceError.otherText`; `SecureStorageError`.
    func add(id: String, text: String) async throws -> (note: Note, isNew: Bool) {
        try await pool.write { db in
            if let note = try Self.find(id, db) {
                guard note.text == text else { throw ServiceError.otherText(id: id) }
                return (note, false)
            }
            // As the database keeps it: whole seconds.
            let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
            try db.executeUpdate(
                "INSERT INTO note (id, text, at) VALUES (?, ?, ?)", id, text, now)
            let note = Note(number: try db.lastInsertRowId(), id: id, text: text, at: now)
            return (note, true)
        }
    }

    /// Returns a note.
    ///
    /// - Parameter id: The note's identity.
    /// - Returns: nil if there is none.
    /// - Throws: `SecureStorageError`.
    func note(_ id: String) async throws -> Note? {
        try await pool.read { db in try Self.find(id, db) }
    }

    private static func find(_ id: String, _ db: SecureDatabaseStore) throws -> Note? {
        try db.fetchOne("SELECT number, id, text, at FROM note WHERE id = ?", id, map: Note.init)
    }

    /// Returns notes in the order in which they were added.
    ///
    /// - Parameters:
    ///   - number: Only notes with greater numbers are returned.
    ///   - limit: The most notes.
    /// - Returns: The next notes.
    /// - Throws: `SecureStorageError`.
    func notes(after number: Int64, limit: Int) async throws -> [Note] {
        try await pool.fetchAll(
            "SELECT number, id, text, at FROM note WHERE number > ? ORDER BY number LIMIT ?",
            number, limit, map: Note.init)
    }

    /// Reads from the file, so that a failing disk or another key shows.
    ///
    /// - Throws: `SecureStorageError`.
    func check() async throws {
        _ = try await pool.read { db in try db.int(forQuery: "SELECT max(number) FROM note") }
    }
}
