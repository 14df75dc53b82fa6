import Foundation
import SecureStorage
import Testing
import TestSupport

/// Statements whose values are interpolated: `SQL`.
struct InterpolationTests {
    private struct Note: Codable, Equatable, Sendable {
        var id: Int
        var folder: String?
        var at: Date
    }

    private let database: TemporaryDatabase
    private let db: SecureDatabaseStore
    private static let notes = (1...5).map { id in
        Note(
            id: id, folder: id % 2 == 0 ? "even" : nil,
            at: Date(timeIntervalSince1970: Double(id) + 0.25))
    }

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE note (id INTEGER PRIMARY KEY, folder TEXT, at REAL)")
        try db.insert(contentsOf: Self.notes, into: "note")
    }

    private func ids(_ sql: SQL) throws -> [Int] { try db.fetchAll(sql) { (id: Int) in id } }

    @Test func `values are bound, nil is NULL, and a date is that of a record`() throws {
        let folder: String? = nil
        try check(ids("SELECT id FROM note WHERE folder IS \(folder)"), equals: [1, 3, 5])
        try check(ids("SELECT id FROM note WHERE folder IS \(nil)"), equals: [1, 3, 5])
        try check(ids("SELECT id FROM note WHERE folder = \("even")"), equals: [2, 4])
        try check(ids("SELECT id FROM note WHERE at = \(Self.notes[2].at)"), equals: [3])
        let any: (any SQLiteDatatypeBridgeable)? = 4
        try check(ids("SELECT id FROM note WHERE id = \(any)"), equals: [4])
        try check(db.fetchOne(Data.self, "SELECT \(Data([1, 2]))"), equals: Data([1, 2]))
        try check(db.fetchOne(Data.self, "SELECT \([3, 4] as [UInt8])"), equals: Data([3, 4]))
        try check(
            db.fetchOne(Note.self, "SELECT * FROM note WHERE id = \(2)"), equals: Self.notes[1])
    }

    @Test func `a sequence is a list in parentheses, an empty one too`() throws {
        try check(ids("SELECT id FROM note WHERE id IN \([1, 4, 9])"), equals: [1, 4])
        try check(ids("SELECT id FROM note WHERE id IN \(Set([5]))"), equals: [5])
        try check(ids("SELECT id FROM note WHERE id IN \(2...3)"), equals: [2, 3])
        try check(ids("SELECT id FROM note WHERE id IN \([Int]())"), equals: [])
        try check(ids("SELECT id FROM note WHERE id NOT IN \([Int]())").count, equals: 5)
        let bytes: [UInt8] = [1, 2]
        try check(db.fetchOne(Int.self, "SELECT length(\(bytes))"), equals: 2)
        try check(
            ids("SELECT id FROM note WHERE id IN \(Array(0..<1_000))"), equals: [1, 2, 3, 4, 5])
    }

    @Test func `parts are joined with their values and their columns`() throws {
        var sql: SQL = "SELECT id FROM note"
        let condition: SQL = "folder = \("even")"
        sql += " WHERE \(condition)"
        sql += " AND " + "id > \(2)"
        try check(ids(sql), equals: [4])
        let columns: SQL = "\(columnsOf: "note")"
        let joined = "SELECT \(identifier: "note").id, " + columns + " FROM note WHERE id = \(3)"
        try check(
            db.fetchOne(joined) { (a: Int, b: Int, c: String?, d: Double) in [a, b] },
            equals: [3, 3])
    }

    @Test func `a statement is run, and the number of its rows returned`() throws {
        try check(db.execute("UPDATE note SET folder = \("odd") WHERE id IN \([1, 3])"), equals: 2)
        try check(db.execute("CREATE TABLE other (x)"), equals: 0)
        try check(db.execute("UPDATE note SET folder = NULL WHERE id = \(9)"), equals: 0)
        try check(db.execute("PRAGMA user_version = 3"), equals: 0)
        try check(db.execute("DELETE FROM note WHERE folder = \("odd")"), equals: 2)
        try check(db.execute("SELECT 1"), equals: 0)
        try check(ids("SELECT id FROM note"), equals: [2, 4, 5])
    }

    @Test func `a queue and a pool run and read statements with values`() async throws {
        let other = try TemporaryDatabase()
        let pool = try other.openPool()
        try await pool.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, folder TEXT, at REAL)")
        try Self.insert(pool)
        let queue = SecureDatabaseQueue(databaseStore: db)
        for database: any SecureDatabaseWriter in [queue, pool] {
            let count = try await database.execute(
                "UPDATE note SET folder = \("x") WHERE id = \(1)")
            check(count, equals: 1)
            let found = try await database.fetchAll("SELECT id FROM note WHERE folder = \("x")") {
                (id: Int) in id
            }
            check(found, equals: [1])
            try await check(
                database.fetchOne(Note.self, "SELECT * FROM note WHERE id = \(2)"),
                equals: Self.notes[1])
            var ids: [Int] = []
            for try await id in database.rows(
                "SELECT id FROM note WHERE id IN \([4, 5])", map: { (id: Int) in id })
            {
                ids.append(id)
            }
            check(ids, equals: [4, 5])
        }
    }

    private static func insert(_ database: any SecureDatabaseWriter) throws {
        for note in notes {
            try database.execute(
                "INSERT INTO note VALUES (\(note.id), \(note.folder), \(note.at))")
        }
    }

    @Test func `a value that cannot be bound is an error of the call`() throws {
        check(
            storageError { _ = try db.execute("INSERT INTO note (id) VALUES (\(UInt64.max))") },
            equals: .typeConversionFailed)
        check(
            storageError { _ = try ids("SELECT \(1) WHERE 1 = ?") }?.resultCode, equals: .range)
        let mixed = storageError {
            _ = try db.fetchAll("SELECT \(1) WHERE 1 = ?", 1) { (id: Int) in id }
        }
        check(mixed?.resultCode, equals: .misuse)
        // Between quotation marks there is no placeholder.
        check(
            storageError { _ = try ids("SELECT id FROM note WHERE folder = '\("even")'") }?
                .resultCode, equals: .range)
        let unknown = storageError { _ = try ids("SELECT \(columnsOf: "none") FROM none") }
        check(unknown?.resultCode, equals: .error)
        check(unknown?.description.contains("none"), equals: true)
    }

    @Test func `a value in place of a column's name is refused where it would sort nothing`() throws
    {
        let column = "id"
        for sql: SQL in [
            "SELECT id FROM note ORDER BY \(column)",
            "SELECT id FROM note order  by\n\(column) DESC",
            "SELECT id FROM note GROUP BY \(column)",
        ] {
            check(storageError { _ = try ids(sql) }?.resultCode, equals: .misuse, "\(sql)")
        }
        try check(
            ids("SELECT id FROM note ORDER BY \(identifier: column) DESC"), equals: [5, 4, 3, 2, 1])
    }

    @Test func `statements that begin or end alike are told apart`() throws {
        for round in 1...3 {
            for id in 1...5 {
                try check(ids("SELECT id FROM note WHERE id = \(id)"), equals: [id], "\(round)")
                try check(ids("SELECT id + 1 FROM note WHERE id = \(id)"), equals: [id + 1])
                try check(ids("SELECT id FROM note WHERE id IN (\(id), \(9))"), equals: [id])
                try check(ids("SELECT -id FROM note WHERE id IN (\(id), \(9))"), equals: [-id])
                let text = "SELECT \(round) * id FROM note WHERE id = "
                try check(ids("\(raw: text)\(id)"), equals: [round * id])
            }
        }
    }

    @Test func `the number of rows is that of the statement, also with a change log`() throws {
        let other = try TemporaryDatabase()
        let db = try other.openStore { $0.keepsChangeLog = true }
        try db.execute("CREATE TABLE note (x)")
        try check(db.execute("INSERT INTO note VALUES (1), (2)"), equals: 2)
        try check(db.execute("CREATE TABLE other (x)"), equals: 0)
        try check(db.execute("DELETE FROM note WHERE x = \(1)"), equals: 1)
    }

    @Test func `a description has no values`() throws {
        let secret = "hunter2"
        let sql: SQL = "SELECT * FROM \(identifier: "a\"b") WHERE x = \(secret) -- \(raw: "raw")"
        check("\(sql)", equals: "SELECT * FROM \"a\"\"b\" WHERE x = ? -- raw")
        check(String(reflecting: sql).contains(secret), equals: false)
        var dumped = ""
        dump(sql, to: &dumped)
        check(dumped.contains(secret), equals: false)
        let columns: SQL = "SELECT \(columnsOf: "ä", as: "b"), \(columnsOf: "c") FROM t"
        check("\(columns)", equals: #"SELECT "b".*, "c".* FROM t"#)
    }

    @Test func `a text that is made at run time has its values in an array`() throws {
        let order = "id DESC"
        try check(
            ids(SQL(raw: "SELECT id FROM note WHERE id > ? ORDER BY \(order)", values: [3])),
            equals: [5, 4])
        try check(
            ids("SELECT id FROM note WHERE id > \(3) ORDER BY \(raw: order)"), equals: [5, 4])
    }

    /// `make campaign NAME=interpolation` runs 10,000 rounds.
    @Test func `hostile texts are values and names, never SQL`() throws {
        var random = SplitMix64(seed: 7)
        let parts = [
            "'", "\"", "`", "]", "[", ";", "--", "/*", "*/", "\\", "?", "?1", ":a", "@b", "$c", "(",
            ")", " OR 1=1", "DROP TABLE note", "\u{301}", "\u{200d}", "🏳️‍🌈", "é", "\n", "%s", "\\(x)",
            "NULL", "x'00'", "\u{feff}", "\u{2028}",
        ]
        for round in 0..<environmentNumber("SECURESTORAGE_ROUNDS", default: 200) {
            let text = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                parts.randomElement(using: &random) ?? ""
            }.joined()
            try check(db.fetchOne(String.self, "SELECT \(text)"), equals: text, "round \(round)")
            try check(
                db.fetchOne(Int.self, "SELECT \(text) IN \(["a", text, "b"])"), equals: 1,
                "round \(round)")
            let table = "t\(round) " + text
            try db.execute("CREATE TABLE \(identifier: table) (\(identifier: text), z)")
            try db.execute("INSERT INTO \(identifier: table) VALUES (\(text), \(round))")
            let found = try db.fetchOne(
                """
                SELECT \(identifier: text), \(columnsOf: table, as: text)
                FROM \(identifier: table) AS \(identifier: text)
                """
            ) { (a: String, b: String, c: Int) in [a, b, String(c)] }
            check(found, equals: [text, text, String(round)], "round \(round)")
            try db.execute("DROP TABLE \(identifier: table)")
        }
        try check(ids("SELECT id FROM note").count, equals: 5)
    }
}
