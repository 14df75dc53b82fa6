import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// The documentation's snippets for typed rows and for rows that are written by name.
struct RowSnippets {
    private struct Note: Codable, Sendable {
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
        check(id, equals: 1)
        try db.insert(["text": "buy milk", "at": Date()], into: "note")
        try db.update(["text": "buy bread"], in: "note", key: ["id": id])
        let since = Date(timeIntervalSince1970: 0)
        let notes = try db.fetchAll("SELECT id, text, at FROM note WHERE at > ?", since) {
            (id: Int64, text: String, at: Date?) in Note(id: id, text: text, at: at)
        }
        check(notes.map(\.id), equals: [2])
        let rs = try db.executeQuery("SELECT id, text, at FROM note")
        while try rs.next() {
            try rs.row { (id: Int64, text: String, at: Date?) in print(id, text) }
        }
        try inList(db)
        try byKey(db, id)
    }

    private func byKey(_ db: SecureDatabaseStore, _ id: Int64) throws {
        let note = try db.find(Note.self, in: "note", key: ["id": id])
        guard let note else { return check(note != nil) }
        var edited = note
        edited.text = "buy nothing"
        try db.update(edited, changedFrom: note, in: "note", key: "id")
        try check(db.exists(in: "note", key: ["text": "buy nothing"]))
        try db.delete(from: "note", key: ["id": id])
        try check(db.count(in: "note"), equals: 1)
    }

    private func inList(_ db: SecureDatabaseStore) throws {
        let sql = "SELECT text FROM note WHERE id IN (SELECT value FROM json_each(?))"
        let rs = try db.executeQuery(sql, values: [JSONArray([1, 2, 3])])
        try check(rs.next())
        check(rs.string(forColumnIndex: 0), equals: "buy bread")
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
        check(notes.isEmpty)
        try fetchValues(from: pool)
    }

    private static func fetchValues(from pool: SecureDatabasePool) throws {
        let id = 1
        let note = try pool.find(Note.self, in: "note", key: ["id": id])
        check(note == nil)
    }
}

/// The documentation's snippets for large values.
struct BlobSnippets {
    @Test func `values are written and read in parts`() async throws {
        let database = try TemporaryDatabase()
        let pool = SecureDatabasePool(fullDatabasePath: database.path)
        try await pool.open(with: .raw(SecretBytes(copying: TemporaryDatabase.key)))
        defer { pool.close() }
        let id: Int64 = 1
        let size = 9
        try await pool.write { try Self.prepare($0, id, size) }
        let url = database.directory.appendingPathComponent("output")
        _ = FileManager.default.createFile(atPath: url.path, contents: nil)
        let output = try FileHandle(forWritingTo: url)
        for try await chunk in pool.chunks(table: "file", column: "body", rowID: id) {
            try output.write(contentsOf: chunk)
        }
        try check(Data(contentsOf: url), equals: Data([1, 2, 3, 0, 0, 0, 0, 0, 0]))
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data(count: size))
            continuation.finish()
        }
        try await pool.write(chunks, count: size, table: "file", column: "body", rowID: id)
        let zeros = try await pool.read { try $0.data(forQuery: "SELECT body FROM file") }
        check(zeros, equals: Data(count: size))
    }

    private static func prepare(_ db: SecureDatabaseStore, _ id: Int64, _ size: Int) throws {
        let head = Data([1, 2, 3])
        try db.executeStatements(
            "CREATE TABLE file (id INTEGER PRIMARY KEY, body); INSERT INTO file VALUES (1, NULL)")
        try db.executeUpdate("UPDATE file SET body = zeroblob(?) WHERE id = ?", values: [size, id])
        try db.withBlob(table: "file", column: "body", rowID: id, isWritable: true) { blob in
            try blob.write(head, at: 0)
        }
    }
}
