import Foundation
import SecureStorage
import Testing
import TestSupport

struct QueryPlanTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeStatements(
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, at INTEGER, text TEXT);
            CREATE INDEX note_at ON note (at);
            CREATE TABLE tag (note INTEGER, name TEXT);
            """)
    }

    @Test func `a plan is a tree, drawn as the sqlite3 shell does`() throws {
        let plan = try db.explain(
            """
            SELECT text FROM note WHERE at > ? AND id IN (SELECT note FROM tag WHERE name = 'secret')
            UNION SELECT name FROM tag ORDER BY 1
            """)
        check(plan.detail, equals: "QUERY PLAN")
        check(plan.children.count, equals: 1)
        check(plan.children.first?.children.isEmpty, equals: false)
        check(!plan.description.contains("secret"))
        for line in plan.description.split(separator: "\n").dropFirst() {
            check(line.contains("|--") || line.contains("`--"))
        }
    }

    @Test(.enabled(if: SQLCipherShell.isInstalled))
    func `a plan has the lines of the sqlcipher shell`() throws {
        let queries = [
            "SELECT * FROM note", "SELECT text FROM note WHERE at > 5 ORDER BY text",
            "SELECT * FROM note JOIN tag ON note.id = tag.note WHERE at = 1 GROUP BY name",
            "SELECT (SELECT name FROM tag WHERE note = id) FROM note UNION SELECT 1 ORDER BY 1",
            "DELETE FROM note WHERE id IN (SELECT note FROM tag UNION ALL SELECT 5)",
        ]
        for query in queries {
            let shell = try SQLCipherShell(
                database.path, key: "x'\(TemporaryDatabase.key.hex)'",
                "EXPLAIN QUERY PLAN \(query);")
            try check(db.explain(query).description, equals: shell.lines.joined(separator: "\n"))
        }
    }

    @Test func `the statement does not run`() throws {
        _ = try db.explain("INSERT INTO tag VALUES (1, 'a')")
        _ = try db.explain("DROP TABLE tag")
        try check(db.explain("BEGIN").children.isEmpty)
        try check(db.isInTransaction(), equals: false)
        try check(db.int(forQuery: "SELECT count(*) FROM tag"), equals: 0)
    }

    @Test func `a statement that cannot be prepared is an error`() throws {
        for sql in ["SELECT nothing FROM note", "", "SELECT 1; SELECT 2", "EXPLAIN SELECT 1"] {
            check(storageError { _ = try db.explain(sql) }?.code, equals: 1)
        }
    }
}
