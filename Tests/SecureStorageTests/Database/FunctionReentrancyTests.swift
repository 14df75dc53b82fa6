import Foundation
import SecureStorage
import Testing
import TestSupport

/// What a function or collation may do with the store that calls it.
struct FunctionReentrancyTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2), (3)")
    }

    /// Makes a function `act` and returns the error of the statement that calls it.
    private func failure(
        of sql: String = "SELECT act() FROM t",
        in act: @escaping (SecureDatabaseStore) throws -> Void
    ) throws -> SecureStorageError? {
        try db.makeFunction(named: "act") { [unowned db] _ in
            try act(db)
            return 1
        }
        return storageError { _ = try db.strings(sql) }
    }

    @Test func `a function can run statements on its store`() throws {
        try db.executeUpdate("CREATE TABLE log (x)")
        let error = try failure { try $0.executeUpdate("INSERT INTO log VALUES (1)") }
        check(error == nil)
        try check(db.int("SELECT count(*) FROM log"), equals: 3)
    }

    @Test func `closing the store inside a function is an error, and the store stays open`() throws
    {
        let error = try failure { $0.close() }
        check(error?.code, equals: 21)
        check(error?.description.contains("the function act called close()"), equals: true)
        try check(db.int("SELECT count(*) FROM t"), equals: 3)
        let update = storageError { try db.executeUpdate("UPDATE t SET x = act()") }
        check(update?.code, equals: 21)
        try check(db.int("SELECT sum(x) FROM t"), equals: 6)
        db.close()
        check(!db.isOpen())
    }

    @Test func `a function that removes or replaces itself fails and stays registered`() throws {
        try check(failure { try $0.removeFunction(named: "act") }?.code, equals: 1)
        try check(failure { try $0.makeFunction(named: "act") { _ in 2 } }?.code, equals: 1)
        check(storageError { _ = try db.strings("SELECT act()") }?.code, equals: 1)
        try db.removeFunction(named: "act")
    }

    @Test func `a function that closes its own result set ends it with closed`() throws {
        for persistent in [true, false] {
            db.shouldCacheStatements = persistent
            let error = try failure {
                $0.closeOpenResultSets()
                $0.clearCachedStatements()
            }
            check(error, equals: .closed)
            check(!db.hasOpenResultSets)
            try check(db.int("SELECT count(*) FROM t"), equals: 3)
        }
    }

    @Test func `a function cannot advance the statement that calls it`() throws {
        let held = Held()
        try db.makeFunction(named: "again") { _ in
            _ = try held.rows?.next()
            return 1
        }
        let rows = try db.executeQuery("SELECT again() FROM t")
        held.rows = rows
        defer { held.rows = nil }
        check(storageError { while try rows.next() {} } != nil)
        try check(db.int("SELECT count(*) FROM t"), equals: 3)
    }

    private final class Held { var rows: SecureDatabaseResultSet? }

    @Test func `the key cannot be changed inside a function`() throws {
        try check(
            failure { try $0.changeEncryptionKey(with: Data(repeating: 9, count: 32)) }?.code,
            equals: 1)
        db.close()
        try db.open(with: TemporaryDatabase.key)
    }

    @Test func `a transaction block cannot begin inside a function`() throws {
        let queue = SecureDatabaseQueue(databaseStore: db)
        try check(failure { _ in try queue.inExclusiveTransaction { _ in false } }?.code, equals: 1)
        try check(!db.isInTransaction())
    }

    @Test func `a function that calls itself endlessly is an error`() throws {
        let error = try failure { _ = try $0.strings("SELECT act()") }
        check(error?.code, equals: 1)
        try check(db.int("SELECT count(*) FROM t"), equals: 3)
    }

    @Test func `a function that rolls back the transaction ends the statement`() throws {
        try db.beginExclusiveTransaction()
        try db.executeUpdate("INSERT INTO t VALUES (4)")
        let error = try failure(of: "SELECT act() FROM t") { db in
            if try db.isInTransaction() { try db.rollback() }
        }
        // A reader that has only just begun may continue; in either case nothing of the transaction
        // is left.
        check(error == nil || error?.kind == .backingStoreError)
        try check(db.int("SELECT count(*) FROM t"), equals: 3)
    }

    @Test func `a statement notices a damaged page despite the statements of its function`() throws
    {
        db.close()
        let other = try TemporaryDatabase()
        let store = try other.openStore { $0.journalMode = .delete }
        try store.executeStatements(
            "CREATE TABLE a (x); CREATE TABLE b (y);"
                + "INSERT INTO b VALUES (randomblob(3000)); INSERT INTO b VALUES (randomblob(3000));"
                + "INSERT INTO a VALUES (zeroblob(5999) || x'01')")
        store.close()
        var file = try Data(contentsOf: other.url)
        file[file.count - 4000] ^= 1
        try file.write(to: other.url)
        try store.makeFunction(named: "other", argumentCount: 1) { [unowned store] _ in
            try? store.int("SELECT count(*) FROM b WHERE length(y) > 1")
        }
        try store.open(with: TemporaryDatabase.key)
        let error = storageError { _ = try store.strings("SELECT other(hex(x)) FROM a") }
        check(error?.code, equals: 11, "\(error?.description ?? "no error")")
    }
}
