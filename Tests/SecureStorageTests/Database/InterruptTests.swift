import Foundation
import SecureStorage
import Testing
import TestSupport

struct InterruptTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore
    let queue: SecureDatabaseQueue

    private static let endless =
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c"

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (x)")
        queue = SecureDatabaseQueue(databaseStore: db)
    }

    /// Repeatedly interrupts `queue` from another thread while `body` runs.
    private func interrupting<R>(every microseconds: UInt32 = 500, _ body: () throws -> R) rethrows
        -> R
    {
        let isDone = Shared(false)
        let hasEnded = DispatchSemaphore(value: 0)
        let queue = queue
        Thread.detachNewThread {
            while !isDone.current {
                queue.interrupt()
                usleep(microseconds)
            }
            hasEnded.signal()
        }
        defer {
            isDone.withLock { $0 = true }
            hasEnded.wait()
        }
        return try body()
    }

    @Test func `FMDB interrupt ends the running statement of a queue, which stays usable`() throws {
        let error = interrupting {
            storageError { _ = try queue.inDatabase { try $0.int(Self.endless) } }
        }
        check(error?.code, equals: 9)
        try check(queue.inDatabase { try $0.int("SELECT 1") }, equals: 1)
    }

    @Test func `an interrupted update undoes only itself`() throws {
        let error = interrupting {
            storageError {
                try queue.inDatabase {
                    try $0.executeUpdate("INSERT INTO t " + Self.endless)
                }
            }
        }
        check(error?.code, equals: 9)
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
        try db.executeUpdate("INSERT INTO t VALUES (1)")
    }

    @Test func `interrupt does nothing on a closed store and on an idle one`() throws {
        db.interrupt()
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
        db.interrupt()
        try db.changeEncryptionKey(with: TemporaryDatabase.key)
        db.close()
        db.interrupt()
        try db.open(with: TemporaryDatabase.key)
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `interrupt between two rows ends the result set at the next row`() throws {
        try db.executeUpdate("INSERT INTO t VALUES (1), (2), (3)")
        let rows = try db.executeQuery("SELECT x FROM t")
        try check(rows.next())
        db.interrupt()
        check(storageError { _ = try rows.next() }?.code, equals: 9)
        try check(db.int("SELECT count(*) FROM t"), equals: 3)
    }

    @Test func `an interrupted transaction is rolled back`() throws {
        for _ in 1...20 {
            let error = interrupting(every: 50) {
                storageError {
                    try queue.inExclusiveTransaction {
                        try $0.executeUpdate("INSERT INTO t VALUES (1)")
                        _ = try $0.int(Self.endless)
                        return false
                    }
                }
            }
            check(error?.code, equals: 9)
            try check(!db.isInTransaction())
        }
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `a transaction is rolled back even while an outer result set is interrupted`() throws
    {
        try db.executeUpdate("INSERT INTO t VALUES (1), (2)")
        struct Stop: Error {}
        try queue.inDatabase { db in
            let rows = try db.executeQuery("SELECT x FROM t")
            try check(rows.next())
            do {
                try queue.inDeferredTransaction {
                    try $0.executeUpdate("INSERT INTO t VALUES (3)")
                    queue.interrupt()
                    throw Stop()
                }
                Issue.record("the block's error is thrown")
            } catch is Stop {}
            try check(!db.isInTransaction())
            check(storageError { _ = try rows.next() }, equals: .closed)
        }
        try check(db.int("SELECT count(*) FROM t"), equals: 2)
    }

    @Test func `an interrupt inside a function's statement ends the enclosing statement`() throws {
        try db.makeFunction(named: "f") { [unowned db] _ in try db.int(Self.endless) }
        let error = interrupting { storageError { _ = try db.int("SELECT f()") } }
        check(error?.code, equals: 9)
        try check(db.int("SELECT 1"), equals: 1)
    }

    /// Nothing that the store does by itself may mistake an interruption for damage or stop
    /// halfway.
    @Test(arguments: [SecureDatabaseConfiguration.JournalMode.wal, .delete])
    func `an interruption at any moment is code 9 or has no effect`(
        _ mode: SecureDatabaseConfiguration.JournalMode
    ) throws {
        let database = try TemporaryDatabase()
        let store = try database.openStore {
            $0.journalMode = mode
            $0.cacheSize = 64 * 1024
        }
        let queue = SecureDatabaseQueue(databaseStore: store)
        try store.executeStatements("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
        let isDone = Shared(false)
        let hasEnded = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            while !isDone.current {
                queue.interrupt()
                usleep(100)
            }
            hasEnded.signal()
        }
        var committed = 0
        var others: [SecureStorageError] = []
        for round in 0..<400 {
            let error = storageError {
                switch round % 4 {
                case 0, 1:
                    try queue.inExclusiveTransaction {
                        for _ in 1...5 {
                            try $0.executeUpdate("INSERT INTO t (x) VALUES (randomblob(9000))")
                        }
                        return false
                    }
                    committed += 5
                case 2: _ = try queue.inDatabase { try $0.int("SELECT id FROM t WHERE x = 1") }
                default:
                    _ = try queue.inDatabase { try $0.int("SELECT json_extract(x, '$') FROM t") }
                }
            }
            if let error, error.code != 9 { others.append(error) }
            if try store.isInTransaction() {
                Issue.record("a transaction was left open")
                break
            }
        }
        isDone.withLock { $0 = true }
        hasEnded.wait()
        // The JSON is invalid, so its own error is reported if no interruption came.
        check(others.allSatisfy { $0.code == 1 && $0.description.contains("JSON") }, "\(others)")
        check(committed > 0)
        try check(store.int("SELECT count(*) FROM t"), equals: committed)
        try check(store.strings("PRAGMA integrity_check"), equals: ["ok"])
    }

    /// A statement that failed without a reason is run once more to find out whether a page is
    /// damaged.
    @Test func `interrupting the search for a damaged page is not reported as damage`() throws {
        let database = try TemporaryDatabase()
        let store = try database.openStore { $0.journalMode = .delete }
        try store.executeStatements(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, x);"
                + "INSERT INTO t (x) VALUES (zeroblob(10)), (zeroblob(5999) || x'01')")
        store.close()
        var file = try Data(contentsOf: database.url)
        // The last overflow page.
        file[file.count - 4000] ^= 1
        try file.write(to: database.url)
        let calls = Shared(0)
        let firstOfSecondRun = Shared(0)
        try store.makeFunction(named: "f") { [unowned store] _ in
            calls.withLock { $0 += 1 }
            if calls.current == firstOfSecondRun.current { store.interrupt() }
            return "a"
        }
        try store.open(with: TemporaryDatabase.key)
        let update = "UPDATE t SET x = f() || x"
        check(storageError { try store.executeUpdate(update) }?.code, equals: 11)
        // Each run makes two calls. SQLCipher 4.9 remembers the damage, so its second run ends
        // before them.
        guard calls.current == 4 else {
            check(calls.current, equals: 2)
            return
        }

        calls.withLock { $0 = 0 }
        firstOfSecondRun.withLock { $0 = 3 }
        check(storageError { try store.executeUpdate(update) }?.code, equals: 9)
        check(calls.current, equals: 3)
        try check(!store.isInTransaction())
    }

    @Test func `concurrent interrupt and close are safe`() throws {
        try interrupting(every: 1) {
            for _ in 1...30 {
                db.close()
                try db.open(with: TemporaryDatabase.key)
            }
        }
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `the key can be changed despite interruptions`() throws {
        let newKey = Data(repeating: 7, count: 32)
        try db.executeUpdate("INSERT INTO t VALUES (randomblob(400000))")
        interrupting(every: 10) {
            // The statements before the change can be interrupted, which has no effect.
            while storageError({ try db.changeEncryptionKey(with: newKey) }) != nil {}
        }
        db.close()
        try db.open(with: newKey)
        try check(db.int("SELECT length(x) FROM t"), equals: 400000)
    }
}
