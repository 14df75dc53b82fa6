import Foundation
import SecureStorage
import Testing
import TestSupport

/// Rows of joined tables as nested types.
struct JoinedRowTests {
    private struct Folder: Codable, Equatable, Sendable {
        var id: Int
        var name: String
    }

    private struct Note: Codable, Equatable, Sendable {
        var id: UUID
        var text: String
        var at: Date?
        var folder: Int?
    }

    private struct NoteInFolder: Decodable, Equatable {
        var note: Note
        var folder: Folder?
    }

    private let database: TemporaryDatabase
    private let db: SecureDatabaseStore
    private let milk = Note(
        id: UUID(), text: "milk", at: Date(timeIntervalSince1970: 1.5), folder: 1)
    private let bread = Note(id: UUID(), text: "bread", at: nil, folder: nil)

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeStatements(
            """
            CREATE TABLE folder (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE note (id TEXT PRIMARY KEY, text TEXT, at REAL, folder INTEGER);
            """)
        try db.insert(Folder(id: 1, name: "home"), into: "folder")
        try db.insert(contentsOf: [milk, bread], into: "note")
    }

    private static let join: SQL = """
        SELECT \(columnsOf: "note"), \(columnsOf: "folder")
        FROM note LEFT JOIN folder ON folder.id = note.folder ORDER BY note.text DESC
        """

    @Test func `a joined row has the row of each table as a property`() throws {
        try check(
            db.fetchAll(NoteInFolder.self, Self.join),
            equals: [
                NoteInFolder(note: milk, folder: Folder(id: 1, name: "home")),
                NoteInFolder(note: bread, folder: nil),
            ])
    }

    @Test func `a property whose columns are all NULL is nil, or an error if it cannot be`() throws
    {
        struct Strict: Decodable { var folder: Folder }
        try check(
            db.fetchOne(Strict.self, "SELECT 1 AS 'folder.id', 'x' AS 'FOLDER.Name'")?.folder,
            equals: Folder(id: 1, name: "x"))
        check(
            storageError { _ = try db.fetchAll(Strict.self, Self.join) },
            equals: .typeConversionFailed)
    }

    @Test func `names are chosen in the query, and may go deeper`() throws {
        struct Owner: Decodable, Equatable { var name: String }
        struct Place: Decodable, Equatable { var name: String, owner: Owner?, tags: [String] }
        struct Row: Decodable, Equatable { var id: Int, place: Place? }
        let row = try db.fetchOne(
            Row.self,
            """
            SELECT 7 AS id, 'home' AS "place.name", 'Ada' AS "place.owner.name",
                   '["a","b"]' AS "place.tags"
            """)
        check(
            row,
            equals: Row(
                id: 7, place: Place(name: "home", owner: Owner(name: "Ada"), tags: ["a", "b"])))
        try check(
            db.fetchOne(
                Row.self,
                """
                SELECT 7 AS id, 'home' AS "place.name", NULL AS "place.owner.name",
                       '[]' AS "place.tags"
                """)?.place?.owner == nil)
    }

    @Test func `a table joined with itself has a name for each side`() throws {
        struct Pair: Decodable, Equatable { var first: Folder, second: Folder }
        try db.insert(Folder(id: 2, name: "work"), into: "folder")
        try check(
            db.fetchAll(
                Pair.self,
                """
                SELECT \(columnsOf: "folder", as: "first"), \(columnsOf: "folder", as: "second")
                FROM folder AS first JOIN folder AS second ON second.id = first.id + \(1)
                """),
            equals: [Pair(first: Folder(id: 1, name: "home"), second: Folder(id: 2, name: "work"))])
    }

    @Test func `an expression is not a column of a property, and generic types are read`() throws {
        struct Pair<A: Decodable, B: Decodable>: Decodable { var note: A, folder: B }
        let sql: SQL = """
            SELECT \(columnsOf: "note"), \(columnsOf: "folder"), folder.id IS NULL
            FROM note LEFT JOIN folder ON folder.id = note.folder ORDER BY text DESC
            """
        try check(
            db.fetchAll(NoteInFolder.self, sql).map(\.folder?.name), equals: ["home", nil])
        try check(
            db.fetchAll(Pair<Note, Folder?>.self, sql).map(\.folder?.name), equals: ["home", nil])
        struct Tagged: Decodable { var tags: [String]? }
        check(
            storageError {
                _ = try db.fetchOne(Tagged.self, #"SELECT '{"tags":["x"]}', 1 AS "tags.x""#)
            }, equals: .typeConversionFailed)
    }

    @Test func `a column of JSON of the property's name comes first`() throws {
        struct Row: Decodable { var folder: Folder }
        let row = try db.fetchOne(
            Row.self,
            #"SELECT '{"id":3,"name":"json"}' AS folder, 4 AS "folder.id", 'x' AS "folder.name""#)
        check(row?.folder, equals: Folder(id: 3, name: "json"))
    }

    @Test func `a missing or repeated column of a nested property is an error that names it`()
        throws
    {
        struct Row: Decodable { var folder: Folder? }
        let missing = storageError { _ = try db.fetchOne(Row.self, "SELECT 1 AS 'folder.id'") }
        check(missing?.resultCode, equals: .range)
        check(missing?.description.contains("\"name\""), equals: true, "\(missing as Any)")
        let repeated = storageError {
            _ = try db.fetchOne(
                Row.self, "SELECT 1 AS 'folder.id', 2 AS 'folder.ID', 'x' AS 'folder.name'")
        }
        check(repeated?.resultCode, equals: .misuse)
        struct Value: Decodable { var id: UUID? }
        check(
            storageError { _ = try db.fetchOne(Value.self, "SELECT 'x' AS 'id.a'") },
            equals: .typeConversionFailed)
    }

    @Test func `an optional property without a column is an error, and NULL is nil`() throws {
        let error = storageError { _ = try db.fetchOne(Note.self, "SELECT id, text FROM note") }
        check(error?.resultCode, equals: .range)
        check(error?.description.contains("\"at\""), equals: true, "\(error as Any)")
        try check(
            db.fetchOne(
                Note.self,
                "SELECT id, text, NULL AS at, NULL AS folder FROM note WHERE text = 'milk'"
            )?.at == nil)
    }

    @Test func `a type that asks for its columns finds those that there are`() throws {
        struct Asking: Decodable {
            var names: [String] = []
            var folder: Folder?
            enum Keys: String, CodingKey { case id, folder, missing }
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                for key in [Keys.id, .folder, .missing] where container.contains(key) {
                    names.append(key.rawValue)
                }
                if try !container.decodeNil(forKey: .folder) {
                    folder = try container.decode(Folder.self, forKey: .folder)
                }
            }
        }
        let row = try db.fetchOne(
            Asking.self, "SELECT 1 AS id, 1 AS 'folder.id', 'x' AS 'folder.name'")
        check(row?.names, equals: ["id", "folder"])
        check(row?.folder, equals: Folder(id: 1, name: "x"))
    }

    @Test func `the columns of a view and generated ones are read, hidden ones are not`() throws {
        try db.executeStatements(
            """
            CREATE TABLE place (x INTEGER, y INTEGER AS (x + 1), z INTEGER AS (x + 2) STORED);
            INSERT INTO place VALUES (1);
            CREATE VIEW seen AS SELECT x, y FROM place;
            CREATE VIRTUAL TABLE word USING fts5(body);
            INSERT INTO word VALUES ('milk');
            """)
        struct Place: Decodable, Equatable { var x: Int, y: Int, z: Int }
        struct Word: Decodable, Equatable { var body: String }
        struct Row: Decodable, Equatable { var place: Place, word: Word }
        try check(
            db.fetchOne(
                Row.self, "SELECT \(columnsOf: "place"), \(columnsOf: "word") FROM place, word"),
            equals: Row(place: Place(x: 1, y: 2, z: 3), word: Word(body: "milk")))
        try check(
            db.fetchOne("SELECT \(columnsOf: "seen") FROM seen") { (x: Int, y: Int) in x + y },
            equals: 3)
    }
}
