import Foundation
import SecureStorage

/// A note, as it is listed.
struct Note: Equatable, Sendable {
    var id: Int64
    var text: String
    var at: Date
}

/// What the notebook itself refuses.
struct Refusal: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
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
        try database.write { db in try Self.insert(text, db) }
    }

    /// Adds all notes or, if one is refused, none; returns how many.
    func add(_ texts: [String]) throws -> Int {
        try database.write { db in
            for text in texts { _ = try Self.insert(text, db) }
            return texts.count
        }
    }

    private static func insert(_ text: String, _ db: SecureDatabaseStore) throws -> Int64 {
        try check(text)
        try db.executeUpdate("INSERT INTO note (text, at) VALUES (?, ?)", text, Date())
        return try db.lastInsertRowId()
    }

    /// A note is one line: a terminal acts on control characters.
    private static func check(_ text: String) throws {
        guard !text.isEmpty else { throw Refusal("a note cannot be empty") }
        guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw Refusal("a note is one line of text")
        }
    }

    /// Returns all notes, the oldest first.
    func notes() throws -> [Note] {
        try database.fetchAll("SELECT id, text, at FROM note ORDER BY id", map: Note.init)
    }
}
