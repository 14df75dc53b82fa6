import Foundation
import SecureStorage
import Testing
import TestSupport

/// Rows written by the names of their columns.
struct RecordTests {
    private enum Color: String, Codable { case red, green }

    private struct Note: Codable, Equatable {
        struct Place: Codable, Equatable { var latitude: Double }

        var id: Int64?
        var text: String?
        var at: Date?
        var identifier: UUID
        var link: URL?
        var price: Decimal?
        var color: Color?
        var tags: [String]
        var place: Place?
        var bytes: Data?
        var isDone: Bool
    }

    private static let note = Note(
        id: nil, text: "milk", at: Date(timeIntervalSince1970: 100), identifier: UUID(),
        link: URL(string: "https://example.org/?a=b"), price: Decimal(string: "1.10"),
        color: .green,
        tags: ["a", "\"b\""], place: Note.Place(latitude: 52.5), bytes: Data([1, 2]), isDone: true)

    private static func open(_ database: TemporaryDatabase) throws -> SecureDatabaseStore {
        let db = try database.openStore()
        try db.executeStatements(
            """
            CREATE TABLE note (
                id INTEGER PRIMARY KEY, text TEXT DEFAULT 'none', at INTEGER, identifier TEXT UNIQUE,
                link TEXT, price TEXT, color TEXT, tags TEXT, place TEXT, bytes BLOB, isDone INTEGER);
            CREATE TABLE pair (a INTEGER, b INTEGER, text TEXT, PRIMARY KEY (a, b));
            """)
        return db
    }

    @Test func `a value that is inserted is decoded as it was`() throws {
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        let id = try db.insert(Self.note, into: "note")
        check(id, equals: 1)
        var expected = Self.note
        expected.id = 1
        try check(db.fetchOne(Note.self, "SELECT * FROM note"), equals: expected)
        let types = try db.fetchOne(
            """
            SELECT typeof(at) || typeof(identifier) || typeof(price) || typeof(color) || typeof(tags)
                || typeof(bytes) || typeof(isDone), identifier, color, tags FROM note
            """
        ) { (types: String, identifier: String, color: String, tags: String) in
            [types, identifier, color, tags]
        }
        check(
            types,
            equals: [
                "integertexttexttexttextblobinteger", Self.note.identifier.uuidString, "green",
                #"["a","\"b\""]"#,
            ])
    }

    @Test func `a property that is nil becomes NULL, not the column's default`() throws {
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        var note = Self.note
        note.text = nil
        note.place = nil
        try db.insert(note, into: "note")
        try check(
            db.fetchOne("SELECT text FROM note") { (text: String?) in text }, equals: .some(nil))
        try check(
            db.fetchOne("SELECT place FROM note") { (text: String?) in text }, equals: .some(nil))
    }

    @Test func `many values are inserted, or none of them`() throws {
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        let notes = (1...100).map { number in
            var note = Self.note
            (note.id, note.identifier) = (Int64(number), UUID())
            return note
        }
        try db.insert(contentsOf: notes, into: "note")
        try check(db.fetchAll(Note.self, "SELECT * FROM note ORDER BY id"), equals: notes)
        var more = (101...110).map { number in
            var note = Self.note
            (note.id, note.identifier) = (Int64(number), UUID())
            return note
        }
        more[9].id = 50
        let error = storageError { try db.insert(contentsOf: more, into: "note") }
        check(error?.isConstraintViolation, equals: true)
        try check(db.int(forQuery: "SELECT count(*) FROM note"), equals: 100)
        try db.insert(contentsOf: [Note](), into: "note")
    }

    @Test func `an update sets every column but the key, and counts the rows that have it`() throws
    {
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        var note = Self.note
        note.id = try db.insert(note, into: "note")
        note.text = nil
        note.tags = []
        try check(db.update(note, in: "note", key: "id"), equals: 1)
        try check(db.fetchOne(Note.self, "SELECT * FROM note"), equals: note)
        note.id = 7
        try check(db.update(note, in: "note", key: "id"), equals: 0)
    }

    @Test func `an upsert inserts a row, or updates the one with its key`() throws {
        struct Pair: Codable, Equatable { var a: Int, b: Int, text: String? }
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        try db.upsert(Pair(a: 1, b: 2, text: "one"), into: "pair", key: "a", "b")
        try db.upsert(
            contentsOf: [Pair(a: 1, b: 2, text: nil), Pair(a: 1, b: 3, text: "two")], into: "pair",
            key: "a", "b")
        try check(
            db.fetchAll(Pair.self, "SELECT * FROM pair ORDER BY b"),
            equals: [Pair(a: 1, b: 2, text: nil), Pair(a: 1, b: 3, text: "two")])
        struct Key: Codable { var a: Int, b: Int }
        try db.upsert(Key(a: 1, b: 3), into: "pair", key: "a", "b")
        try check(db.int(forQuery: "SELECT count(*) FROM pair"), equals: 2)
        let error = storageError {
            try db.upsert(Pair(a: 1, b: 2, text: nil), into: "pair", key: "c")
        }
        check(error?.resultCode, equals: .misuse)
        check(error?.description.contains("\"c\""), equals: true)
    }

    @Test func `named values are inserted and updated`() throws {
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        let id = try db.insert(["identifier": "x", "tags": "[]", "at": nil], into: "note")
        try check(db.string(forQuery: "SELECT text FROM note"), equals: "none")
        try check(db.update(["text": "milk", "at": 5], in: "note", key: ["id": id]), equals: 1)
        try check(db.string(forQuery: "SELECT text || at FROM note"), equals: "milk5")
        try check(db.update(["text": "milk"], in: "note", key: ["id": 99]), equals: 0)
        try check(db.update(["link": "none"], in: "note", key: ["link": nil]), equals: 1)
        check(
            storageError { _ = try db.update([:], in: "note", key: ["id": 1]) }?.resultCode,
            equals: .misuse
        )
        try db.insert([:], into: "note")
        try check(db.int(forQuery: "SELECT count(*) FROM note"), equals: 2)
    }

    @Test func `names of tables and columns are only names`() throws {
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        try db.executeUpdate(#"CREATE TABLE "a""b; --" ("c""d" TEXT, "select" TEXT)"#)
        try db.insert(["c\"d": "1", "select": "2"], into: "a\"b; --")
        try check(db.string(forQuery: #"SELECT "select" FROM "a""b; --""#), equals: "2")
        check(storageError { try db.insert(["a": 1], into: "pair; DROP TABLE note") } != nil)
        try check(db.int(forQuery: "SELECT count(*) FROM note"), equals: 0)
    }

    @Test func `a value without properties, and a number that is not one, are refused`() throws {
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        check(storageError { try db.insert([1, 2], into: "pair") }?.resultCode, equals: .misuse)
        check(storageError { try db.insert("text", into: "pair") }?.resultCode, equals: .misuse)
        struct Large: Encodable { var a = UInt64.max }
        check(storageError { try db.insert(Large(), into: "pair") }, equals: .typeConversionFailed)
        struct Deep: Encodable { var a = [Double.nan] }
        check(storageError { try db.insert(Deep(), into: "pair") }, equals: .typeConversionFailed)
    }

    @Test func `a class adds its superclass's properties to the row`() throws {
        class Base: Encodable { let a = 1 }
        final class Derived: Base {
            let b = 2
            private enum Keys: CodingKey { case b }
            override func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(b, forKey: .b)
                try super.encode(to: container.superEncoder())
            }
        }
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        try db.insert(Derived(), into: "pair")
        try check(db.string(forQuery: "SELECT a || b FROM pair"), equals: "12")
    }

    @Test func `a list is one parameter of IN`() throws {
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        for number in 1...50 {
            try db.insert(["a": number, "b": 0, "text": "t\(number)"], into: "pair")
        }
        func rows(_ column: String, _ list: JSONArray) throws -> [Int] {
            try db.fetchAll(
                """
                SELECT a FROM pair
                WHERE \(identifier: column) IN (SELECT value FROM json_each(\(list))) ORDER BY a
                """
            ) { (a: Int) in a }
        }
        try check(rows("a", JSONArray([3, 5, 99])), equals: [3, 5])
        try check(rows("text", JSONArray(["t4", "a\"b\\/\u{7}", "ü"])), equals: [4])
        try check(rows("a", JSONArray([Int]())), equals: [])
        try check(rows("a", JSONArray([Int64.max, 7])), equals: [7])
        let values = try db.fetchAll(
            "SELECT value FROM json_each(?)", JSONArray(["a\"b\\/\u{7}", "ü", ""])
        ) { (text: String) in text }
        check(values, equals: ["a\"b\\/\u{7}", "ü", ""])
        check(storageError { _ = try JSONArray([Data([1])]) }, equals: .typeConversionFailed)
        check(storageError { _ = try JSONArray([Double.infinity]) }, equals: .typeConversionFailed)
    }
}
