import Foundation
import SecureStorage
import Testing
import TestSupport

/// The behaviour that queues and pools share, through the protocols that both conform to.
struct OneFaceTests {
    enum Kind: CaseIterable {
        case queue, pool

        func database(_ url: URL) -> any SecureDatabaseWriter {
            switch self {
            case .queue: SecureDatabaseQueue(url: url)
            case .pool: SecureDatabasePool(url: url)
            }
        }
    }

    let file: TemporaryDatabase
    private let key = DatabaseKey.raw(TemporaryDatabase.key)

    init() throws { file = try TemporaryDatabase() }

    private func opened(_ kind: Kind) throws -> any SecureDatabaseWriter {
        let database = kind.database(file.url)
        try database.open(with: key)
        try database.write { db in
            try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        }
        return database
    }

    private static func count(_ reader: any SecureDatabaseReader) throws -> Int? {
        try reader.read { try $0.int("SELECT count(*) FROM t") }
    }

    struct Failure: Error {}

    // MARK: - Opening

    @Test(arguments: Kind.allCases)
    func `it opens, closes and re-keys the file itself`(_ kind: Kind) async throws {
        let database = kind.database(file.url)
        check(database.databaseURL.path, equals: file.path)
        check(database.configuration.journalMode, equals: .wal)
        check(!database.isOpen())
        check(storageError { _ = try Self.count(database) }, equals: .closed)
        try await database.open(with: key) { db in
            storageError { try db.executeStatements("CREATE TABLE t (x)") }
        }
        check(database.isOpen())
        try check(Self.count(database), equals: 0)
        let third = DatabaseKey.raw(Data(repeating: 3, count: 32))
        try await database.changeEncryptionKey(with: .raw(Data(repeating: 2, count: 32)))
        try await database.changeEncryptionKey(with: third)
        try check(Self.count(database), equals: 0)
        await database.close()
        check(!database.isOpen())

        check(storageError { try database.open(with: key) }?.kind, equals: .authenticationFailed)
        try await database.open(with: third)
        try check(Self.count(database), equals: 0)
        await database.close()
        check(storageError { try database.changeEncryptionKey(with: key) }, equals: .closed)
    }

    @Test(arguments: Kind.allCases)
    func `an error in the initialization handler leaves no file`(_ kind: Kind) throws {
        let database = kind.database(file.url)
        #expect(throws: Failure.self) { try database.open(with: key) { _ in Failure() } }
        check(!database.isOpen())
        try check(file.fileNames(), equals: [])
    }

    // MARK: - Reading

    @Test(arguments: Kind.allCases)
    func `a read that writes is refused, but the next write is not`(_ kind: Kind) async throws {
        let database = try opened(kind)
        for sql in [
            "INSERT INTO t VALUES (2)", "DELETE FROM t", "CREATE TABLE u (x)", "DROP TABLE t",
            "PRAGMA user_version = 7", "WITH a AS (SELECT 1) UPDATE t SET x = 3",
        ] {
            let error = storageError { try database.read { try $0.executeUpdate(sql) } }
            check(error?.code, equals: 8, "\(sql): \(error as Any)")
            let batch = storageError { try database.read { try $0.executeStatements(sql) } }
            check(batch?.code, equals: 8, "\(sql): \(batch as Any)")
            await #expect(throws: SecureStorageError.self, "\(sql)") {
                try await database.read { try $0.executeUpdate(sql) }
            }
        }
        // A statement that was already prepared, for a write.
        try await database.write { try $0.executeUpdate("INSERT INTO t VALUES (?)", 2) }
        check(
            storageError {
                try database.read { try $0.executeUpdate("INSERT INTO t VALUES (?)", 3) }
            }?.code, equals: 8)
        try await database.write { try $0.executeUpdate("INSERT INTO t VALUES (?)", 3) }
        try check(Self.count(database), equals: 3)
        try await check(database.read { try $0.userVersion }, equals: 0)
    }

    @Test(arguments: Kind.allCases)
    func `a read sees one snapshot, and returns or throws what its block does`(_ kind: Kind) throws
    {
        let database = try opened(kind)
        let other = try file.openStore()
        defer { other.close() }
        let counts = try database.read { db in
            let first = try db.int("SELECT count(*) FROM t")
            try other.executeUpdate("INSERT INTO t VALUES (2)")
            return [first, try db.int("SELECT count(*) FROM t")]
        }
        check(counts, equals: [1, 1])
        try check(Self.count(database), equals: 2)
        #expect(throws: Failure.self) { try database.read { _ in throw Failure() } }
        func version(_ db: SecureDatabaseStore) throws -> Int32 { try db.userVersion }
        try check(database.read(version), equals: 0)
    }

    @Test(arguments: Kind.allCases)
    func `a read inside a write is part of it, a write inside a read is an error`(
        _ kind: Kind
    ) throws {
        let database = try opened(kind)
        let seen = try database.write { db -> Int? in
            try db.executeUpdate("INSERT INTO t VALUES (2)")
            return try database.read { inner -> Int? in
                try inner.executeUpdate("INSERT INTO t VALUES (3)")
                return try inner.int("SELECT count(*) FROM t")
            }
        }
        check(seen, equals: 3)
        try database.read { (_) throws in
            check(storageError { try database.write { _ in } }?.code, equals: 21)
            check(storageError { try database.writeWithoutTransaction { _ in } }?.code, equals: 21)
            check(storageError { try database.checkpoint() }?.code, equals: 21)
            let count = try Self.count(database)
            check(count, equals: 3)
        }
        try database.write { try $0.executeUpdate("INSERT INTO t VALUES (4)") }
        try check(Self.count(database), equals: 4)
    }

    @Test func `a queue's read leaves its store unchanged, even if the block closes it`() throws {
        let queue = SecureDatabaseQueue(url: file.url)
        try queue.open(with: key)
        try queue.write { try $0.executeUpdate("CREATE TABLE t (x)") }
        let error = storageError { try queue.read { $0.close() } }
        check(error, equals: .closed)
        try queue.open(with: key)
        try queue.inDatabase { db in
            try db.executeUpdate("CREATE TEMP TABLE kept (x)")
            try check(!db.isInTransaction())
        }
        _ = try queue.read { try $0.int("SELECT count(*) FROM kept") }
        try queue.inDatabase { try $0.executeUpdate("INSERT INTO kept VALUES (1)") }
        // The end of the inner read leaves the outer one read-only.
        try queue.read { _ in
            _ = try queue.read { try $0.int("SELECT count(*) FROM t") }
            check(
                storageError {
                    try queue.inDatabase { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
                }?.code, equals: 8)
        }
        try queue.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
    }

    // MARK: - Writing

    @Test(arguments: Kind.allCases)
    func `a write returns a value, and is rolled back on an error`(_ kind: Kind) async throws {
        let database = try opened(kind)
        let id = try await database.write { db in
            try db.executeUpdate("INSERT INTO t VALUES (2)")
            return try db.lastInsertRowId()
        }
        check(id, equals: 2)
        #expect(throws: Failure.self) {
            try database.write { db in
                try db.executeUpdate("INSERT INTO t VALUES (3)")
                throw Failure()
            }
        }
        await #expect(throws: Failure.self) {
            try await database.write { db in
                try db.executeUpdate("INSERT INTO t VALUES (3)")
                throw Failure()
            }
        }
        try check(Self.count(database), equals: 2)
        let last = try await database.write { db in
            try db.executeUpdate("INSERT INTO t VALUES (3)")
            return try db.lastInsertRowId()
        }
        check(last, equals: 3)
        try await check(
            database.writeWithoutTransaction { try $0.isInTransaction() }, equals: false)
    }

    // MARK: - Shared implementations

    @Test(arguments: Kind.allCases)
    func `migrations, backups, checks, rows and observation work through the protocol`(
        _ kind: Kind
    ) async throws {
        let database = try opened(kind)
        var migrations = SchemaMigrations()
        migrations.add("u", sql: "CREATE TABLE u (x)")
        try await check(database.migrate(migrations), equals: ["u"])
        try await check(database.migrate(migrations), equals: [])
        let copy = try TemporaryDatabase(name: "copy.db")
        try await database.backup(to: copy.url)
        try await database.backup(to: copy.url, replacing: true)
        try check(copy.openStore().int("SELECT count(*) FROM t"), equals: 1)
        try await check(database.verifyIntegrity().isSound)
        try await check(database.verifyIntegrity().isSound)
        try await check(database.checkpoint(.truncate).logFrames, equals: 0)
        _ = try await database.checkpoint(.truncate)

        var rows: [Int?] = []
        let query = database.rows(of: { try $0.executeQuery("SELECT x FROM t") }) {
            $0.int(forColumnIndex: 0)
        }
        for try await row in query { rows.append(row) }
        check(rows, equals: [1])

        var changes = database.changes(in: ["t"]).makeAsyncIterator()
        var values = database.values { try $0.int("SELECT count(*) FROM t") }.makeAsyncIterator()
        try await check(values.next()?.get(), equals: 1)
        try await database.write { try $0.executeUpdate("INSERT INTO t VALUES (2)") }
        await check(changes.next()?.tables.keys.sorted(), equals: ["t"])
        try await check(values.next()?.get(), equals: 2)

        check(database.suspend(waiting: .milliseconds(500)))
        check(storageError { _ = try Self.count(database) }, equals: .suspended)
        database.resume()
        try check(Self.count(database), equals: 2)
    }

    @Test(arguments: Kind.allCases)
    func `an interrupt ends a running read, and the database stays usable`(
        _ kind: Kind
    ) async throws {
        let database = try opened(kind)
        let reading = Task {
            try await database.read { db in
                try db.int(
                    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
                        + "SELECT count(*) FROM c")
            }
        }
        let isDone = Shared(false)
        Thread.detachNewThread {
            while !isDone.current {
                database.interrupt()
                usleep(10_000)
            }
        }
        let outcome = await reading.result
        isDone.withLock { $0 = true }
        #expect(throws: SecureStorageError.self) { try outcome.get() }
        try check(Self.count(database), equals: 1)
    }
}
