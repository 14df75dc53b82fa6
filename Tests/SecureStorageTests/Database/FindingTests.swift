import Foundation
import SecureStorage
import Testing
import TestSupport

/// Rows found, counted and deleted by their key.
struct FindingTests {
    private struct Note: Codable, Equatable, Sendable {
        var id: Int
        var folder: String?
        var text: String
    }

    private let database: TemporaryDatabase
    private let db: SecureDatabaseStore
    private static let notes = [
        Note(id: 1, folder: "home", text: "milk"), Note(id: 2, folder: nil, text: "bread"),
        Note(id: 3, folder: "home", text: "call"),
    ]

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try Self.fill(db)
    }

    private static func fill(_ db: SecureDatabaseStore) throws {
        try db.executeStatements(
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, folder TEXT, text TEXT NOT NULL);
            CREATE TABLE line (note INTEGER REFERENCES note ON DELETE CASCADE, text TEXT);
            """)
        try db.insert(contentsOf: notes, into: "note")
        try db.executeUpdate("INSERT INTO line VALUES (1, 'a'), (1, 'b')")
    }

    @Test func `a row is found by its key`() throws {
        try check(db.find(Note.self, in: "note", key: ["id": 2]), equals: Self.notes[1])
        try check(
            db.find(in: "note", key: ["folder": "home", "text": "call"]), equals: Self.notes[2])
        try check(db.find(Note.self, in: "note", key: ["folder": nil]), equals: Self.notes[1])
        try check(db.find(Note.self, in: "note", key: ["id": 9]), equals: nil)
    }

    @Test func `rows are counted and tested for existence`() throws {
        try check(db.count(in: "note"), equals: 3)
        try check(db.count(in: "note", key: ["folder": "home"]), equals: 2)
        try check(db.count(in: "note", key: ["folder": nil]), equals: 1)
        try check(db.exists(in: "note", key: ["text": "milk"]))
        try check(!db.exists(in: "note", key: ["text": "MILK"]))
    }

    @Test func `a deletion returns the number of rows, without those of a foreign key`() throws {
        try check(db.delete(from: "note", key: ["id": 1]), equals: 1)
        try check(db.count(in: "line"), equals: 0)
        try check(db.delete(from: "note", key: ["id": 1]), equals: 0)
        try check(db.delete(from: "note", key: ["folder": nil]), equals: 1)
        try check(db.delete(Self.notes[2], from: "note", key: "id", "text"), equals: 1)
        try check(db.count(in: "note"), equals: 0)
    }

    @Test func `no key is an error, and deletes nothing`() throws {
        let codes = [
            storageError { try db.delete(from: "note", key: [:]) },
            storageError { _ = try db.find(Note.self, in: "note", key: [:]) },
            storageError { _ = try db.exists(in: "note", key: [:]) },
            storageError { try db.delete(Self.notes[0], from: "note") },
            storageError { try db.delete(Self.notes[0], from: "note", key: "other") },
        ].map { $0?.resultCode?.primary }
        check(codes, equals: Array(repeating: .misuse, count: 5))
        try check(db.count(in: "note"), equals: 3)
    }

    @Test func `names are quoted, so none is SQL`() throws {
        try db.executeUpdate(#"CREATE TABLE "a""b; --" ("c""d" TEXT)"#)
        try db.insert(["c\"d": "1"], into: "a\"b; --")
        try check(db.count(in: "a\"b; --", key: ["c\"d": "1"]), equals: 1)
        try check(db.delete(from: "a\"b; --", key: ["c\"d": "1"]), equals: 1)
        check(storageError { _ = try db.count(in: "note; DROP TABLE note") } != nil)
        check(storageError { _ = try db.count(in: "note", key: ["1=1 OR id": 1]) } != nil)
    }

    @Test func `an update writes only the columns that differ`() throws {
        var edited = Self.notes[0]
        edited.text = "oat milk"
        // Somebody else moves the note meanwhile.
        try db.update(["folder": "shop"], in: "note", key: ["id": 1])
        try check(db.update(edited, changedFrom: Self.notes[0], in: "note", key: "id"), equals: 1)
        try check(
            db.find(Note.self, in: "note", key: ["id": 1]),
            equals: Note(id: 1, folder: "shop", text: "oat milk"))
        try check(db.update(edited, changedFrom: edited, in: "note", key: "id"), equals: 0)
        edited.folder = nil
        try check(db.update(edited, changedFrom: Self.notes[0], in: "note", key: "id"), equals: 1)
        try check(db.exists(in: "note", key: ["id": 1, "folder": nil]))
        check(
            storageError {
                try db.update(
                    Self.notes[1], changedFrom: Self.notes[0], in: "note", key: "id")
            }?.resultCode, equals: .misuse)
    }

    @Test func `columns of JSON that are equal are not written`() throws {
        struct Place: Codable { var latitude, longitude, height: Double }
        struct Visit: Codable {
            var id: Int
            var text: String
            var place: Place
            var tags: [String: [Place]]
        }
        try db.executeUpdate("CREATE TABLE visit (id INTEGER PRIMARY KEY, text, place, tags)")
        let place = Place(latitude: 52.5, longitude: 13.25, height: 34)
        let visit = Visit(
            id: 1, text: "a", place: place, tags: ["x": [place], "y": [], "z": [place]])
        try db.insert(visit, into: "visit")
        for _ in 0..<200 {
            try check(db.update(visit, changedFrom: visit, in: "visit", key: "id"), equals: 0)
        }
    }

    @Test func `a queue and a pool read rows in one call`() async throws {
        let other = try TemporaryDatabase()
        let pool = try other.openPool()
        try await pool.write { try Self.fill($0) }
        let queue = SecureDatabaseQueue(databaseStore: db)
        for reader: any SecureDatabaseReader in [queue, pool] {
            let sql: SQL = "SELECT * FROM note WHERE id > ?"
            try Self.read(reader, sql)
            try await check(
                reader.fetchAll(Note.self, sql, values: [1]), equals: Array(Self.notes[1...]))
            try await check(reader.fetchOne(Note.self, sql, values: [2]), equals: Self.notes[2])
            try await check(
                reader.find(Note.self, in: "note", key: ["folder": nil]), equals: Self.notes[1])
            try await check(reader.exists(in: "note", key: ["id": 4]), equals: false)
            try await check(reader.count(in: "note"), equals: 3)
        }
    }

    private static func read(_ reader: any SecureDatabaseReader, _ sql: SQL) throws {
        try check(reader.fetchAll(Note.self, sql, values: [1]), equals: Array(notes[1...]))
        try check(reader.fetchOne(Note.self, sql, values: [2]), equals: notes[2])
        try check(reader.find(Note.self, in: "note", key: ["folder": nil]), equals: notes[1])
        try check(reader.exists(in: "note", key: ["id": 4]), equals: false)
        try check(reader.count(in: "note", key: ["folder": "home"]), equals: 2)
    }
}
