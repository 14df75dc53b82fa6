import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Suspending, resuming, closing and changing the key at the same time, in a forced order.
struct SuspensionRaceTests {
    private let database: TemporaryDatabase
    private let pool: SecureDatabasePool

    init() throws {
        database = try TemporaryDatabase()
        pool = try database.openPool { $0.maximumReaderCount = 2 }
        try pool.write {
            try $0.executeStatements(
                "CREATE TABLE t (b BLOB); INSERT INTO t VALUES (zeroblob(3000000))")
        }
    }

    private static let newKey = DatabaseKey.raw(SecretBytes(copying: Data(repeating: 7, count: 32)))

    /// Runs `body` on a separate thread; the semaphore is signalled when it ends.
    private func apart(_ body: @escaping @Sendable () throws -> Void) -> DispatchSemaphore {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            do { try body() } catch { Issue.record(error) }
            done.signal()
        }
        return done
    }

    @Test func `resuming during a key change admits no reader`() throws {
        var reading: DispatchSemaphore?
        var wasLetIn = false
        try pool.changeEncryptionKey(with: Self.newKey) { [pool] _ in
            guard reading == nil else { return }
            pool.resume()
            let read = apart { _ = try pool.read { try $0.int("SELECT count(b) FROM t") } }
            wasLetIn = read.wait(timeout: .now() + 0.1) == .success
            reading = read
        }
        check(!wasLetIn)
        reading?.wait()
        try check(pool.read { try $0.int("SELECT count(b) FROM t") }, equals: 1)
    }

    @Test func `calls from inside a key change fail instead of hanging`()
        throws
    {
        var errors: [SecureStorageError?] = []
        try pool.changeEncryptionKey(with: Self.newKey) { [pool] _ in
            guard errors.isEmpty else { return }
            errors = [
                storageError { _ = try pool.read { try $0.int("SELECT 1") } },
                storageError { try pool.write { try $0.executeUpdate("DELETE FROM t") } },
                storageError { try pool.changeEncryptionKey(with: .passphrase("another one")) },
            ]
            check(!pool.suspend())
            pool.close()
        }
        check(errors.map(\.?.code), equals: [21, 21, 21])
        try check(pool.read { try $0.int("SELECT count(b) FROM t") }, equals: 1)
    }

    @Test func `a suspension that is ended before it takes effect returns false`() throws {
        let isReading = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let outcome = Shared<Bool?>(nil)
        let read = apart { [pool] in
            try pool.read { _ in
                isReading.signal()
                goOn.wait()
            }
        }
        isReading.wait()
        let suspending = apart { [pool] in
            let isFree = pool.suspend(waiting: .seconds(60))
            outcome.withLock { $0 = isFree }
        }
        // Until the suspension is announced, readers are admitted.
        let late = apart { [pool] in
            while outcome.current == nil { _ = try pool.read { try $0.int("SELECT 1") } }
        }
        usleep(50_000)
        pool.resume()
        suspending.wait()
        // The reader still holds its lock.
        check(outcome.current, equals: false)
        goOn.signal()
        read.wait()
        late.wait()
        try check(pool.read { try $0.int("SELECT count(b) FROM t") }, equals: 1)
    }

    @Test(arguments: [true, false])
    func `a second caller waits for the first caller's suspension`(_ isPool: Bool) throws {
        let queue = SecureDatabaseQueue(databaseStore: try database.openStore())
        let isInside = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let block = apart { [pool] in
            let stay: (SecureDatabaseStore) -> Void = { _ in
                isInside.signal()
                goOn.wait()
            }
            if isPool { try pool.write { stay($0) } } else { try queue.inDatabase { stay($0) } }
        }
        isInside.wait()
        let outcomes = Shared<[Bool]>([])
        let calls = (0..<2).map { _ in
            apart { [pool] in
                let isFree =
                    isPool
                    ? pool.suspend(waiting: .seconds(60)) : queue.suspend(waiting: .seconds(60))
                outcomes.withLock { $0.append(isFree) }
            }
        }
        usleep(50_000)
        check(outcomes.current, equals: [])
        goOn.signal()
        for call in calls + [block] { call.wait() }
        check(outcomes.current, equals: [true, true])
    }

    @Test func `a pool that is being closed is not suspended until it is closed`() throws {
        let isReading = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let read = apart { [pool] in
            try pool.read { _ in
                isReading.signal()
                goOn.wait()
                // Inside a block, `close()` does not wait.
                pool.close()
            }
        }
        isReading.wait()
        let closing = apart { [pool] in pool.close() }
        while pool.isOpen() { usleep(1000) }
        check(!pool.suspend(waiting: .zero))
        goOn.signal()
        read.wait()
        closing.wait()
        check(pool.suspend())
        try pool.open(with: .raw(TemporaryDatabase.key))
        try check(pool.read { try $0.int("SELECT count(b) FROM t") }, equals: 1)
    }

    #if os(Linux)
        @Test(arguments: [true, false])
        func `no lock of a running loop over rows remains after a suspension`(_ isPool: Bool)
            async throws
        {
            let queue = isPool ? nil : SecureDatabaseQueue(databaseStore: try database.openStore())
            if !isPool { await pool.close() }
            let begun = DispatchSemaphore(value: 0)
            let query: @Sendable (SecureDatabaseStore) throws -> SecureDatabaseResultSet = {
                try $0.executeQuery("VALUES (1), (2), (3)")
            }
            let slow: @Sendable (SecureDatabaseResultSet) -> Int? = {
                begun.signal()
                usleep(200_000)
                return $0.int(forColumnIndex: 0)
            }
            let rows = queue?.rows(of: query, map: slow) ?? pool.rows(of: query, map: slow)
            let loop = Task { for try await _ in rows {} }
            try await Storm.apart { [pool, path = database.path] in
                begun.wait()
                let isFree = queue?.suspend(waiting: .zero) ?? pool.suspend(waiting: .zero)
                check(isFree)
                check(HeldLocks.onFiles(of: path), equals: [])
            }
            _ = await loop.result
        }

        @Test func `reads during a suspension leave no file behind`() async {
            await #expect(processExitsWith: .success) {
                let database = try TemporaryDatabase()
                let place = database.directory.appendingPathComponent("temporary")
                try FileManager.default.createDirectory(
                    at: place, withIntermediateDirectories: false)
                setenv("TMPDIR", place.path, 1)
                let pool = try database.openPool()
                try pool.write { try $0.executeUpdate("CREATE TABLE t (x)") }
                for ending in ["resume", "close", "suspend"] {
                    try pool.suspend(keepingReads: true)
                    try check(FileManager.default.contentsOfDirectory(atPath: place.path) != [])
                    let gate = Gate(count: 3)
                    onThreads(3) { number in
                        let error = storageError {
                            try pool.read { db in
                                _ = try db.int("SELECT count(*) FROM t")
                                gate.pass()
                                // One reader resumes the pool and continues.
                                if number == 0, ending == "resume" { pool.resume() }
                                _ = try db.int("SELECT count(*) FROM t")
                            }
                        }
                        check(error == nil)
                    }
                    if ending == "close" {
                        pool.close()
                        try pool.open(with: .raw(TemporaryDatabase.key))
                    }
                    pool.resume()
                    try check(
                        FileManager.default.contentsOfDirectory(atPath: place.path), equals: [])
                }
            }
        }
    #endif
}
