import Foundation
import SecureStorage

/// A note, as it is listed.
struct Note: Equatable, Sendable {
    var id: Int64
    var text: String
    var at: Date
}

/// The notes in an encrypted file, for any thread.
struct Notebook: Sendable {
    private let database: SecureDatabaseQueue

    /// Opens the file, or creates it.
    init(at url: URL, key: DatabaseKey) throws {
        database = SecureDatabaseQueue(url: url)
        try database.open(with: key) { db in
            do {
                try db.executeUpdate(
                    "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL, at INTEGER)")
                return nil
            } catch {
                return error
            }
        }
    }

    func close() { database.close() }

    /// Adds a note, and returns its number.
    func add(_ text: String) throws -> Int64 {
        try database.write { db in
            try db.executeUpdate("INSERT INTO note (text, at) VALUES (?, ?)", text, Date())
            return try db.lastInsertRowId()
        }
    }

    /// Returns all notes, the oldest first.
    func notes() throws -> [Note] {
        try database.fetchAll("SELECT id, text, at FROM note ORDER BY id", map: Note.init)
    }
}
