import Foundation
import SecureStorage
import Testing
import TestSupport

/// The documentation's snippets for typed rows and for rows that are written by name.
@Suite struct RowSnippets {
    private struct Note: Encodable, Sendable {
        var id: Int64?
        var text: String
        var at: Date?
    }

    private static func prepare(_ db: SecureDatabaseStore) throws {
        try db.executeUpdate("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, at INTEGER)")
    }

    @Test func `rows are written and read`() throws {
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        try Self.prepare(db)
        let id = try db.insert(Note(id: nil, text: "buy milk"), into: "note")
        #expect(id == 1)
        try db.insert(into: "note", ["text": "buy milk", "at": Date()])
        try db.update("note", ["text": "buy bread"], where: ["id": id])
        let since = Date(timeIntervalSince1970: 0)
        let notes = try db.fetchAll("SELECT id, text, at FROM note WHERE at > ?", since) {
            (id: Int64, text: String, at: Date?) in Note(id: id, text: text, at: at)
        }
        #expect(notes.map(\.id) == [2])
        let rs = try db.executeQuery("SELECT id, text, at FROM note")
        while try rs.next() {
            try rs.row { (id: Int64, text: String, at: Date?) in print(id, text) }
        }
        try inList(db)
    }

    private func inList(_ db: SecureDatabaseStore) throws {
        let sql = "SELECT text FROM note WHERE id IN (SELECT value FROM json_each(?))"
        let rs = try db.executeQuery(sql, values: [JSONArray([1, 2, 3])])
        #expect(try rs.next())
        #expect(rs.string(forColumnIndex: 0) == "buy bread")
    }

    @Test func `pools read rows`() async throws {
        let database = try TemporaryDatabase()
        let pool = SecureDatabasePool(fullDatabasePath: database.path)
        try await pool.open(with: .raw(SecretBytes(copying: TemporaryDatabase.key)))
        defer { pool.close() }
        try await pool.write { try Self.prepare($0) }
        try Self.fetch(from: pool)
        struct Note: Sendable {
            var id: Int64
            var text: String
        }
        for try await note in pool.rows("SELECT id, text FROM note", map: Note.init) {
            print(note.text)
        }
    }

    private static func fetch(from pool: SecureDatabasePool) throws {
        let since = Date(timeIntervalSince1970: 0)
        let notes = try pool.fetchAll("SELECT id, text FROM note WHERE at > ?", since) {
            (id: Int64, text: String) in Note(id: id, text: text)
        }
        #expect(notes.isEmpty)
    }
}
