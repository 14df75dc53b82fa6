import Foundation
import SecureStorage

/// A note on the screen.
struct Note: Identifiable, Equatable, Sendable {
    let id: Int64
    var text: String
    var changedAt: Date
}

/// The notes in an encrypted file.
struct NoteStore: Sendable {
    private let pool: SecureDatabasePool

    /// For `AppLifeSuspension`.
    var database: SecureDatabasePool { pool }

    private static var migrations: SchemaMigrations {
        var migrations = SchemaMigrations()
        migrations.add(
            "notes",
            sql: """
                CREATE TABLE note (
                    id INTEGER PRIMARY KEY, text TEXT NOT NULL, changed_at REAL NOT NULL);
                CREATE VIRTUAL TABLE word USING fts5 (text, content='note', content_rowid='id');
                CREATE TRIGGER note_insert AFTER INSERT ON note BEGIN
                    INSERT INTO word (rowid, text) VALUES (new.id, new.text);
                END;
                CREATE TRIGGER note_delete AFTER DELETE ON note BEGIN
                    INSERT INTO word (word, rowid, text) VALUES ('delete', old.id, old.text);
                END;
                CREATE TRIGGER note_update AFTER UPDATE ON note BEGIN
                    INSERT INTO word (word, rowid, text) VALUES ('delete', old.id, old.text);
                    INSERT INTO word (rowid, text) VALUES (new.id, new.text);
                END;
                """)
        return migrations
    }

    /// Opens the file, or creates it: off the main thread, since a passphrase takes a tenth of a
    /// second.
    static func open(_ url: URL, key: DatabaseKey) async throws -> NoteStore {
        let pool = SecureDatabasePool(url: url)
        try await pool.open(with: key)
        do {
            try await pool.migrate(migrations)
        } catch {
            await pool.close()
            throw error
        }
        return NoteStore(pool: pool)
    }

    func close() async { await pool.close() }

    /// Returns the notes that contain all words, or their beginnings, now and after each change;
    /// all notes for no words.
    func notes(matching words: String) -> DatabaseValues<[Note]> {
        // In quotes, a word is nothing but a word: FTS5 has operators of its own.
        let query = words.split(whereSeparator: \.isWhitespace).map {
            "\"" + $0.replacing("\"", with: "\"\"") + "\"*"
        }.joined(separator: " ")
        return pool.values { db in
            if query.isEmpty {
                try db.fetchAll(
                    "SELECT id, text, changed_at FROM note ORDER BY changed_at DESC, id DESC",
                    map: Note.init)
            } else {
                try db.fetchAll(
                    """
                    SELECT id, note.text, changed_at FROM word JOIN note ON note.id = word.rowid
                    WHERE word MATCH ? ORDER BY rank, id
                    """, query, map: Note.init)
            }
        }
    }

    func add(_ text: String) async throws {
        try await pool.write { db in
            try db.executeUpdate(
                "INSERT INTO note (text, changed_at) VALUES (?, ?)", text, Self.now)
        }
    }

    /// Changes a note that is still as the user has seen it.
    ///
    /// - Returns: false if it was changed or removed in the meantime.
    func change(_ note: Note, to text: String) async throws -> Bool {
        try await pool.write { db in
            try db.executeUpdate(
                "UPDATE note SET text = ?, changed_at = ? WHERE id = ? AND text = ?",
                text, Self.now, note.id, note.text)
            return try db.changedRowCount() == 1
        }
    }

    func remove(_ ids: some Sequence<Note.ID> & Sendable) async throws {
        try await pool.write { db in
            for id in ids { try db.executeUpdate("DELETE FROM note WHERE id = ?", id) }
        }
    }

    /// With the fraction of a second, by which notes are sorted.
    private static var now: Double { Date().timeIntervalSince1970 }
}
