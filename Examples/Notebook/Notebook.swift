import Foundation
import SecureMirror
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
    private let database: SecureDatabasePool

    /// Opens the file, or creates it, and brings its schema up to date.
    init(at url: URL, key: DatabaseKey) throws {
        database = SecureDatabasePool(url: url)
        try database.open(with: key)
        do {
            try database.migrate(Self.migrations)
        } catch {
            database.close()
            throw error
        }
    }

    var file: URL { database.databaseURL }

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

    /// Changes a note, and keeps what it was.
    func edit(_ id: Int64, _ text: String) throws {
        try Self.check(text)
        try database.write { db in
            try db.executeUpdate(
                "INSERT INTO revision (note, text, at) SELECT id, text, at FROM note WHERE id = ?",
                id)
            guard try db.changedRowCount() == 1 else { throw Refusal("there is no note \(id)") }
            try db.executeUpdate("UPDATE note SET text = ?, at = ? WHERE id = ?", text, Date(), id)
        }
    }

    /// Adds a note that came from elsewhere, or finds it: the same one may come again.
    func receive(_ text: String, origin: String) async throws -> Int64 {
        try await database.write { db in
            if let id = try db.int64(forQuery: "SELECT id FROM note WHERE origin = ?", origin) {
                return id
            }
            return try Self.insert(text, origin: origin, db)
        }
    }

    private static func insert(
        _ text: String, origin: String? = nil, _ db: SecureDatabaseStore
    ) throws -> Int64 {
        try check(text)
        try db.executeUpdate(
            "INSERT INTO note (text, at, origin) VALUES (?, ?, ?)", text, Date(), origin)
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

    /// Returns what a note was, the oldest first, and what it is.
    func history(of id: Int64) throws -> [String] {
        try database.fetchAll(
            """
            SELECT text, 0 AS age, rowid FROM revision WHERE note = ?1
            UNION ALL SELECT text, 1, id FROM note WHERE id = ?1 ORDER BY age, rowid
            """, id
        ) { (text: String, _: Int, _: Int) in text }
    }

    /// Returns the notes that contain all words, the best match first.
    func search(_ words: String) throws -> [Note] {
        // In quotes, a word is nothing but a word: FTS5 has operators of its own.
        let query = words.split(separator: " ").map { word in
            "\"" + word.replacingOccurrences(of: "\"", with: "\"\"") + "\""
        }
        return try database.fetchAll(
            """
            SELECT id, note.text, at FROM word JOIN note ON note.id = word.rowid
            WHERE word MATCH ? ORDER BY rank
            """, query.joined(separator: " "), map: Note.init)
    }

    /// Writes everything into a new file with another key.
    func copy(to url: URL, key: DatabaseKey) throws { try database.backup(to: url, key: key) }

    /// Returns what keeps the notes in a store as well.
    func mirror(in store: any ObjectStore, name: String) throws -> DatabaseMirror {
        try DatabaseMirror(of: database, in: store, name: name)
    }

    /// Runs `body` after each change of the notes by another program, until the task ends.
    func forEachForeignChange(_ body: () throws -> Void) async rethrows {
        for await change in database.changes(in: ["note"]) where change.includesForeign {
            try body()
        }
    }
}
