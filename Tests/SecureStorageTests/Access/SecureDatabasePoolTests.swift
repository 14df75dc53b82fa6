import Foundation
import SecureStorage
import Testing
import TestSupport

struct SecureDatabasePoolTests {
    let database: TemporaryDatabase
    let pool: SecureDatabasePool

    init() throws {
        database = try TemporaryDatabase()
        pool = try database.openPool()
        try pool.write { try $0.executeUpdate("CREATE TABLE t (a INTEGER)") }
    }

    struct Failure: Error {}

    private func rows() throws -> [String?] {
        try pool.read { try $0.strings("SELECT a FROM t ORDER BY rowid") }
    }

    // MARK: - Reading

    @Test func `a read sees earlier writes and returns its block's value`() throws {
        try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        try check(pool.read { try $0.int("SELECT a FROM t") }, equals: 1)
        #expect(throws: Failure.self) { try pool.read { _ in throw Failure() } }
        let block: (SecureDatabaseStore) throws -> Int? = { try $0.int("SELECT 7") }
        try check(pool.read(block), equals: 7)
        try check(pool.write(block), equals: 7)
        try check(pool.writeWithoutTransaction(block), equals: 7)
        check(pool.databaseURL, equals: database.url)
    }

    @Test func `a read's snapshot does not change`() throws {
        try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        let counts = try pool.read { db in
            // Not even a write before the read's first statement changes it.
            try inAnotherThread { pool in
                try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (2)") }
            }
            let before = try db.int("SELECT count(*) FROM t")
            try inAnotherThread { pool in
                try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (3)") }
                // The checkpoint may be refused while the read runs.
                _ = try? pool.checkpoint()
            }
            return [before, try db.int("SELECT count(*) FROM t")]
        }
        check(counts, equals: [1, 1])
        try check(rows(), equals: ["1", "2", "3"])
    }

    @Test func `a read cannot end its snapshot`() throws {
        for sql in ["COMMIT", "END", "ROLLBACK", "BEGIN"] {
            try pool.read { db in
                check(storageError { try db.executeUpdate(sql) }?.code, equals: 21)
                try inAnotherThread { pool in
                    try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
                }
                check(storageError { try db.commit() }?.code, equals: 21)
                let before = try db.int("SELECT count(*) FROM t")
                try inAnotherThread { pool in
                    try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
                }
                try check(db.int("SELECT count(*) FROM t"), equals: before)
            }
        }
    }

    @Test func `a read refuses writes with code 8`() throws {
        for sql in ["INSERT INTO t VALUES (1)", "DROP TABLE t", "PRAGMA user_version = 5"] {
            let error = storageError { try pool.read { try $0.executeUpdate(sql) } }
            check(error?.code, equals: 8, "\(sql): \(String(describing: error))")
        }
        try check(rows().isEmpty)
    }

    @Test func `a read that throws or leaves things open does not affect the next one`() throws {
        try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1), (2)") }
        nonisolated(unsafe) var leaked: SecureDatabaseResultSet?
        for round in 1...10 {
            #expect(throws: Failure.self) {
                try pool.read { db in
                    try db.executeUpdate("CREATE TEMP TABLE own (x)")
                    let rs = try db.executeQuery("SELECT a FROM t")
                    _ = try rs.next()
                    leaked = rs
                    throw Failure()
                }
            }
            check(storageError { _ = try leaked?.next() }, equals: .closed)
            try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (3)") }
            let count = try pool.read { db in
                check(!db.hasOpenResultSets)
                return try db.int("SELECT count(*) FROM t")
            }
            check(count, equals: round + 2)
        }
    }

    @Test func `closing the store in a block affects only that block`() throws {
        check(
            storageError {
                try pool.read { db in
                    db.close()
                    _ = try db.int("SELECT 1")
                }
            }, equals: .closed)
        check(
            storageError {
                try pool.write { db in
                    try db.executeUpdate("INSERT INTO t VALUES (1)")
                    db.close()
                }
            }, equals: .closed)
        try pool.writeWithoutTransaction { $0.close() }
        try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (2)") }
        try check(rows(), equals: ["2"])
        pool.close()
        try check(database.fileNames(), equals: ["test.db"])
    }

    // MARK: - Writing

    @Test func `a write is a transaction, committed at its end and rolled back when it throws`()
        throws
    {
        let value = try pool.write { db in
            try check(db.isInTransaction())
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            return 5
        }
        check(value, equals: 5)
        #expect(throws: Failure.self) {
            try pool.write { db in
                try db.executeUpdate("INSERT INTO t VALUES (2)")
                throw Failure()
            }
        }
        try check(rows(), equals: ["1"])
    }

    @Test func `a write that cannot begin or commit throws, and the pool stays usable`() throws {
        let impatient = SecureDatabasePool(
            fullDatabasePath: database.path,
            configuration: database.store { $0.busyTimeout = .milliseconds(10) }.configuration)
        try impatient.open(with: .raw(TemporaryDatabase.key))
        var ran = false
        let busy = try pool.write { _ in
            storageError { try impatient.write { _ in ran = true } }
        }
        check(busy?.code, equals: 5)
        check(!ran)
        try pool.write { db in
            try db.executeStatements(
                """
                CREATE TABLE parent (id INTEGER PRIMARY KEY);
                CREATE TABLE child (p REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
                """)
        }
        let violated = storageError {
            try pool.write { try $0.executeUpdate("INSERT INTO child VALUES (7)") }
        }
        check(violated?.code, equals: 19)
        try check(pool.read { try $0.int("SELECT count(*) FROM child") }, equals: 0)
        try impatient.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        try check(rows(), equals: ["1"])
    }

    @Test func `writeWithoutTransaction runs VACUUM and rolls back a transaction left open`()
        throws
    {
        try pool.writeWithoutTransaction { db in
            try check(!db.isInTransaction())
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            try db.executeUpdate("VACUUM")
        }
        let error = storageError {
            try pool.writeWithoutTransaction { db in
                try db.beginImmediateTransaction()
                try db.executeUpdate("INSERT INTO t VALUES (2)")
            }
        }
        check(error?.code, equals: 21)
        check(error?.description.contains("left a transaction open"), equals: true)
        #expect(throws: Failure.self) {
            try pool.writeWithoutTransaction { db in
                try db.beginImmediateTransaction()
                throw Failure()
            }
        }
        try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (3)") }
        try check(rows(), equals: ["1", "3"])
    }

    @Test func `a checkpoint moves the log into the file`() throws {
        try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        let moved = try pool.checkpoint(.full)
        check(moved.logFrames > 0 && moved.logFrames == moved.checkpointedFrames)
        try check(pool.checkpoint(.truncate) == (0, 0))
        check(storageError { try pool.write { _ in _ = try pool.checkpoint() } }?.code, equals: 6)
        check(storageError { try pool.read { _ in _ = try pool.checkpoint() } }?.code, equals: 21)
    }

    // MARK: - Nesting

    @Test func `a read in a read runs on the same snapshot`() throws {
        // More levels than there are readers.
        func nested(_ depth: Int, in outer: SecureDatabaseStore) throws -> Int? {
            try pool.read { db in
                check(db === outer)
                return depth == 0
                    ? try db.int("SELECT count(*) FROM t") : try nested(depth - 1, in: db)
            }
        }
        let count = try pool.read { db in
            let rs = try db.executeQuery("SELECT 1 UNION SELECT 2")
            try check(rs.next())
            try inAnotherThread { pool in
                try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
            }
            let count = try nested(10, in: db)
            check(rs.int(forColumnIndex: 0), equals: 1, "the outer result set stays open")
            return count
        }
        check(count, equals: 0)
    }

    @Test func `a read in a write sees its changes`() throws {
        try pool.write { db in
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            try check(rows(), equals: ["1"])
            let other = Shared<[String?]>(["unread"])
            try inAnotherThread { pool in
                let rows = try pool.read { try $0.strings("SELECT a FROM t") }
                other.withLock { $0 = rows }
            }
            check(other.current, equals: [])
        }
    }

    @Test func `a write in a write is a savepoint`() throws {
        try pool.write { db in
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            #expect(throws: Failure.self) {
                try pool.write { inner in
                    check(inner === db)
                    try inner.executeUpdate("INSERT INTO t VALUES (2)")
                    throw Failure()
                }
            }
            try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (3)") }
            try pool.writeWithoutTransaction { try $0.executeUpdate("INSERT INTO t VALUES (4)") }
        }
        try pool.writeWithoutTransaction { _ in
            try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (5)") }
        }
        try check(rows(), equals: ["1", "3", "4", "5"])
    }

    @Test func `a write in a read is an error that names the mistake`()
        throws
    {
        for call in [
            { try pool.write { _ in } }, { try pool.writeWithoutTransaction { _ in } },
        ] {
            let error = storageError { try pool.read { _ in try call() } }
            check(error?.code, equals: 21)
            check(error?.description.contains("end the read first"), equals: true)
        }
        // Also with another pool's block in between.
        let other = SecureDatabasePool(fullDatabasePath: try TemporaryDatabase().path)
        try other.open(with: .raw(TemporaryDatabase.key))
        let error = storageError {
            try pool.read { _ in try other.write { _ in try pool.write { _ in } } }
        }
        check(error?.code, equals: 21)
    }

    @Test func `blocks of other pools and queues may come in between`()
        throws
    {
        let second = try TemporaryDatabase()
        let other = SecureDatabasePool(fullDatabasePath: second.path)
        try other.open(with: .raw(TemporaryDatabase.key))
        let third = try TemporaryDatabase()
        let queue = SecureDatabaseQueue(databaseStore: try third.openStore())
        let count = try pool.write { db in
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            return try queue.inDatabase { _ in
                try other.read { _ in
                    try queue.inDatabase { _ in try pool.read { try $0.int("SELECT a FROM t") } }
                }
            }
        }
        check(count, equals: 1)
    }

    @Test func `FMDB FMDatabasePool inDatabase:, inTransaction: are read and write`() throws {
        try pool.write { db in
            try db.executeUpdate("INSERT INTO t VALUES (?)", values: [1])
            try db.executeUpdate("INSERT INTO t VALUES (?)", values: [2])
        }
        // `*rollback = YES` becomes a thrown error.
        #expect(throws: Failure.self) {
            try pool.write { db in
                try db.executeUpdate("DELETE FROM t")
                throw Failure()
            }
        }
        try check(pool.read { try $0.int(forQuery: "SELECT sum(a) FROM t") }, equals: 3)
    }

    /// Runs `body` with the pool on another thread and waits for it.
    private func inAnotherThread(
        _ body: @escaping @Sendable (SecureDatabasePool) throws -> Void
    ) throws {
        let outcome = Shared<Result<Void, any Error>>(.success(()))
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [pool] in
            let result = Result { try body(pool) }
            outcome.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        try outcome.current.get()
    }
}
