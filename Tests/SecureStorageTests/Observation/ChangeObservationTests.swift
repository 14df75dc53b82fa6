import Foundation
import SecureStorage
import Testing
import TestSupport

struct ChangeObservationTests {
    // MARK: - What is reported

    @Test(
        arguments: [
            ("INSERT INTO t VALUES (1, 2)", DatabaseChange.Kinds.insert),
            ("UPDATE t SET a = 1", .update),
            ("DELETE FROM t WHERE id = 7", .delete),
            ("DELETE FROM t", .delete),
            ("INSERT INTO t VALUES (7, 1) ON CONFLICT DO UPDATE SET a = 2", .update),
            ("INSERT INTO t VALUES (9, 1) RETURNING id", .insert),
            ("INSERT INTO t (a) SELECT a FROM t; DELETE FROM t WHERE id = 7", [.insert, .delete]),
        ] as [(String, DatabaseChange.Kinds)])
    func `each kind of change is reported by table`(
        _ sql: String, _ kinds: DatabaseChange.Kinds
    ) async throws {
        let observed = try ObservedDatabase(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (7, 7), (8, 8)")
        try await check(observed.tables(changedBy: sql).kinds, equals: ["t": kinds])
    }

    @Test(arguments: [
        "UPDATE t SET a = 1 WHERE id = 99", "DELETE FROM t WHERE id = 99", "SELECT * FROM t",
        "CREATE TABLE IF NOT EXISTS t (a)", "CREATE TEMP TABLE x (a); INSERT INTO x VALUES (1)",
        "INSERT OR IGNORE INTO t VALUES (1, 1)", "UPDATE w SET a = 1 WHERE a = 99", "DELETE FROM u",
    ])
    func `a statement that changes no row is not reported`(_ sql: String) async throws {
        let observed = try ObservedDatabase(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 1);
            CREATE TABLE u (a); CREATE TABLE w (a PRIMARY KEY) WITHOUT ROWID
            """)
        try await check(observed.tables(changedBy: sql).kinds, equals: [:])
    }

    @Test func `row ids are reported on request`() async throws {
        let observed = try ObservedDatabase()
        let tables = try await observed.tables(
            changedBy: "INSERT INTO t VALUES (5, 1), (6, 1); DELETE FROM t WHERE id = 5",
            rowIDs: true)
        check(tables["t"]?.rowIDs, equals: [5, 6])
        let others = try await observed.tables(changedBy: "DELETE FROM t")
        check(others["t"]?.rowIDs, equals: .some(nil))
    }

    @Test func `emptying a table reports each of its rows`() async throws {
        let observed = try ObservedDatabase()
        try observed.run("INSERT INTO t (a) VALUES (1), (2), (3)")
        let tables = try await observed.tables(changedBy: "DELETE FROM t", rowIDs: true)
        check(tables.kinds, equals: ["t": .delete])
        check(tables["t"]?.rowIDs, equals: [1, 2, 3])
    }

    @Test(arguments: [
        "REPLACE INTO t VALUES (9, 1)", "UPDATE OR REPLACE t SET a = 1",
        "UPDATE t SET id = 9 WHERE id = 2", "UPDATE t SET rowid = 9 WHERE id = 2",
    ])
    func `row ids are unknown where rows may have been deleted silently`(_ sql: String) async throws
    {
        let observed = try ObservedDatabase("CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE)")
        try observed.run("INSERT INTO t VALUES (1, 1), (2, 2)")
        let tables = try await observed.tables(changedBy: sql, rowIDs: true)
        check(tables["t"] != nil)
        check(tables["t"]?.rowIDs, equals: .some(nil))
    }

    @Test func `more than 10000 row ids are unknown`() async throws {
        let observed = try ObservedDatabase()
        let insert = """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
            INSERT INTO t (a) SELECT i FROM n
            """
        let few = try await observed.tables(
            changedBy: String(format: insert, 10_000), rowIDs: true)
        check(few["t"]?.rowIDs?.count, equals: 10_000)
        let many = try await observed.tables(
            changedBy: String(format: insert, 10_001), rowIDs: true)
        check(many["t"]?.rowIDs, equals: .some(nil))
    }

    // MARK: - Indirect changes

    @Test func `changes by triggers and foreign keys are reported`() async throws {
        let observed = try ObservedDatabase(
            """
            CREATE TABLE parent (id INTEGER PRIMARY KEY);
            CREATE TABLE child (p REFERENCES parent ON DELETE CASCADE);
            CREATE TABLE other (a PRIMARY KEY, p REFERENCES parent ON DELETE CASCADE) WITHOUT ROWID;
            CREATE TABLE log (a); CREATE TABLE names (a PRIMARY KEY) WITHOUT ROWID;
            CREATE TRIGGER tr AFTER DELETE ON parent BEGIN
                INSERT INTO log VALUES (old.id); INSERT INTO names VALUES (old.id); END;
            INSERT INTO parent VALUES (1); INSERT INTO child VALUES (1); INSERT INTO other VALUES (1, 1)
            """)
        try await check(
            observed.tables(changedBy: "DELETE FROM parent").kinds,
            equals: [
                "parent": .delete, "child": .delete, "other": .delete, "log": .insert,
                "names": .insert,
            ])
    }

    @Test(arguments: ["SELECT note(1)", "INSERT INTO t (a) VALUES (note(1))"])
    func `changes by a function are reported with the statement that calls it`(_ sql: String)
        async throws
    {
        let observed = try ObservedDatabase(
            "CREATE TABLE t (a); CREATE TABLE log (a); CREATE TABLE deep (a)")
        let changed = try await observed.tables { db in
            try db.makeFunction(named: "note") { [unowned db] _ in
                try db.executeUpdate("INSERT INTO log VALUES (deep())")
                return 1
            }
            try db.makeFunction(named: "deep") { [unowned db] _ in
                try db.executeUpdate("INSERT INTO deep VALUES (1)")
                return 1
            }
            try db.executeStatements(sql)
        }
        var kinds: [String: DatabaseChange.Kinds] = ["log": .insert, "deep": .insert]
        if sql.hasPrefix("INSERT") { kinds["t"] = .insert }
        check(changed.kinds, equals: kinds)
    }

    @Test func `tables without row ids and full-text tables are reported`() async throws {
        let observed = try ObservedDatabase(
            """
            CREATE TABLE w (a PRIMARY KEY, b) WITHOUT ROWID;
            CREATE VIRTUAL TABLE f USING fts5(x)
            """)
        try await check(
            observed.tables(changedBy: "INSERT INTO w VALUES (1, 2)").kinds, equals: ["w": .insert])
        try await check(observed.tables(changedBy: "DELETE FROM w").kinds, equals: ["w": .delete])
        try await check(
            observed.tables(changedBy: "INSERT INTO f VALUES ('word')").kinds,
            equals: ["f": .insert])
        // The second time, the statement is already prepared.
        for _ in 1...2 {
            let tables = try await observed.tables { db in
                try db.executeUpdate("INSERT INTO f VALUES (?)", values: ["another"])
            }
            check(tables.kinds, equals: ["f": .insert])
        }
        try await check(observed.tables(changedBy: "DELETE FROM f").kinds, equals: ["f": .delete])
    }

    @Test(
        arguments: [
            ("CREATE TABLE n (a)", ["n": DatabaseChange.Kinds.insert]),
            ("ALTER TABLE t ADD COLUMN b", ["t": .update]),
            ("CREATE INDEX i ON t (a)", [:]),
            ("CREATE VIEW v AS SELECT * FROM t", [:]),
            ("DROP TABLE t", ["t": .delete]),
        ] as [(String, [String: DatabaseChange.Kinds])])
    func `a change of the schema is reported`(
        _ sql: String, _ expected: [String: DatabaseChange.Kinds]
    ) async throws {
        let observed = try ObservedDatabase()
        try observed.run("INSERT INTO t VALUES (1, 2)")
        var kinds = try await observed.tables(changedBy: sql).kinds
        check(kinds.removeValue(forKey: "sqlite_schema") != nil)
        check(kinds.filter { expected.keys.contains($0.key) }, equals: expected)
    }

    @Test func `everything that can be dropped can be dropped while it is observed`() async throws {
        let observed = try ObservedDatabase(
            """
            CREATE TABLE a (x); CREATE INDEX i ON a (x); CREATE VIEW v AS SELECT * FROM a;
            CREATE TRIGGER tr AFTER INSERT ON a BEGIN DELETE FROM a; END;
            CREATE VIRTUAL TABLE f USING fts5(x); CREATE TEMP TABLE b (x)
            """)
        let drops = """
            DROP TRIGGER tr; DROP VIEW v; DROP INDEX i; DROP TABLE a; DROP TABLE f; DROP TABLE b
            """
        try await check(observed.tables(changedBy: drops)["a"]?.kinds, equals: .delete)
        let left = try await observed.queue.inDatabase {
            try $0.strings(
                "SELECT name FROM sqlite_schema UNION SELECT name FROM sqlite_temp_schema")
        }
        check(left, equals: ["marker"])
    }

    // MARK: - Transactions

    @Test(
        arguments: [
            ("BEGIN; INSERT INTO t VALUES (1, 1); ROLLBACK", [:]),
            ("BEGIN; INSERT INTO t VALUES (1, 1); COMMIT", ["t": DatabaseChange.Kinds.insert]),
            (
                """
                BEGIN; INSERT INTO u VALUES (1); SAVEPOINT s; INSERT INTO t VALUES (1, 1);
                ROLLBACK TO s; RELEASE s; COMMIT
                """, ["u": .insert]
            ),
            (
                """
                SAVEPOINT one; SAVEPOINT two; INSERT INTO t VALUES (1, 1); RELEASE two;
                INSERT INTO u VALUES (1); RELEASE one
                """, ["t": .insert, "u": .insert]
            ),
            (
                """
                SAVEPOINT s; INSERT INTO t VALUES (1, 1); SAVEPOINT S; INSERT INTO u VALUES (1);
                ROLLBACK TO s; INSERT INTO w VALUES (1); RELEASE s; RELEASE s
                """, ["t": .insert, "w": .insert]
            ),
            (
                """
                SAVEPOINT one; INSERT INTO t VALUES (1, 1); SAVEPOINT two; INSERT INTO u VALUES (1);
                ROLLBACK TO one; INSERT INTO w VALUES (1); RELEASE one
                """, ["w": .insert]
            ),
            ("BEGIN; CREATE TABLE n (a); ROLLBACK; INSERT INTO u VALUES (1)", ["u": .insert]),
            ("BEGIN; INSERT INTO w VALUES (1); INSERT OR ROLLBACK INTO w VALUES (1)", [:]),
            ("INSERT OR FAIL INTO w VALUES (1), (1)", ["w": .insert]),
            ("INSERT INTO w VALUES (1), (1)", [:]),
            ("INSERT INTO t VALUES (1, 1), (1, 1)", [:]),
            ("INSERT OR FAIL INTO t VALUES (1, 1), (1, 1)", ["t": .insert]),
        ] as [(String, [String: DatabaseChange.Kinds])])
    func `rolled-back changes are not reported`(
        _ sql: String, _ kinds: [String: DatabaseChange.Kinds]
    ) async throws {
        let observed = try ObservedDatabase(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, a); CREATE TABLE u (a);
            CREATE TABLE w (a PRIMARY KEY) WITHOUT ROWID
            """)
        try await check(observed.tables(changedBy: sql).kinds, equals: kinds)
    }

    @Test func `a failed statement in a committed transaction is not reported`() async throws {
        let observed = try ObservedDatabase()
        let tables = try await observed.tables { db in
            try db.beginExclusiveTransaction()
            try? db.executeUpdate("INSERT INTO t VALUES (1, 1), (1, 1)")
            try db.executeUpdate("INSERT INTO u VALUES (1)")
            try db.commit()
        }
        check(tables.kinds, equals: ["u": .insert])
    }

    @Test func `a failed commit is reported once it succeeds`() async throws {
        let observed = try ObservedDatabase(
            """
            CREATE TABLE p (id INTEGER PRIMARY KEY);
            CREATE TABLE c (p REFERENCES p DEFERRABLE INITIALLY DEFERRED)
            """)
        let rolledBack = try await observed.tables { db in
            try db.executeStatements("BEGIN; INSERT INTO c VALUES (1)")
            check(storageError { try db.commit() } != nil)
            try db.rollback()
        }
        check(rolledBack.kinds, equals: [:])
        let repaired = try await observed.tables { db in
            try db.executeStatements("BEGIN; INSERT INTO c VALUES (1)")
            check(storageError { try db.commit() } != nil)
            try db.executeStatements("INSERT INTO p VALUES (1); COMMIT")
        }
        check(repaired.kinds, equals: ["c": .insert, "p": .insert])
    }

    @Test func `the changes of a failed nested block are not reported`() async throws {
        let observed = try ObservedDatabase()
        let tables = try await observed.tables { db in
            try observed.queue.inExclusiveTransaction { db in
                try db.executeUpdate("INSERT INTO t VALUES (1, 1)")
                try? observed.queue.inExclusiveTransaction { db in
                    try db.executeUpdate("INSERT INTO u VALUES (1)")
                    throw ObservedDatabase.UnknownTables()
                }
                return false
            }
        }
        check(tables.kinds, equals: ["t": .insert])
    }

    @Test func `a result set that is closed early has committed its changes`() async throws {
        let observed = try ObservedDatabase()
        let tables = try await observed.tables { db in
            let rs = try db.executeQuery("INSERT INTO t VALUES (1, 1), (2, 1) RETURNING id")
            _ = try rs.next()
            rs.close()
        }
        check(tables.kinds, equals: ["t": .insert])
    }

    @Test func `a prepared statement is observed like any other`() async throws {
        let observed = try ObservedDatabase()
        let tables = try await observed.tables(rowIDs: true) { db in
            let insert = try db.prepare("INSERT INTO t VALUES (?, 1)")
            for number in 1...3 { try insert.executeUpdate(values: [number]) }
        }
        check(tables["t"]?.rowIDs, equals: [1, 2, 3])
    }

    @Test func `a transaction begun before the observation is reported without its tables`()
        async throws
    {
        let observed = try ObservedDatabase()
        // On the store itself: a queue's block cannot leave a transaction open.
        let store = observed.queue.databaseStore
        try store.executeStatements("BEGIN; INSERT INTO t VALUES (1, 1)")
        var iterator = observed.queue.changes().makeAsyncIterator()
        // Waits until the observer has had its turn in the queue.
        check(storageError { try observed.run("SELECT 1") }?.code, equals: 21)
        try store.executeStatements("INSERT INTO u VALUES (1); COMMIT")
        let change = await iterator.next()
        check(change?.hasUnknownTables, equals: true)
        check(change?.mayAffect("t"), equals: true)
    }

    // MARK: - Observers

    @Test func `each observer receives changes of its own tables only`() async throws {
        let observed = try ObservedDatabase()
        var first = observed.queue.changes(in: ["T"]).makeAsyncIterator()
        var second = observed.queue.changes(in: ["u", "marker"]).makeAsyncIterator()
        try observed.run("INSERT INTO u VALUES (1)")
        try observed.run("INSERT INTO t VALUES (1, 1); INSERT INTO marker VALUES (1)")
        await check(first.next()?.tables.keys.sorted(), equals: ["t"])
        await check(second.next()?.tables.keys.sorted(), equals: ["marker", "u"])
    }

    @Test func `a slow observer receives the union of the changes it missed`() async throws {
        let observed = try ObservedDatabase()
        var iterator = observed.queue.changes(rowIDs: true).makeAsyncIterator()
        for number in 1...100 { try observed.run("INSERT INTO t VALUES (\(number), 1)") }
        try observed.run("DELETE FROM t WHERE id = 1")
        let change = await iterator.next()
        check(change?.tables.kinds, equals: ["t": [.insert, .delete]])
        check(change?.tables["t"]?.rowIDs, equals: Set(1...100))
        try observed.run("INSERT INTO u VALUES (1)")
        await check(iterator.next()?.tables.kinds, equals: ["u": .insert])
    }

    @Test func `changes arrive in commit order`() async throws {
        let observed = try ObservedDatabase()
        let (stream, received) = AsyncStream.makeStream(of: Set<Int64>.self)
        let changes = observed.queue.changes(in: ["t"], rowIDs: true)
        let observer = Task {
            received.yield([])
            for await change in changes { received.yield(change.tables["t"]?.rowIDs ?? []) }
        }
        var seen: [Int64] = []
        var iterator = stream.makeAsyncIterator()
        _ = await iterator.next()
        // The observer starts a moment later.
        try await Task.sleep(for: .milliseconds(100))
        for number in 1...50 { try observed.run("INSERT INTO t VALUES (\(number), 1)") }
        while seen.last != 50, let rows = await iterator.next() { seen += rows.sorted() }
        check(seen, equals: Array(1...50))
        observer.cancel()
        await observer.value
    }

    @Test func `cancelling the task ends the sequence and releases the observer`() async throws {
        let observed = try ObservedDatabase()
        weak var queue: SecureDatabaseQueue?
        do {
            let own = SecureDatabaseQueue(databaseStore: observed.queue.databaseStore)
            queue = own
            let changes = own.changes()
            let task = Task {
                var count = 0
                for await _ in changes { count += 1 }
                return count
            }
            try await Task.sleep(for: .milliseconds(50))
            task.cancel()
            _ = await task.value
        }
        // The observer's last turn ends a moment later.
        try observed.run("INSERT INTO t VALUES (1, 1)")
        for _ in 1...12_000 where queue != nil { try await Task.sleep(for: .milliseconds(5)) }
        check(queue == nil)
    }

    @Test func `releasing an iterator releases its observer`() async throws {
        let observed = try ObservedDatabase()
        weak var queue: SecureDatabaseQueue?
        func observe() {
            let own = SecureDatabaseQueue(databaseStore: observed.queue.databaseStore)
            queue = own
            _ = own.changes().makeAsyncIterator()
        }
        observe()
        try observed.run("INSERT INTO t VALUES (1, 1)")
        for _ in 1...12_000 where queue != nil { try await Task.sleep(for: .milliseconds(5)) }
        check(queue == nil)
    }

    @Test func `a cancelled task receives nothing`() async throws {
        let observed = try ObservedDatabase()
        let queue = observed.queue
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            var iterator = queue.changes().makeAsyncIterator()
            return await iterator.next()
        }
        task.cancel()
        await check(task.value == nil)
    }

    @Test func `reopening the file reports that anything may have changed`() async throws {
        let observed = try ObservedDatabase()
        var iterator = observed.queue.changes(in: ["t"]).makeAsyncIterator()
        try await observed.queue.inDatabase { db in
            db.close()
            try db.open(with: TemporaryDatabase.key)
        }
        await check(iterator.next()?.hasUnknownTables, equals: true)
        try observed.run("INSERT INTO t VALUES (1, 1)")
        await check(iterator.next()?.tables.kinds, equals: ["t": .insert])
    }

    @Test func `a pool reports its own writes`() async throws {
        let database = try TemporaryDatabase()
        let pool = try database.openPool()
        try setUp(pool)
        var iterator = pool.changes(in: ["t"], rowIDs: true).makeAsyncIterator()
        try insert(7, into: pool)
        let change = await iterator.next()
        check(change?.tables["t"]?.kinds, equals: .insert)
        check(change?.tables["t"]?.rowIDs, equals: [7])
        check(change?.includesForeign, equals: false)
    }

    private func setUp(_ pool: SecureDatabasePool) throws {
        try pool.write { try $0.executeStatements("CREATE TABLE t (id INTEGER PRIMARY KEY)") }
    }

    private func insert(_ number: Int, into pool: SecureDatabasePool) throws {
        try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (?)", values: [number]) }
    }
}
