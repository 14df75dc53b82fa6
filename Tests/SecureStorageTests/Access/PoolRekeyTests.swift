import Foundation
import SecureStorage
import Testing
import TestSupport

/// Changes of a pool's key.
struct PoolRekeyTests {
    let database: TemporaryDatabase
    let pool: SecureDatabasePool

    init() throws {
        database = try TemporaryDatabase()
        pool = try database.openPool()
        try pool.write { db in
            try db.executeStatements(
                """
                CREATE TABLE t (a);
                WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100)
                INSERT INTO t SELECT randomblob(2000) FROM c;
                """)
        }
    }

    private static func key(_ number: Int) -> Data { Data(repeating: UInt8(number), count: 32) }

    @Test func `the new key opens the file, the old one does not, and readers continue`() throws {
        try check(pool.read { try $0.int("SELECT count(*) FROM t") }, equals: 100)
        try pool.changeEncryptionKey(with: .raw(Self.key(2)))
        try check(pool.read { try $0.int("SELECT count(a) FROM t") }, equals: 100)
        try pool.changeEncryptionKey(with: .raw(Self.key(1)))
        try check(pool.read { try $0.int("SELECT count(a) FROM t") }, equals: 100)
        try pool.write { try $0.executeUpdate("DELETE FROM t") }
        pool.close()
        check(
            storageError { try pool.open(with: .raw(TemporaryDatabase.key)) }?.kind,
            equals: .authenticationFailed)
        try pool.open(with: .raw(Self.key(1)))
        try check(pool.read { try $0.int("SELECT count(a) FROM t") }, equals: 0)
    }

    @Test func `under load, no reader and no writer sees an error`()
        throws
    {
        let isDone = Shared(false)
        let reads = Shared(0)
        let threads = DispatchGroup()
        for thread in 0..<9 {
            threads.enter()
            Thread.detachNewThread { [pool] in
                while !isDone.current {
                    do {
                        if thread == 8 {
                            try pool.write { db in
                                try db.executeUpdate(
                                    "UPDATE t SET a = randomblob(2000) WHERE rowid = 7")
                            }
                        } else {
                            let count = try pool.read { db in
                                try db.int("SELECT count(*) FROM t WHERE length(a) = 2000")
                            }
                            check(count, equals: 100)
                            reads.withLock { $0 += 1 }
                        }
                    } catch {
                        Issue.record(error)
                    }
                }
                threads.leave()
            }
        }
        for number in 1...20 {
            let before = reads.current
            try pool.changeEncryptionKey(with: .raw(Self.key(number)))
            // Readers are admitted again.
            while reads.current < before + 10 { usleep(500) }
        }
        isDone.withLock { $0 = true }
        threads.wait()
        pool.close()
        try pool.open(with: .raw(Self.key(20)))
        try check(pool.read { try $0.int("SELECT count(a) FROM t") }, equals: 100)
    }

    @Test func `it waits for running reads`() throws {
        let reading = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        let events = Shared<[String]>([])
        Thread.detachNewThread { [pool] in
            let error = storageError {
                try pool.read { db in
                    reading.signal()
                    for _ in 1...20 {
                        _ = try db.int("SELECT count(a) FROM t")
                        usleep(5000)
                    }
                    events.withLock { $0.append("read") }
                }
            }
            check(error == nil)
            done.signal()
        }
        reading.wait()
        try pool.changeEncryptionKey(with: .raw(Self.key(1)))
        events.withLock { $0.append("changed") }
        done.wait()
        check(events.current, equals: ["read", "changed"])
    }

    @Test func `inside a block it is an error, not a deadlock`() throws {
        let key = Self.key(1)
        var errors: [SecureStorageError?] = []
        try pool.read { _ in
            errors.append(storageError { try pool.changeEncryptionKey(with: .raw(key)) })
        }
        try pool.write { _ in
            errors.append(storageError { try pool.changeEncryptionKey(with: .raw(key)) })
        }
        try pool.writeWithoutTransaction { db in
            errors.append(storageError { try pool.changeEncryptionKey(with: .passphrase("new")) })
            // A change of key that bypasses the pool would break the readers.
            errors.append(storageError { try db.changeEncryptionKey(with: key) })
        }
        check(errors.count, equals: 4)
        for error in errors {
            check(error?.kind, equals: .encryptionKeyChangeFailed)
            check(error?.code, equals: 21)
        }
        try check(pool.read { try $0.int("SELECT count(a) FROM t") }, equals: 100)
    }

    @Test func `if it fails, the old key stays in force and reads continue`() throws {
        try check(pool.read { try $0.int("SELECT count(a) FROM t") }, equals: 100)
        for call in [
            { try pool.changeEncryptionKey(with: .passphrase("")) },
            { try pool.changeEncryptionKey(with: .raw(Data(count: 31))) },
        ] {
            check(storageError { try call() }?.kind, equals: .encryptionKeyChangeFailed)
            try check(pool.read { try $0.int("SELECT count(a) FROM t") }, equals: 100)
        }
        let rival = SecureDatabaseStore(
            fullDatabasePath: database.path,
            configuration: database.store { $0.busyTimeout = .zero }.configuration)
        try rival.open(with: TemporaryDatabase.key)
        try rival.beginExclusiveTransaction()
        let impatient = SecureDatabasePool(
            fullDatabasePath: database.path, configuration: rival.configuration)
        try impatient.open(with: .raw(TemporaryDatabase.key))
        check(
            storageError { try impatient.changeEncryptionKey(with: .raw(Self.key(1))) }?.code,
            equals: 5)
        try check(impatient.read { try $0.int("SELECT count(a) FROM t") }, equals: 100)
        try rival.rollback()
        rival.close()
        impatient.close()
        try pool.write { try $0.executeUpdate("DELETE FROM t") }
        pool.close()
        try pool.open(with: .raw(TemporaryDatabase.key))
    }

    #if os(Linux)
        @Test func `if the disk fails midway, reads and writes continue with the old key`() async {
            await #expect(processExitsWith: .success) { [path = database.path as String] in
                let pool = SecureDatabasePool(fullDatabasePath: path)
                try pool.open(with: .raw(TemporaryDatabase.key))
                try check(pool.read { try $0.int("SELECT count(a) FROM t") }, equals: 100)
                // No file of this process may grow, but the log has to.
                signal(SIGXFSZ, SIG_IGN)
                var limits = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits)
                let usual = limits.rlim_cur
                limits.rlim_cur = 100_000
                setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits)
                let error = storageError {
                    try pool.changeEncryptionKey(with: .raw(Data(repeating: 1, count: 32)))
                }
                check(error?.kind, equals: .encryptionKeyChangeFailed)
                try check(pool.read { try $0.int("SELECT count(a) FROM t") }, equals: 100)
                limits.rlim_cur = usual
                setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits)
                try pool.write { try $0.executeUpdate("DELETE FROM t") }
                try check(pool.read { try $0.int("SELECT count(a) FROM t") }, equals: 0)
                pool.close()
                try pool.open(with: .raw(TemporaryDatabase.key))
            }
        }
    #endif
}
