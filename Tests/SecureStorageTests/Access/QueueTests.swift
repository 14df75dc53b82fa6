import Foundation
import SecureStorage
import Testing
import TestSupport

struct QueueTests {
    let database: TemporaryDatabase
    let queue: SecureDatabaseQueue

    init() throws {
        database = try TemporaryDatabase()
        queue = SecureDatabaseQueue(databaseStore: database.store())
        try queue.inDatabase { db in
            try db.open(with: TemporaryDatabase.key)
            try db.executeUpdate("CREATE TABLE t (a INTEGER)")
        }
    }

    private func rows() throws -> [String?] {
        try queue.inDatabase { try $0.strings("SELECT a FROM t ORDER BY rowid") }
    }

    struct Failure: Error {}

    // MARK: - Blocks

    @Test func `a block returns its value and throws its error`() throws {
        try check(queue.inDatabase { _ in 42 }, equals: 42)
        #expect(throws: Failure.self) { try queue.inDatabase { _ in throw Failure() } }
        check(queue.databaseStore.databaseURL, equals: database.url)
    }

    @Test func `a queue over a closed store throws closed, and works once the store is open`()
        throws
    {
        let other = try TemporaryDatabase()
        let queue = SecureDatabaseQueue(databaseStore: other.store())
        check(
            storageError { _ = try queue.inDatabase { try $0.lastInsertRowId() } }, equals: .closed)
        check(storageError { try queue.inExclusiveTransaction { _ in false } }, equals: .closed)
        check(storageError { try queue.inDeferredTransaction { _ in false } }, equals: .closed)
        try queue.databaseStore.open(with: TemporaryDatabase.key)
        try queue.inDatabase { try $0.executeUpdate("CREATE TABLE t (a)") }
    }

    @Test func `result sets that a block leaves open are closed`() throws {
        nonisolated(unsafe) var leaked: SecureDatabaseResultSet?
        try queue.inDatabase { db in
            let rs = try db.executeQuery("SELECT 1 UNION SELECT 2")
            _ = try rs.next()
            leaked = rs
        }
        try check(queue.inDatabase { $0.hasOpenResultSets }, equals: false)
        check(storageError { _ = try leaked?.next() }, equals: .closed)
    }

    @Test func `a closed result set may be released on any thread`() throws {
        nonisolated(unsafe) var leaked: [SecureDatabaseResultSet] = []
        try queue.inDatabase { db in
            // The second result set's statement is not from the cache.
            for _ in 1...2 { leaked.append(try db.executeQuery("SELECT 1 UNION SELECT 2")) }
            for rs in leaked { _ = try rs.next() }
        }
        DispatchQueue.concurrentPerform(iterations: 2) { thread in
            if thread == 0 {
                leaked.removeAll()
            } else {
                #expect(throws: Never.self) {
                    for _ in 1...100 { _ = try queue.inDatabase { try $0.int("SELECT 1") } }
                }
            }
        }
    }

    // MARK: - Transactions

    @Test func `returning false commits and returning true rolls back`() throws {
        try queue.inExclusiveTransaction { db in
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            try check(db.isInTransaction())
            return false
        }
        try queue.inDeferredTransaction { db in
            try db.executeUpdate("INSERT INTO t VALUES (2)")
            return true
        }
        try queue.inDeferredTransaction { db in
            try db.executeUpdate("INSERT INTO t VALUES (3)")
            return false
        }
        try check(rows(), equals: ["1", "3"])
    }

    @Test func `a block that throws is rolled back and its error is rethrown`() throws {
        #expect(throws: Failure.self) {
            try queue.inExclusiveTransaction { db in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
                throw Failure()
            }
        }
        try check(rows().isEmpty)
        try check(queue.inDatabase { try $0.isInTransaction() }, equals: false)
    }

    @Test func `a BEGIN that fails is thrown, and the block does not run`() throws {
        let rival = try database.openStore { $0.busyTimeout = .zero }
        try rival.beginExclusiveTransaction()
        let impatient = SecureDatabaseQueue(
            databaseStore: database.store { $0.busyTimeout = .milliseconds(10) })
        try impatient.databaseStore.open(with: TemporaryDatabase.key)
        var ran = false
        let error = storageError {
            try impatient.inExclusiveTransaction { _ in
                ran = true
                return false
            }
        }
        check(error?.code, equals: 5)
        check(error?.description.contains("another connection"), equals: true)
        check(!ran)
        try rival.rollback()
        try impatient.inExclusiveTransaction { _ in false }
    }

    @Test func `a COMMIT that fails is thrown, and the transaction is rolled back`() throws {
        try queue.inDatabase { db in
            try db.executeStatements(
                """
                CREATE TABLE parent (id INTEGER PRIMARY KEY);
                CREATE TABLE child (p REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
                """)
        }
        let error = storageError {
            try queue.inExclusiveTransaction { db in
                try db.executeUpdate("INSERT INTO child VALUES (7)")
                return false
            }
        }
        check(error?.code, equals: 19)
        try check(queue.inDatabase { try $0.isInTransaction() }, equals: false)
        try check(queue.inDatabase { try $0.int("SELECT count(*) FROM child") }, equals: 0)
    }

    @Test(arguments: [
        "COMMIT", "commit transaction", "END", "ROLLBACK", "BEGIN", "BEGIN IMMEDIATE",
        "\u{feff}COMMIT", "/* */ ROLLBACK",
        "INSERT INTO t VALUES (2); COMMIT; INSERT INTO t VALUES (3)",
        "SAVEPOINT a; RELEASE a; END; INSERT INTO t VALUES (3)",
    ])
    func `a block cannot end its own transaction, nor can a batch in it`(_ sql: String) throws {
        // These statements are prepared and cached while they are allowed.
        try queue.inDatabase { db in
            try db.executeUpdate("BEGIN")
            try db.executeUpdate("COMMIT")
            try db.beginTransaction()
            try db.executeUpdate("ROLLBACK")
        }
        let error = storageError {
            try queue.inExclusiveTransaction { db in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
                try db.executeStatements(sql)
                return false
            }
        }
        check(error?.code, equals: 21)
        check(error?.description.contains("return true"), equals: true)
        try check(rows().isEmpty)
        let isOne = !sql.contains(";")
        try queue.inExclusiveTransaction { db in
            try db.executeUpdate("INSERT INTO t VALUES (4)")
            if isOne {
                let kept = try db.prepare(sql)
                check(storageError { try kept.executeUpdate() }?.code, equals: 21)
                check(storageError { try db.executeUpdate(sql) }?.code, equals: 21)
            }
            for call in [db.commit, db.rollback, db.beginTransaction, db.beginImmediateTransaction]
            {
                check(storageError { try call() }?.code, equals: 21)
            }
            try check(db.isInTransaction())
            return false
        }
        try check(rows(), equals: ["4"])
    }

    @Test func `a task's block that leaves a transaction open is rolled back and throws`()
        async throws
    {
        await #expect(throws: SecureStorageError.self) {
            try await queue.inDatabase {
                try $0.executeStatements("BEGIN; INSERT INTO t VALUES (1)")
            }
        }
        try await queue.inExclusiveTransaction { db in
            try db.executeUpdate("INSERT INTO t VALUES (2)")
            return false
        }
        try check(database.openStore().strings("SELECT a FROM t"), equals: ["2"])
    }

    @Test func `a block that leaves a transaction open is rolled back and throws`() throws {
        for sql in ["BEGIN; INSERT INTO t VALUES (1)", "SAVEPOINT a; INSERT INTO t VALUES (1)"] {
            let error = storageError { try queue.inDatabase { try $0.executeStatements(sql) } }
            check(error?.code, equals: 21)
            check(error?.description.contains("left a transaction open"), equals: true)
            #expect(throws: Failure.self) {
                try queue.inDatabase { db in
                    try db.executeStatements(sql)
                    throw Failure()
                }
            }
        }
        // No other call is part of that transaction.
        try queue.inExclusiveTransaction { db in
            try db.executeUpdate("INSERT INTO t VALUES (2)")
            return false
        }
        let rival = try database.openStore()
        try check(rival.strings("SELECT a FROM t"), equals: ["2"])
    }

    @Test func `calls do not join a transaction begun directly on the store`() throws {
        let values = try SecureKeyValueStore(databaseStore: queue.databaseStore, name: "v")
        let db = queue.databaseStore
        try db.beginTransaction()
        try db.executeUpdate("INSERT INTO t VALUES (1)")
        for call: () throws -> Void in [
            { try queue.inDatabase { try $0.executeUpdate("INSERT INTO t VALUES (2)") } },
            { try queue.inExclusiveTransaction { _ in false } },
            { try queue.inSavePoint { _ in false } },
            { try values.put(1, forKey: "a") },
            { try values.putAll(["a": nil]) },
            { try SchemaMigrations().rehearse(on: db).forEach { _ in } },
        ] {
            check(storageError(call)?.code, equals: 21)
        }
        check(values.isOpen())
        // A block run directly on the store is a block too, and the calls inside it are part of it.
        try db.inSavePoint { _ in
            try values.put(2, forKey: "b")
            return false
        }
        try db.commit()
        let rival = try database.openStore()
        try check(rival.strings("SELECT a FROM t"), equals: ["1"])
        try check(values.keys(), equals: ["b"])
    }

    @Test func `a block can end only its own savepoints, whatever their names`() throws {
        try queue.inDatabase { db in
            try db.startSavePoint("outer")
            try queue.inTransaction { db in
                for call in [db.releaseSavePoint, db.rollbackToSavePoint] {
                    check(storageError { try call("outer") }?.code, equals: 21)
                    check(storageError { try call("securestorage_block") }?.code, equals: 21)
                }
                // Names that the library uses, or once used, are names like any other.
                for name in ["securestorage_block", "OUTER", "é"] {
                    try db.startSavePoint(name)
                    try db.executeUpdate("INSERT INTO t VALUES (1)")
                    try db.startSavePoint("inner")
                    try db.rollbackToSavePoint(name.lowercased())
                    check(storageError { try db.releaseSavePoint("inner") }?.code, equals: 21)
                    try db.executeUpdate("INSERT INTO t VALUES (2)")
                    try db.releaseSavePoint(name)
                    check(storageError { try db.releaseSavePoint(name) }?.code, equals: 21)
                }
                try db.startSavePoint("left open")
                try db.executeUpdate("INSERT INTO t VALUES (3)")
                return false
            }
            check(storageError { try db.releaseSavePoint("left open") }?.code, equals: 1)
            try db.releaseSavePoint("outer")
        }
        try check(rows(), equals: ["2", "2", "2", "3"])
    }

    @Test func `queries, batches and inner blocks do not write after the transaction has ended`()
        throws
    {
        try queue.inDatabase {
            try $0.executeStatements("CREATE TABLE u (a UNIQUE); INSERT INTO u VALUES (1)")
        }
        #expect(throws: (any Error).self) {
            try queue.inExclusiveTransaction { db in
                let rs = try db.executeQuery("INSERT INTO t VALUES (1) RETURNING a")
                try? db.executeUpdate("INSERT OR ROLLBACK INTO u VALUES (1)")
                _ = try? rs.next()
                // Neither does a batch continue nor a block begin.
                try? db.executeStatements("SELECT 1; INSERT INTO t VALUES (2)") { _ in true }
                try? queue.inTransaction { db in
                    try db.executeUpdate("INSERT INTO t VALUES (3)")
                    return false
                }
                return false
            }
        }
        #expect(throws: (any Error).self) {
            try queue.inExclusiveTransaction { db in
                try? db.executeStatements("SELECT 1; INSERT INTO t VALUES (4)") { _ in
                    try? db.executeUpdate("INSERT OR ROLLBACK INTO u VALUES (1)")
                    return true
                }
                return false
            }
        }
        try check(rows().isEmpty)
    }

    @Test func `nothing is written after a block's transaction has ended`() throws {
        let schema = "CREATE TABLE u (a UNIQUE); INSERT INTO u VALUES (1)"
        try queue.inDatabase { try $0.executeStatements(schema) }
        var refused: SecureStorageError?
        var wasInTransaction = true
        let outcome: Void? = try? queue.inExclusiveTransaction { db -> Bool in
            try db.executeUpdate("INSERT INTO u VALUES (2)")
            // SQLite rolls back the whole transaction.
            try? db.executeUpdate("INSERT OR ROLLBACK INTO u VALUES (1)")
            wasInTransaction = try db.isInTransaction()
            refused = storageError { try db.executeUpdate("INSERT INTO u VALUES (3)") }
            throw Failure()
        }
        check(outcome == nil)
        check(!wasInTransaction)
        check(refused?.description.contains("has ended"), equals: true)
        try check(queue.inDatabase { try $0.strings("SELECT a FROM u") }, equals: ["1"])
        try queue.inExclusiveTransaction { db in
            try db.executeUpdate("INSERT INTO u VALUES (4)")
            return false
        }
    }

    @Test func `a block that closes the store throws closed and writes no row`() throws {
        let error = storageError {
            try queue.inExclusiveTransaction { db in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
                db.close()
                return false
            }
        }
        check(error, equals: .closed)
        try queue.inDatabase { try $0.open(with: TemporaryDatabase.key) }
        try check(rows().isEmpty)
    }

    // MARK: - Nesting

    @Test func `a call inside a block of the same queue runs immediately`() throws {
        try queue.inDatabase { db in
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            let rs = try db.executeQuery("SELECT a FROM t")
            try check(rs.next())
            try queue.inDatabase { inner in
                check(inner === db)
                _ = try inner.executeQuery("SELECT 1 UNION SELECT 2").next()
            }
            check(rs.int(forColumnIndex: 0), equals: 1, "the outer result set stays open")
            try queue.inExclusiveTransaction {
                try $0.executeUpdate("DELETE FROM t"); return true
            }
        }
        try check(rows(), equals: ["1"])
    }

    @Test func `a transaction inside a transaction is a savepoint`() throws {
        try queue.inExclusiveTransaction { db in
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            try queue.inExclusiveTransaction { db in
                try db.executeUpdate("INSERT INTO t VALUES (2)")
                try queue.inDeferredTransaction { db in
                    try db.executeUpdate("INSERT INTO t VALUES (3)")
                    return true
                }
                try queue.inDeferredTransaction { db in
                    try db.executeUpdate("INSERT INTO t VALUES (4)")
                    return false
                }
                return false
            }
            #expect(throws: Failure.self) {
                try queue.inDeferredTransaction { db in
                    try db.executeUpdate("INSERT INTO t VALUES (5)")
                    throw Failure()
                }
            }
            return false
        }
        try check(rows(), equals: ["1", "2", "4"])
    }

    @Test func `an outer rollback undoes the inner transactions`() throws {
        try queue.inExclusiveTransaction { _ in
            try queue.inExclusiveTransaction { db in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
                return false
            }
            return true
        }
        try check(rows().isEmpty)
    }

    @Test func `a call through another queue's block does not deadlock`()
        throws
    {
        let other = try TemporaryDatabase()
        let second = SecureDatabaseQueue(databaseStore: try other.openStore())
        let value = try queue.inDatabase { _ in
            try second.inDatabase { _ in
                try queue.inDatabase { try $0.int("SELECT count(*) FROM t") }
            }
        }
        check(value, equals: 0)
    }

    @Test func `a block may be a variable, and result sets of an inner block are closed`() throws {
        let block: (SecureDatabaseStore) throws -> Int? = { try $0.int("SELECT 7") }
        try check(queue.inDatabase(block), equals: 7)
        try queue.inDatabase { db in
            let outer = try db.executeQuery("SELECT 1 UNION SELECT 2")
            nonisolated(unsafe) var inner: SecureDatabaseResultSet?
            try queue.inDatabase { db in
                outer.close()
                inner = try db.executeQuery("SELECT 1 UNION SELECT 2")
            }
            check(storageError { _ = try inner?.next() }, equals: .closed)
        }
    }

    // MARK: - Threads

    @Test func `16 threads of calls on a queue lose no update`() throws {
        try queue.inDatabase { try $0.executeUpdate("INSERT INTO t VALUES (0)") }
        let threads = 16
        let calls = Threads.callsPerThread
        let queue = queue
        onThreads(threads) { thread in
            for call in 0..<calls {
                do {
                    switch (thread + call) % 4 {
                    case 0:
                        try queue.inDatabase { try $0.executeUpdate("UPDATE t SET a = a + 1") }
                    case 1:
                        try queue.inExclusiveTransaction { db in
                            let value = try db.int("SELECT a FROM t") ?? 0
                            try db.executeUpdate("UPDATE t SET a = ?", values: [value + 1])
                            return false
                        }
                    case 2:
                        try queue.inDeferredTransaction { db in
                            try db.executeUpdate("UPDATE t SET a = a + 1000")
                            return true
                        }
                    default:
                        _ = try queue.inDatabase { try $0.int("SELECT a FROM t") }
                    }
                } catch {
                    Issue.record(error)
                }
            }
        }
        try check(queue.inDatabase { try $0.int("SELECT a FROM t") }, equals: threads * calls / 2)
    }

    #if os(Linux)
        @Test func `calls run in order of arrival`() throws {
            let gate = DispatchSemaphore(value: 0)
            let order = Order()
            let count = 20
            for number in 0..<count {
                let identifier = Order()
                Thread.detachNewThread {
                    // The link's target is PID/task/TID.
                    let link = try? FileManager.default.destinationOfSymbolicLink(
                        atPath: "/proc/thread-self")
                    identifier.append(link?.split(separator: "/").last.flatMap { Int($0) } ?? 0)
                    try? queue.inDatabase { _ in
                        if number == 0 { gate.wait() }
                        order.append(number)
                    }
                    order.finish()
                }
                // The next thread starts when this one sleeps, in its block or waiting for its
                // turn.
                while !identifier.numbers.contains(where: isSleeping) { sched_yield() }
            }
            gate.signal()
            order.waitForAll(count)
            check(order.numbers, equals: Array(0..<count))
        }

        private func isSleeping(_ thread: Int) -> Bool {
            let status = try? String(
                contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8)
            return status?.split(separator: ")").last?.hasPrefix(" S") == true
        }
    #endif

    /// Numbers in order of arrival.
    private final class Order: @unchecked Sendable {
        // @unchecked: `list` is only touched under `lock`.
        private let lock = NSLock()
        private let done = DispatchSemaphore(value: 0)
        private var list: [Int] = []

        var numbers: [Int] { lock.withLock { list } }

        func append(_ number: Int) { lock.withLock { list.append(number) } }

        func finish() { done.signal() }

        func waitForAll(_ count: Int) { for _ in 0..<count { done.wait() } }
    }
}
