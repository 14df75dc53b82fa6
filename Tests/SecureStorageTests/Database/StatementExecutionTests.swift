import Foundation
import SecureStorage
import Testing
import TestSupport

struct StatementExecutionTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (a, b, c)")
    }

    private func code(_ body: () throws -> Void) -> Int? {
        guard case .backingStoreError(let code, _) = storageError(body) else { return nil }
        return code
    }

    private func message(_ body: () throws -> Void) -> String {
        storageError(body).map { "\($0)" } ?? "no error"
    }

    /// SQLite treats it as white space.
    @Test func `a byte-order mark may come before, between and after statements`() throws {
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        let mark = "\u{feff}"
        try db.executeStatements(
            "\(mark)CREATE TABLE b (a);\(mark) INSERT INTO b VALUES (1)\(mark);\(mark)\(mark)")
        try db.executeStatements(mark)
        try db.executeUpdate("\(mark)INSERT INTO b VALUES (2);\(mark)")
        try db.executeUpdate("INSERT INTO b VALUES (?) ; -- \n\(mark) ;", values: [3])
        try db.prepare("\(mark) INSERT INTO b VALUES (4);\(mark)").executeUpdate()
        let rs = try db.executeQuery("\(mark)SELECT a FROM b ORDER BY a;\(mark)")
        var found: [Int?] = []
        while try rs.next() { found.append(rs.int(forColumnIndex: 0)) }
        check(found, equals: [1, 2, 3, 4])
        check(storageError { try db.executeUpdate("SELECT 1;\(mark)SELECT 2") }?.code, equals: 1)
        check(storageError { try db.executeUpdate(mark) }?.code, equals: 1)
        // A character that begins with the same bytes is not a byte-order mark.
        check(storageError { try db.executeUpdate("SELECT 1;\u{fefe}") }?.code, equals: 1)
    }

    // MARK: - Batches

    @Test(arguments: ["?", "?1", ":a", "@a", "$a"])
    func `a placeholder in a batch is an error that names a call that accepts values`(
        _ placeholder: String
    ) throws {
        for batch in [
            "INSERT INTO t (a) VALUES (\(placeholder))",
            "INSERT INTO t (a) VALUES (1); SELECT a FROM t WHERE a = \(placeholder)",
            "EXPLAIN DELETE FROM t WHERE a = \(placeholder)",
        ] {
            check(code { try db.executeStatements(batch) }, equals: 25)
            check(message { try db.executeStatements(batch) }.contains("executeUpdate"))
        }
        // The statements before it in the batch have taken effect.
        try check(db.strings("SELECT a FROM t"), equals: ["1", "1"])
        try db.executeStatements("INSERT INTO t (a) VALUES ('?:a@a$a') -- ? :a")
        try check(db.int("SELECT count(*) FROM t"), equals: 3)
    }

    // MARK: - One statement

    @Test(arguments: [
        "INSERT INTO t VALUES (1, 2, 3); DELETE FROM t", "SELECT 1; SELECT 2",
        "INSERT INTO t VALUES (1, 2, 3);;; x", "SELECT 1; /* c */ SELECT 2",
    ])
    func `a second statement in one call is an error and neither runs`(_ sql: String) throws {
        check(code { try db.executeUpdate(sql) }, equals: 1)
        check(code { _ = try db.executeQuery(sql) }, equals: 1)
        check(message { try db.executeUpdate(sql) }.contains("executeStatements"))
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test(arguments: [
        "INSERT INTO t VALUES (1, 2, 3);", "INSERT INTO t VALUES (1, 2, 3) ; ; \n\t",
        "-- before\nINSERT INTO t VALUES (1, 2, 3) -- after",
        "INSERT INTO t VALUES (1,2,3); /* x */",
        "INSERT INTO t VALUES (1, 2, 3); -- no line end", "INSERT INTO t VALUES (1, 2, 3); /* open",
    ])
    func `white space, semicolons and comments around a statement are allowed`(_ sql: String) throws
    {
        try db.executeUpdate(sql)
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }

    @Test(arguments: ["", "  ", ";", "-- nothing", "/* nothing */"])
    func `text without a statement is an error`(_ sql: String) {
        check(message { try db.executeUpdate(sql) }.contains("no SQL statement"))
        check(message { _ = try db.executeQuery(sql) }.contains("no SQL statement"))
    }

    @Test func `a NUL in the SQL text is an error and hides nothing`() throws {
        let sql = "INSERT INTO t VALUES (1, 2, 3)\0; nonsense"
        check(message { try db.executeUpdate(sql) }.contains("NUL"))
        check(message { try db.executeStatements(sql) }.contains("NUL"))
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `an error has SQLite's code and message and the SQL text`() {
        check(code { try db.executeUpdate("SELEC 1") }, equals: 1)
        let message = message { try db.executeUpdate("INSERT INTO missing VALUES (1)") }
        check(message.contains("no such table: missing"))
        check(message.contains("INSERT INTO missing"))
    }

    @Test func `a violated constraint has code 19 and names its extended code`() throws {
        try db.executeUpdate("CREATE TABLE u (a INTEGER PRIMARY KEY, b UNIQUE)")
        try db.executeUpdate("INSERT INTO u VALUES (1, 'x')")
        let insert = { try db.executeUpdate("INSERT INTO u VALUES (2, ?)", values: ["x"]) }
        check(code(insert), equals: 19)
        check(message(insert).contains("UNIQUE constraint failed: u.b"))
        check(message(insert).contains("SQLITE_CONSTRAINT_UNIQUE"))
    }

    @Test func `foreign keys are enforced unless switched off`() throws {
        let schema = """
            CREATE TABLE parent (id INTEGER PRIMARY KEY);
            CREATE TABLE child (parent REFERENCES parent);
            """
        try db.executeStatements(schema)
        check(code { try db.executeUpdate("INSERT INTO child VALUES (1)") }, equals: 19)
        db.close()
        let lax = try database.openStore { $0.foreignKeysEnabled = false }
        try lax.executeUpdate("INSERT INTO child VALUES (1)")
    }

    @Test func `a query that returns no columns is refused before it runs`() throws {
        let error = message { _ = try db.executeQuery("INSERT INTO t VALUES (1, 2, 3)") }
        check(error.contains("executeUpdate"))
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `an update may return rows, which are discarded`() throws {
        try db.executeUpdate("PRAGMA user_version = 7")
        try db.executeUpdate("INSERT INTO t VALUES (1, 2, 3) RETURNING a")
        try db.executeUpdate("EXPLAIN QUERY PLAN SELECT * FROM t")
        try db.executeUpdate("SELECT 1 UNION SELECT 2")
        try db.executeUpdate("VACUUM")
        try check(db.int("PRAGMA user_version"), equals: 7)
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }

    @Test func `a query may insert and return`() throws {
        let rs = try db.executeQuery("INSERT INTO t VALUES (1, 2, ?) RETURNING c", values: ["x"])
        try check(rs.next())
        check(rs.string(forColumnName: "c"), equals: "x")
        try check(!rs.next())
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }

    @Test func `a double-quoted word is a name and never text`() {
        check(code { _ = try db.executeQuery("SELECT \"nonsense\" FROM t") }, equals: 1)
    }

    // MARK: - Values

    @Test(arguments: [0, 1, 2, 4]) func `the number of values must be the number of placeholders`(
        _ count: Int
    ) throws {
        let values = Array(repeating: 1, count: count)
        let insert = { try db.executeUpdate("INSERT INTO t VALUES (?, ?, ?)", values: values) }
        check(code(insert), equals: 25)
        check(message(insert).contains("3 placeholders but \(count) values"))
        check(code { _ = try db.executeQuery("SELECT ?, ?, ?", values: values) }, equals: 25)
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `placeholders without values are an error, not NULL`() {
        check(code { try db.executeUpdate("INSERT INTO t VALUES (?, 1, 2)") }, equals: 25)
        check(code { try db.executeUpdate("INSERT INTO t VALUES (:x, 1, 2)") }, equals: 25)
    }

    @Test(arguments: ["a", ":a", "@a", "$a"]) func `a name may be given with or without its prefix`(
        _ key: String
    ) throws {
        for placeholder in [":a", "@a", "$a"] {
            try db.executeUpdate(
                "INSERT INTO t (a) VALUES (\(placeholder))", parameterDictionary: [key: "v"])
        }
        try check(db.strings("SELECT a FROM t"), equals: ["v", "v", "v"])
    }

    @Test func `one value serves all placeholders of its name`() throws {
        try db.executeUpdate(
            "INSERT INTO t VALUES (:a, @a, :a)", parameterDictionary: ["a": 5])
        try check(db.strings("SELECT a || b || c FROM t"), equals: ["555"])
    }

    @Test func `placeholders of one name are distinguished by their prefixes`() throws {
        try db.executeUpdate(
            "INSERT INTO t VALUES (:a, @a, $a)", parameterDictionary: [":a": 1, "@a": 2, "$a": 3])
        try db.executeUpdate(
            "INSERT INTO t VALUES (:a, @a, $a)", parameterDictionary: ["a": 1, "@a": 2])
        try check(db.strings("SELECT a || b || c FROM t"), equals: ["123", "121"])
        let surplus = message {
            try db.executeUpdate(
                "INSERT INTO t VALUES (:a, @a, 3)", parameterDictionary: [":a": 1, "b": 2])
        }
        check(surplus.contains("no placeholder for the value named b"))
    }

    @Test func `an error names the missing or surplus name`() throws {
        let sql = "INSERT INTO t VALUES (:first, :second, 3)"
        let missing = message { try db.executeUpdate(sql, parameterDictionary: ["first": 1]) }
        check(missing.contains("no value for the placeholder :second"))
        let surplus = message {
            try db.executeUpdate(
                sql, parameterDictionary: ["first": 1, "second": 2, "third": 3])
        }
        check(surplus.contains("no placeholder for the value named third"))
        let unnamed = message {
            try db.executeUpdate("INSERT INTO t VALUES (?, 2, 3)", parameterDictionary: ["a": 1])
        }
        check(unnamed.contains("placeholder 1 has no name"))
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `pairs of names and values are bound by name, in any order`() throws {
        let sql = "INSERT INTO t VALUES (:a, @b, $c)"
        for values in [
            ["a": 1, "b": "two", "c": nil], ["c": nil, "b": "two", "a": 1],
            [":a": 1, "@b": "two", "$c": nil], [":c": nil, "$b": "two", "@a": 1],
        ] as [KeyValuePairs<String, (any SQLiteDatatypeBridgeable)?>] {
            try db.executeUpdate("DELETE FROM t")
            try db.executeUpdate(sql, named: values)
            let rs = try db.executeQuery(
                "SELECT a, b, c FROM t WHERE a = :a AND b = :b", named: ["b": "two", "a": 1])
            try check(rs.next())
            check(rs[0] == .integer(1) && rs[1] == .text("two") && rs[2] == .null)
            rs.close()
        }
        try db.executeUpdate("INSERT INTO t VALUES (:a, :a, :a)", named: ["a": 7])
        try check(db.int("SELECT c FROM t WHERE a = 7"), equals: 7)
    }

    @Test func `pairs that do not match the placeholders are errors that name them`() throws {
        let sql = "INSERT INTO t VALUES (:first, :second, 3)"
        for (values, name) in [
            (["first": 1], ":second"), ([:], ":first"), (["first": 1, "third": 2], ":second"),
            (["first": 1, "second": 2, "third": 3], "third"),
            (["first": 1, "second": 2, "first": 3], "first"),
        ] as [(KeyValuePairs<String, (any SQLiteDatatypeBridgeable)?>, String)] {
            let error = storageError { try db.executeUpdate(sql, named: values) }
            check(error?.code, equals: 25)
            check("\(error as Any)".contains(name), "\(error as Any)")
        }
        for values in [[:], ["a": 1]] as [KeyValuePairs<String, (any SQLiteDatatypeBridgeable)?>] {
            check(
                storageError {
                    try db.executeUpdate("INSERT INTO t VALUES (?, 2, 3)", named: values)
                }?.code, equals: 25)
        }
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `a nil in a dictionary is NULL, not a missing value`() throws {
        try db.executeUpdate(
            "INSERT INTO t VALUES (:a, :b, 3)", parameterDictionary: ["a": nil, "b": 2])
        try check(db.int("SELECT count(*) FROM t WHERE a IS NULL AND b = 2"), equals: 1)
    }

    @Test func `values of one execution do not leak into the next`() throws {
        let sql = "INSERT INTO t (a) VALUES (?)"
        try db.executeUpdate(sql, values: ["first"])
        check(code { try db.executeUpdate(sql) }, equals: 25)
        try db.executeUpdate(sql, values: [nil])
        try check(db.strings("SELECT a FROM t"), equals: ["first", nil])
    }

    @Test func `more placeholders than the engine allows are an error`() {
        let sql = "SELECT ?\(Int32.max)"
        check(code { _ = try db.executeQuery(sql, values: [1]) }, equals: 1)
        let many = "SELECT " + Array(repeating: "?", count: 300_000).joined(separator: ",")
        check(code { _ = try db.executeQuery(many, values: []) } != nil)
    }

    @Test func `a 20 MB blob round-trips`() throws {
        var blob = Data(count: 20_000_000)
        for index in stride(from: 0, to: blob.count, by: 4099) { blob[index] = UInt8(index % 251) }
        try db.executeUpdate("INSERT INTO t (a) VALUES (?)", values: [blob])
        let rs = try db.executeQuery("SELECT a FROM t")
        try check(rs.next())
        check(rs.data(forColumnIndex: 0), equals: blob)
    }

    // MARK: - Batches

    @Test func `a batch delivers its rows as text and NULL as nil`() throws {
        var rows: [[String: String?]] = []
        try db.executeStatements("SELECT 1 AS a, NULL AS b, 'x' AS c, 2.5 AS d, x'4142' AS e") {
            rows.append($0)
            return true
        }
        let expected: [String: String?] = [
            "a": "1", "b": nil, "c": "x", "d": "2.5", "e": "AB",
        ]
        check(rows, equals: [expected])
    }

    @Test func `a batch formats numbers like SQLite and string()`() throws {
        let sql = "SELECT 1e20 AS large, 0.1 + 0.2 AS sum, 1e-9 AS small, 9e999 AS infinite"
        let rs = try db.executeQuery(sql)
        try check(rs.next())
        try db.executeStatements(sql) { row in
            for (name, text) in row { check(text, equals: rs.string(forColumnName: name)) }
            check(row["sum"], equals: "0.3")
            check(row["large"], equals: "1.0e+20")
            return true
        }
    }

    @Test func `an error in a batch shows the failing statement but not those after it`() throws {
        let error = message {
            try db.executeStatements(
                "SELECT ';'; /* ; */ INSERT INTO nope VALUES (';', \"--\") -- ;\n; SELECT 'later'")
        }
        check(error.contains("no such table: nope"))
        check(error.contains("INSERT INTO nope VALUES (';', \"--\")"))
        check(!error.contains("later"))
    }

    @Test func `returning false from the block ends the batch without an error`() throws {
        var seen = 0
        try db.executeStatements("SELECT 1; SELECT 2; INSERT INTO t VALUES (1, 2, 3)") { _ in
            seen += 1
            return false
        }
        check(seen, equals: 1)
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `a batch stops at its first error`() throws {
        let error = message {
            try db.executeStatements(
                "INSERT INTO t VALUES (1,2,3); INSERT INTO nope VALUES (1); DELETE FROM t")
        }
        check(error.contains("no such table: nope"))
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }

    @Test func `a batch with a trigger whose body contains semicolons runs completely`() throws {
        try db.executeStatements(
            """
            -- a schema
            CREATE TRIGGER copy AFTER INSERT ON t WHEN new.a < 2 BEGIN
                INSERT INTO t VALUES (new.a + 1, 'x;y', NULL);
            END; ; /* and a row */
            INSERT INTO t VALUES (1, 2, 3)
            """)
        try check(db.int("SELECT count(*) FROM t"), equals: 2)
    }

    @Test func `a batch of 20,000 statements takes linear time`() throws {
        try db.beginExclusiveTransaction()
        try db.executeStatements(
            String(repeating: "INSERT INTO t VALUES (1, 2, 'some text');\n", count: 20_000))
        try db.commit()
        try check(db.int("SELECT count(*) FROM t"), equals: 20_000)
    }

    // MARK: - Outcomes

    @Test func `row id and change count are those of the last statement`() throws {
        let fresh = try TemporaryDatabase()
        let db = try fresh.openStore()
        try check(db.lastInsertRowId(), equals: 0)
        try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
        try db.executeUpdate("INSERT INTO t VALUES (?, 1)", values: [Int64.max])
        try check(db.lastInsertRowId(), equals: .max)
        try db.executeUpdate("INSERT INTO t (a) VALUES (2), (3)")
        try check(db.changedRowCount(), equals: 2)
        try db.executeUpdate("UPDATE t SET a = 0")
        try check(db.changedRowCount(), equals: 3)
    }

    @Test func `every call on a closed store throws closed`() {
        db.close()
        db.close()
        let calls: [() throws -> Void] = [
            { try db.executeUpdate("SELECT 1") },
            { try db.executeUpdate("SELECT ?", values: [1]) },
            { try db.executeUpdate("SELECT :a", parameterDictionary: ["a": 1]) },
            { try db.executeStatements("SELECT 1") },
            { try db.executeStatements("SELECT 1") { _ in true } },
            { _ = try db.executeQuery("SELECT 1") },
            { _ = try db.executeQuery("SELECT ?", values: [1]) },
            { _ = try db.executeQuery("SELECT :a", parameterDictionary: ["a": 1]) },
            { _ = try db.lastInsertRowId() }, { _ = try db.changedRowCount() },
            { try db.beginExclusiveTransaction() }, { try db.beginDeferredTransaction() },
            { try db.commit() }, { try db.rollback() }, { _ = try db.isInTransaction() },
            { try db.changeEncryptionKey(with: "x") },
            { try db.changeEncryptionKey(with: TemporaryDatabase.key) },
        ]
        for call in calls { check(storageError(call), equals: .closed) }
        check(!db.hasOpenResultSets)
        db.closeOpenResultSets()
        db.clearCachedStatements()
    }
}

/// Calls in which the caller's own code closes the store.
struct ReentrancyTests {
    struct Closer: SQLiteDatatypeBridgeable {
        var store: SecureDatabaseStore?

        init(store: SecureDatabaseStore) { self.store = store }

        init?(sqliteValue: SQLiteValue) { nil }

        var sqliteValue: SQLiteValue {
            store?.close()
            return .integer(1)
        }
    }

    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (a)")
    }

    @Test func `a value that closes the store while being bound ends the call`() throws {
        let values = [Closer(store: db)]
        check(
            storageError { try db.executeUpdate("INSERT INTO t VALUES (?)", values: values) },
            equals: .closed)
        try db.open(with: TemporaryDatabase.key)
        check(storageError { _ = try db.executeQuery("SELECT ?", values: values) }, equals: .closed)
    }

    @Test func `a block that closes the store ends the batch`() throws {
        let error = storageError {
            try db.executeStatements("INSERT INTO t VALUES (4), (5) RETURNING a; SELECT 1") { _ in
                db.close()
                return true
            }
        }
        check(error, equals: .closed)
        try db.open(with: TemporaryDatabase.key)
    }
}
