import Foundation
import SecureStorage
import TestSupport
import Testing

/// The documentation's snippets for statements with interpolated values, and for joined rows.
struct InterpolationSnippets {
    struct Note: Codable, Equatable, Sendable {
        var id: Int64
        var folder: UUID?
        var text: String
        var at: Date
    }

    struct Folder: Codable, Equatable, Sendable {
        var id: UUID
        var name: String
    }

    private let database: TemporaryDatabase
    private let pool: SecureDatabasePool
    private let folder = UUID()
    private let yesterday = Date(timeIntervalSinceNow: -86_400)
    private let ids: [Int64] = [1, 2]

    init() throws {
        database = try TemporaryDatabase()
        pool = try database.openPool()
        try pool.write { [folder] db in
            try db.executeStatements(
                """
                CREATE TABLE folder (id TEXT PRIMARY KEY, name TEXT);
                CREATE TABLE note (id INTEGER PRIMARY KEY, folder TEXT, text TEXT, at REAL);
                """)
            try db.insert(Folder(id: folder, name: "home"), into: "folder")
            try db.insert(
                Note(id: 1, folder: folder, text: "milk", at: Date()), into: "note")
        }
    }

    @Test func `values are interpolated`() async throws {
        // begin
        let texts = try await pool.fetchAll(
            "SELECT text FROM note WHERE at > \(yesterday) AND id IN \(ids)"
        ) { (text: String) in text }

        try await pool.execute("UPDATE note SET folder = \(folder) WHERE id IN \(ids)")
        // end
        check(texts, equals: ["milk"])
        // begin
        let notes = try await pool.fetchAll(
            Note.self, "SELECT * FROM note WHERE folder = \(folder) AND id IN \(ids)")
        // end
        check(notes.map(\.text), equals: ["milk"])
        try synchronously()
    }

    private func synchronously() throws {
        try pool.write { try inBlock($0, folder: folder) }
        // begin
        let notes = try pool.fetchAll(Note.self, "SELECT * FROM note WHERE folder = \(folder)")
        // end
        check(notes.count, equals: 1)
    }

    private func inBlock(_ db: SecureDatabaseStore, folder: UUID?) throws {
        let count = try db.count(in: "note")
        check(count, equals: 1)
        // begin
        try db.execute("UPDATE note SET folder = \(folder) WHERE id IN \(ids)")
        // end
        try read(db)
        // begin
        var query: SQL = "SELECT * FROM note"
        if let folder { query += " WHERE folder = \(folder)" }
        let found = try db.fetchAll(Note.self, query + " ORDER BY at DESC")
        // end
        check(found.count, equals: 1)
    }

    private func read(_ db: SecureDatabaseStore) throws {
        // begin
        let notes = try db.fetchAll(Note.self, "SELECT * FROM note WHERE folder = \(folder)")
        // end
        check(notes.count, equals: 1)
    }

    // begin
    struct NoteInFolder: Decodable { var note: Note, folder: Folder? }
    // end

    @Test func `rows are joined`() throws {
        let db = try database.openStore()
        // begin
        let rows = try db.fetchAll(
            NoteInFolder.self,
            """
            SELECT \(columnsOf: "note"), \(columnsOf: "folder")
            FROM note LEFT JOIN folder ON folder.id = note.folder
            """)
        // end
        check(rows.map(\.folder?.name), equals: ["home"])
    }
}
