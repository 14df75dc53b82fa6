import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Opening and closing of a pool and its connections.
struct PoolOpeningTests {
    let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    private func makePool(
        configure: (inout SecureDatabaseConfiguration) -> Void = { _ in },
        connection: @escaping @Sendable (SecureDatabaseStore) throws -> Void = { _ in }
    ) -> SecureDatabasePool {
        var configuration = SecureDatabaseConfiguration()
        configure(&configuration)
        return SecureDatabasePool(
            fullDatabasePath: database.path, configuration: configuration, configure: connection)
    }

    struct Failure: Error {}

    @Test func `a closed pool throws closed, and can be closed again and reopened`() throws {
        let pool = makePool()
        for _ in 1...3 {
            pool.close()
            pool.close()
            check(!pool.isOpen())
            check(storageError { try pool.read { _ in } }, equals: .closed)
            check(storageError { try pool.write { _ in } }, equals: .closed)
            check(storageError { try pool.writeWithoutTransaction { _ in } }, equals: .closed)
            check(storageError { try pool.checkpoint() }, equals: .closed)
            check(
                storageError { try pool.changeEncryptionKey(with: .passphrase("new")) },
                equals: .closed)
            pool.interrupt()
            pool.releaseMemory()
            try pool.open(with: .raw(TemporaryDatabase.key))
            try pool.open(with: .raw(TemporaryDatabase.key))
            check(pool.isOpen())
            try pool.write { try $0.executeUpdate("CREATE TABLE IF NOT EXISTS t (a)") }
            try check(pool.read { try $0.int("SELECT count(*) FROM t") }, equals: 0)
        }
        pool.close()
        try check(database.fileNames(), equals: ["test.db"])
        try check(database.openStore().int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `a configuration that a pool cannot have is an error at open and creates no file`()
        throws
    {
        let wrong: [(inout SecureDatabaseConfiguration) -> Void] = [
            { $0.journalMode = .delete }, { $0.maximumReaderCount = 0 },
        ]
        for change in wrong {
            let pool = makePool(configure: change)
            let error = storageError { try pool.open(with: .raw(TemporaryDatabase.key)) }
            check(error?.kind, equals: .openFailed)
            check(error?.code, equals: 21)
            check(!pool.isOpen())
        }
        try check(database.fileNames().isEmpty)
    }

    @Test func `a read-only pool reads and refuses writes`() throws {
        let readOnly = makePool { $0.isReadOnly = true }
        check(
            storageError { try readOnly.open(with: .raw(TemporaryDatabase.key)) }?.code, equals: 14)
        try check(database.fileNames().isEmpty)
        let db = try database.openStore()
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        try readOnly.open(with: .raw(TemporaryDatabase.key))
        try check(readOnly.read { try $0.int("SELECT x FROM t") }, equals: 1)
        check(
            storageError { try readOnly.write { try $0.executeUpdate("DELETE FROM t") } }?.code,
            equals: 8
        )
        try db.executeUpdate("UPDATE t SET x = 2")
        try check(readOnly.read { try $0.int("SELECT x FROM t") }, equals: 2)
    }

    @Test func `open fails like a store's and can be retried`() throws {
        try database.openStore().executeUpdate("CREATE TABLE t (a)")
        let pool = makePool()
        let error = storageError { try pool.open(with: .raw(Data(count: 32))) }
        check(error?.kind, equals: .authenticationFailed)
        check(storageError { try pool.read { _ in } }, equals: .closed)
        try pool.open(with: .raw(TemporaryDatabase.key))
        try check(pool.read { try $0.int("SELECT count(*) FROM t") }, equals: 0)
    }

    @Test func `the other initializers name the same files as a store's`() throws {
        let byURL = SecureDatabasePool(url: database.url)
        try byURL.open(with: .raw(TemporaryDatabase.key))
        check(byURL.databaseURL, equals: database.url)
        check(
            SecureDatabasePool(databaseFileName: "some.db").databaseURL,
            equals: SecureDatabaseStore(databaseFileName: "some.db").databaseURL)
        check(byURL.configuration.maximumReaderCount, equals: 5)
    }

    @Test
    func `the handler runs once, for a new file, and cannot call the pool`() throws {
        let pool = makePool()
        var errors: [SecureStorageError?] = []
        try pool.open(with: .raw(TemporaryDatabase.key)) { db in
            errors.append(storageError { try pool.read { _ in } })
            errors.append(storageError { try pool.write { _ in } })
            errors.append(storageError { try pool.open(with: .raw(TemporaryDatabase.key)) })
            errors.append(storageError { try pool.changeEncryptionKey(with: .passphrase("new")) })
            pool.close()
            do {
                try db.executeUpdate("CREATE TABLE t (a)")
                return nil
            } catch {
                return error
            }
        }
        check(errors.map { $0?.code }, equals: [21, 21, 21, 21])
        try check(pool.read { try $0.int("SELECT count(*) FROM t") }, equals: 0)
        pool.close()
        try pool.open(with: .raw(TemporaryDatabase.key)) { _ in Failure() }
        let missing = SecureDatabasePool(fullDatabasePath: database.path + "2")
        #expect(throws: Failure.self) {
            try missing.open(with: .raw(TemporaryDatabase.key)) { _ in Failure() }
        }
        check(!missing.isOpen())
    }

    // MARK: - Connections

    @Test func `configure is called for each connection, and for a new file before the handler`()
        throws
    {
        let calls = Shared(0)
        let pool = makePool(connection: { db in
            calls.withLock { $0 += 1 }
            try db.makeFunction(named: "twice", argumentCount: 1) { arguments in
                guard case .integer(let value)? = arguments.first else { return nil }
                return value * 2
            }
        })
        try pool.open(with: .raw(TemporaryDatabase.key)) { db in
            do {
                try db.executeStatements(
                    "CREATE TABLE t (a); INSERT INTO t VALUES (twice(4))")
                return nil
            } catch {
                return error
            }
        }
        check(calls.current, equals: 2)
        try check(pool.write { try $0.int("SELECT twice(a) FROM t") }, equals: 16)
        try check(pool.read { try $0.int("SELECT twice(a) FROM t") }, equals: 16)
        try check(pool.read { try $0.int("SELECT twice(a) FROM t") }, equals: 16)
        check(calls.current, equals: 3)
        // The writer is opened again because the block closed it.
        try pool.writeWithoutTransaction { $0.close() }
        try check(pool.write { try $0.int("SELECT twice(a) FROM t") }, equals: 16)
        check(calls.current, equals: 4)
    }

    @Test func `a configure that throws makes the open or the read fail, and loses no slot`() throws
    {
        let fails = Shared(true)
        let pool = makePool {
            $0.maximumReaderCount = 1
        } connection: { _ in
            if fails.current { throw Failure() }
        }
        #expect(throws: Failure.self) { try pool.open(with: .raw(TemporaryDatabase.key)) }
        check(!pool.isOpen())
        fails.withLock { $0 = false }
        try pool.open(with: .raw(TemporaryDatabase.key))
        for _ in 1...3 {
            fails.withLock { $0 = true }
            #expect(throws: Failure.self) { try pool.read { _ in } }
            fails.withLock { $0 = false }
            try pool.read { _ in }
            pool.releaseMemory()
        }
    }

    @Test func `a configure that calls the pool gets an error`() throws {
        let errors = Shared<[Int?]>([])
        let itself = Shared<SecureDatabasePool?>(nil)
        let pool = makePool {
            $0.maximumReaderCount = 1
        } connection: { _ in
            guard let pool = itself.current else { return }
            let own = [
                storageError { try pool.read { _ in } }, storageError { try pool.write { _ in } },
            ]
            errors.withLock { $0 += own.map { $0?.code } }
        }
        try pool.open(with: .raw(TemporaryDatabase.key))
        itself.withLock { $0 = pool }
        try pool.read { _ in }
        itself.withLock { $0 = nil }
        check(errors.current, equals: [21, 21])
    }

    @Test func `a reader that cannot be opened throws its error and does not lose its slot`() async
    {
        await #expect(processExitsWith: .success) { [path = database.path as String] in
            var configuration = SecureDatabaseConfiguration()
            configuration.maximumReaderCount = 1
            let pool = SecureDatabasePool(fullDatabasePath: path, configuration: configuration)
            try pool.open(with: .raw(TemporaryDatabase.key))
            try pool.write { try $0.executeUpdate("CREATE TABLE t (a)") }
            for _ in 1...3 {
                let error = Descriptors.withOnly(0) { storageError { try pool.read { _ in } } }
                check(error?.kind, equals: .backingStoreError)
                check(error?.code == 14 || error?.code == 10, "\(String(describing: error))")
                try check(pool.read { try $0.int("SELECT count(*) FROM t") }, equals: 0)
                // An open reader needs no more descriptors.
                try Descriptors.withOnly(0) { try pool.read { _ in } }
                pool.releaseMemory()
            }
        }
    }

    @Test func `readers are opened on demand, kept, and closed by releaseMemory`() async {
        await #expect(processExitsWith: .success) { [path = database.path as String] in
            let pool = SecureDatabasePool(fullDatabasePath: path)
            try pool.open(with: .raw(TemporaryDatabase.key))
            try pool.write { try $0.executeUpdate("CREATE TABLE t (a)") }
            let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
            let withoutReaders = Descriptors.count(below: directory)
            for _ in 1...10 { try pool.read { _ = try $0.int("SELECT count(*) FROM t") } }
            let withOne = Descriptors.count(below: directory)
            check(withOne > withoutReaders)
            let gate = Gate(count: 5)
            onThreads(5) { _ in
                #expect(throws: Never.self) { try pool.read { _ in gate.pass() } }
            }
            let withFive = Descriptors.count(below: directory)
            check(withFive >= withOne + 4)
            for _ in 1...10 { try pool.read { _ in } }
            check(Descriptors.count(below: directory), equals: withFive)
            pool.releaseMemory()
            // SQLite keeps the descriptors of a file that another connection has locked, to reuse
            // them.
            check(Descriptors.count(below: directory) < withFive || withFive - withOne < 4)
            try check(pool.read { try $0.int("SELECT count(*) FROM t") }, equals: 0)
            let before = Descriptors.count(below: directory)
            for _ in 1...50 {
                pool.releaseMemory()
                try pool.read { _ in }
            }
            check(Descriptors.count(below: directory) <= before)
        }
    }

    @Test func `opening a pool of five readers with a passphrase costs one key derivation`() throws
    {
        let passphrase = DatabaseKey.passphrase(SecretBytes(copying: Data("passphrase".utf8)))
        let rawKey = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        let other = try TemporaryDatabase()
        try database.store().open(with: passphrase)
        try other.store().open(with: rawKey)
        // The best of a few runs, in CPU time, because other tests run concurrently. The bound is
        // wide, but two derivations exceed it.
        var (one, five, withoutDerivation) = (Double.infinity, Double.infinity, Double.infinity)
        for _ in 1...5 {
            let store = database.store()
            one = min(one, try cpuSeconds { try store.open(with: passphrase) })
            store.close()
            five = min(five, try costOfFiveReaders(database, passphrase))
            withoutDerivation = min(withoutDerivation, try costOfFiveReaders(other, rawKey))
        }
        check(
            five - withoutDerivation <= 1.6 * one,
            "\(five) s, \(withoutDerivation) s of them for all but the derivation, which takes \(one) s"
        )
    }

    private func costOfFiveReaders(
        _ database: TemporaryDatabase, _ key: DatabaseKey
    ) throws -> Double {
        let pool = SecureDatabasePool(fullDatabasePath: database.path)
        defer { pool.close() }
        let opening = try cpuSeconds { try pool.open(with: key) }
        let reading = Shared(0.0)
        let gate = Gate(count: 5)
        onThreads(5) { _ in
            do {
                let time = try cpuSeconds { try pool.read { _ in gate.pass() } }
                reading.withLock { $0 += time }
            } catch {
                Issue.record(error)
            }
        }
        return opening + reading.current
    }

    /// Returns the CPU time that `body` takes on this thread, in seconds.
    private func cpuSeconds(_ body: () throws -> Void) throws -> Double {
        let begin = ThreadTime.now
        try body()
        return (ThreadTime.now - begin) / .seconds(1)
    }
}
