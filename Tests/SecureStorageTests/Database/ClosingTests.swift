import Foundation
import SecureStorage
import Testing
import TestSupport

/// Caller's code that closes the store while the library is using it.
///
/// An engine built without `SQLITE_ENABLE_API_ARMOR`, such as Debian's, ends the process when a C
/// function receives the handle of a closed connection.
struct ClosingTests {
    private let database: TemporaryDatabase
    private let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore { $0.foreignKeysEnabled = true }
        try db.executeStatements(
            """
            CREATE TABLE t (a INTEGER PRIMARY KEY, b);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
            INSERT INTO t SELECT i, randomblob(500) FROM n;
            """)
    }

    private func requireWhole() throws {
        if !db.isOpen() { try db.open(with: TemporaryDatabase.key) }
        try check(db.int("SELECT count(*) FROM t"), equals: 2000)
        try check(db.verifyIntegrity().isSound)
    }

    /// Whether the error says that the store is closed, or that it cannot be closed here.
    private func isOfClosing(_ error: SecureStorageError?) -> Bool {
        error == .closed || error?.code == 21
    }

    @Test(arguments: [
        "SELECT 1; SELECT 2", "INSERT INTO t (b) VALUES (1), (2) RETURNING a; SELECT 1",
        "UPDATE t SET b = b WHERE a < 3 RETURNING a",
        "BEGIN; DELETE FROM t RETURNING a; COMMIT", "SAVEPOINT s; DELETE FROM t RETURNING a",
    ])
    func `a batch ends when its block closes the store`(_ batch: String) throws {
        let error = storageError {
            try db.executeStatements(batch) { _ in
                db.close()
                return true
            }
        }
        check(error, equals: .closed)
        try db.open(with: TemporaryDatabase.key)
        try check(db.int("SELECT count(*) FROM t") ?? 0 >= 2000)
    }

    @Test func `a transaction ends when its block closes the store`() throws {
        let queue = SecureDatabaseQueue(databaseStore: db)
        for isNested in [false, true] {
            let error = storageError {
                try queue.inExclusiveTransaction { db in
                    try db.executeUpdate("DELETE FROM t")
                    let open = try db.executeQuery("SELECT a FROM t")
                    _ = try open.next()
                    guard isNested else {
                        db.close()
                        return false
                    }
                    try db.inSavePoint { db in
                        db.close()
                        return true
                    }
                    return true
                }
            }
            check(error, equals: .closed)
            try requireWhole()
        }
    }

    @Test func `a statement with a deadline ends when the store is closed inside it`() throws {
        try db.withDeadline(.seconds(100)) {
            let rows = try db.executeQuery("SELECT a FROM t")
            try check(rows.next())
            db.close()
            check(storageError { _ = try rows.next() }, equals: .closed)
            check(storageError { try db.executeUpdate("DELETE FROM t") }, equals: .closed)
        }
        try requireWhole()
    }

    @Test func `a migration ends when its step closes the store`() throws {
        var migrations = SchemaMigrations()
        migrations.add("close") { db in
            try db.executeUpdate("DELETE FROM t")
            db.close()
        }
        check(isOfClosing(storageError { _ = try migrations.apply(to: db) }))
        try requireWhole()
    }

    @Test(arguments: [1, 2, 3, 5, 8])
    func `an integrity check ends when its progress handler closes the store`(
        _ call: Int
    ) throws {
        var calls = 0
        let error = storageError {
            _ = try db.verifyIntegrity { _ in
                calls += 1
                if calls == call { db.close() }
            }
        }
        check(calls < call || isOfClosing(error))
        try requireWhole()
    }

    @Test(arguments: [1, 2, 3])
    func `a key change fails or completes when its progress handler closes the store`(
        _ call: Int
    ) throws {
        let other = DatabaseKey.raw(SecretBytes(copying: Data(repeating: 7, count: 32)))
        var calls = 0
        let error = storageError {
            try db.changeEncryptionKey(with: other) { progress in
                calls += 1
                if calls == call { db.close() }
            }
        }
        check(calls >= call)
        check(db.isOpen())
        // After the commit it is too late to end the change.
        if let error { check(error.code, equals: 21) }
        try requireWhole()
        db.close()
        try db.open(with: error == nil ? other : .raw(SecretBytes(copying: TemporaryDatabase.key)))
        try requireWhole()
    }

    @Test(arguments: [1, 2, 3])
    func `a backup is complete or missing when its progress handler closes the store`(_ call: Int)
        throws
    {
        let copy = database.directory.appendingPathComponent("copy.db")
        var calls = 0
        let error = storageError {
            try db.backup(to: copy) { _ in
                calls += 1
                if calls == call { db.close() }
            }
        }
        check(error == nil || isOfClosing(error))
        check(FileManager.default.fileExists(atPath: copy.path), equals: (error == nil))
        try requireWhole()
    }

    @Test func `decoding a row ends when the decoded type closes the store`() throws {
        struct Closing: Decodable {
            nonisolated(unsafe) static var store: SecureDatabaseStore?
            let a: Int

            init(from decoder: any Decoder) throws {
                Self.store?.close()
                a = try decoder.singleValueContainer().decode(Int.self)
            }
        }
        Closing.store = db
        defer { Closing.store = nil }
        #expect(throws: (any Error).self) {
            _ = try db.fetchAll(Closing.self, "SELECT a FROM t")
        }
        try requireWhole()
    }

    @Test func `an observed store may be closed in a batch`() async throws {
        let queue = SecureDatabaseQueue(databaseStore: db)
        let changes = queue.changes(in: ["t"])
        let error = storageError {
            try queue.inDatabase { db in
                try db.executeStatements("INSERT INTO t (b) VALUES (1), (2) RETURNING a") { _ in
                    db.close()
                    return true
                }
            }
        }
        check(error, equals: .closed)
        withExtendedLifetime(changes) {}
        try db.open(with: TemporaryDatabase.key)
        try check(db.int("SELECT count(*) FROM t") ?? 0 >= 2000)
    }
}
