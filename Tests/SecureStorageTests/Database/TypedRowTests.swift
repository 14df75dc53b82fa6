import Foundation
import SecureStorage
import Testing
import TestSupport

/// Rows whose columns have the types of a closure's parameters.
struct TypedRowTests {
    private struct Note: Equatable, Sendable {
        var id: Int64
        var text: String
        var at: Date?
    }

    private static func makeNotes(_ db: SecureDatabaseStore) throws {
        try db.executeStatements(
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, at INTEGER, body BLOB, price REAL);
            INSERT INTO note VALUES
                (1, 'milk', 100, x'0102', 1.5), (2, 'bread', NULL, x'', 2), (3, '', 300, NULL, -1);
            """)
    }

    private static let expected = [
        Note(id: 1, text: "milk", at: Date(timeIntervalSince1970: 100)),
        Note(id: 2, text: "bread", at: nil),
        Note(id: 3, text: "", at: Date(timeIntervalSince1970: 300)),
    ]

    @Test func `all rows have the types of the closure's parameters`() throws {
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        try Self.makeNotes(db)
        let notes = try db.fetchAll("SELECT id, text, at FROM note ORDER BY id") {
            (id: Int64, text: String, at: Date?) in Note(id: id, text: text, at: at)
        }
        check(notes, equals: Self.expected)
        let some = try db.fetchAll(
            "SELECT id, text FROM note WHERE id > ? AND text <> ?", 1, ""
        ) { (id: Int, text: String) in "\(id) \(text)" }
        check(some, equals: ["2 bread"])
    }

    @Test func `every type that a column can be read as is a parameter`() throws {
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        enum Color: String, SQLiteDatatypeBridgeable { case red }
        let row = try db.fetchOne(
            "SELECT 1, 2, 3.5, 'red', x'0a0b', x'0c', 1, 7, 9, NULL, NULL, 'four'"
        ) {
            (
                a: Int, b: UInt8, c: Double, d: Color, e: Data, f: [UInt8], g: Bool, h: Int64?,
                i: Float, j: [UInt8]?, k: String?, l: SQLiteValue
            ) in
            "\(a) \(b) \(c) \(d) \(Array(e)) \(f) \(g) \(h ?? 0) \(i) \(j == nil) \(k == nil) \(l)"
        }
        check(
            row, equals: "1 2 3.5 red [10, 11] [12] true 7 9.0 true true text(\"four\")")
        try check(db.fetchOne("SELECT NULL") { (value: SQLiteValue) in value }, equals: .null)
        try check(db.fetchOne("SELECT 1 WHERE 0") { (value: Int) in value } == nil)
    }

    @Test func `a value that does not fit is an error that names its column, and not the value`()
        throws
    {
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        try Self.makeNotes(db)
        let null = storageError {
            _ = try db.fetchAll("SELECT id, at FROM note ORDER BY id") { (id: Int, at: Date) in at }
        }
        check(null?.resultCode, equals: .mismatch)
        check(null?.description.contains("column 2, \"at\", is NULL"), equals: true, "\(null!)")
        let wrong = storageError {
            _ = try db.fetchAll("SELECT text AS secret FROM note") { (text: Int) in text }
        }
        check(wrong?.resultCode, equals: .mismatch)
        check(
            wrong?.description.contains("\"secret\", holds a TEXT that is not a Int"), equals: true)
        check(wrong?.description.contains("milk"), equals: false)
        let lossy = storageError {
            _ = try db.fetchOne("SELECT 300 AS large") { (number: UInt8) in number }
        }
        check(lossy?.description.contains("holds an INTEGER that is not a UInt8"), equals: true)
        check(!db.hasOpenResultSets)
    }

    @Test func `another number of columns is an error that lists them`() throws {
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        try Self.makeNotes(db)
        let few = storageError {
            _ = try db.fetchAll("SELECT id FROM note") { (id: Int, text: String) in text }
        }
        check(few?.resultCode, equals: .range)
        let many = storageError {
            _ = try db.fetchAll("SELECT id, text, at FROM note") { (id: Int, text: String) in text }
        }
        check(many?.resultCode, equals: .range)
        check(many?.description.contains("3 columns, and the closure takes 2"), equals: true)
        check(many?.description.contains("id, text, at"), equals: true)
    }

    @Test func `a result set gives its current row`() throws {
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        try Self.makeNotes(db)
        let rs = try db.executeQuery("SELECT id, price FROM note ORDER BY id")
        let early = storageError { try rs.row { (_: Int, _: Double) in } }
        check(early?.resultCode, equals: .misuse)
        var prices: [Double] = []
        while try rs.next() {
            prices.append(try rs.row { (id: Int, price: Double) in price * Double(id) })
        }
        check(prices, equals: [1.5, 4, -3])
    }

    @Test func `a closure that throws, or closes the store, ends the call with an error`() throws {
        struct Refused: Error {}
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        try Self.makeNotes(db)
        #expect(throws: Refused.self) {
            try db.fetchAll("SELECT id FROM note") { (_: Int) -> Int in throw Refused() }
        }
        check(!db.hasOpenResultSets)
        let closed = storageError {
            _ = try db.fetchAll("SELECT id FROM note") { (id: Int) -> Int in
                db.close()
                return id
            }
        }
        check(closed, equals: .closed)
    }

    @Test func `queues and pools fetch rows, also in tasks and as a sequence`() async throws {
        let database = try TemporaryDatabase()
        let pool = SecureDatabasePool(fullDatabasePath: database.path)
        try await pool.open(with: .raw(SecretBytes(copying: TemporaryDatabase.key)))
        defer { pool.close() }
        try await pool.write { try Self.makeNotes($0) }
        try Self.fetchInThread(pool)
        let notes = try await pool.fetchAll(
            "SELECT id, text, at FROM note WHERE id < ? ORDER BY id", 4
        ) { (id: Int64, text: String, at: Date?) in Note(id: id, text: text, at: at) }
        check(notes, equals: Self.expected)
        let one = try await pool.fetchOne("SELECT text FROM note WHERE id = ?", 2) {
            (text: String) in text
        }
        check(one, equals: "bread")
        var texts: [String] = []
        let rows = pool.rows("SELECT id, text FROM note WHERE id <> ? ORDER BY id", 2) {
            (id: Int, text: String) in "\(id)\(text)"
        }
        for try await text in rows { texts.append(text) }
        check(texts, equals: ["1milk", "3"])
    }

    private static func fetchInThread(_ database: any SecureDatabaseReader) throws {
        let notes = try database.fetchAll("SELECT id, text, at FROM note ORDER BY id") {
            (id: Int64, text: String, at: Date?) in Note(id: id, text: text, at: at)
        }
        check(notes, equals: expected)
        let one = try database.fetchOne("SELECT text FROM note WHERE id = ?", 1) {
            (text: String) in text
        }
        check(one, equals: "milk")
    }

    @Test func `bytes are stored and read as an array`() throws {
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        let bytes = (0..<1000).map { UInt8($0 % 256) }
        try db.executeUpdate("CREATE TABLE t (x)")
        try db.executeUpdate("INSERT INTO t VALUES (?), (?)", values: [bytes, [UInt8]()])
        let rs = try db.executeQuery("SELECT x, typeof(x) FROM t")
        try check(rs.next())
        check(rs.bytes(forColumnIndex: 0), equals: bytes)
        check(rs.bytes(forColumnName: "X"), equals: bytes)
        check(rs.data(forColumnIndex: 0), equals: Data(bytes))
        check(rs.string(forColumnIndex: 1), equals: "blob")
        try check(rs.next())
        check(rs.bytes(forColumnIndex: 0), equals: [])
        rs.close()
        // As a property of a row: a blob, or JSON as it was stored before.
        struct Row: Decodable { var x: [UInt8] }
        try check(db.fetchOne(Row.self, "SELECT x'0102' AS x")?.x, equals: [1, 2])
        try check(db.fetchOne(Row.self, "SELECT '[1, 2]' AS x")?.x, equals: [1, 2])
    }
}
