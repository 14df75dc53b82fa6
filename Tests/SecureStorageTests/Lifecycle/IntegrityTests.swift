import Foundation
import SecureStorage
import Testing
import TestSupport

/// A check of the whole file reports what is wrong with it, and nothing else.
struct IntegrityTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    /// Makes a file of about `pages` pages of rows with an index.
    private func makeFile(_ pages: Int, _ mode: JournalMode = .delete) throws -> SecureDatabaseStore
    {
        let db = try database.openStore { $0.journalMode = mode }
        try db.executeStatements(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, x);
            CREATE INDEX i ON t (name);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(pages * 3))
            INSERT INTO t SELECT i, 'name ' || i, randomblob(1000) FROM n;
            """)
        return db
    }

    @Test(arguments: JournalMode.allCases)
    func `a sound file is reported as sound, including its log`(_ mode: JournalMode) throws {
        let db = try makeFile(40, mode)
        let report = try db.verifyIntegrity()
        check(report.isSound, "\(report)")
        check(report.pageCount > 40)
        check(report.description.contains("all sound"))
        // Also in a transaction that has changed pages.
        try db.inImmediate {
            try db.executeUpdate("UPDATE t SET x = randomblob(3000)")
            try check(db.verifyIntegrity().isSound)
        }
        try check(db.verifyIntegrity().isSound)
    }

    /// `make campaign NAME=crash` flips more.
    @Test func `every flipped bit is found, and no query returns a wrong row`() throws {
        let db = try makeFile(120)
        let names = try db.strings("SELECT name || hex(x) FROM t ORDER BY id")
        let byName = try db.strings("SELECT id FROM t ORDER BY name")
        db.close()
        let whole = try Data(contentsOf: database.url)
        let descriptor = open(database.path, O_RDWR)
        defer { close(descriptor) }
        var counts = (errors: 0, right: 0)
        for _ in 0..<environmentNumber("SECURESTORAGE_FLIPS", default: 20) {
            let offset = Int.random(in: 0..<whole.count)
            var byte = whole[offset] ^ (1 << Int.random(in: 0..<8))
            try require(pwrite(descriptor, &byte, 1, off_t(offset)) == 1)
            let page = offset / 4096 + 1
            let store = database.store { $0.journalMode = .delete }
            do {
                try store.open(with: TemporaryDatabase.key)
                let report = try store.verifyIntegrity()
                check(report.damagedPages, equals: [page], "byte \(offset): \(report)")
                // Each query has its own connection, because SQLCipher 4.9 reads nothing more after
                // a damaged page.
                for (sql, expected) in [
                    ("SELECT name || hex(x) FROM t ORDER BY id", names),
                    ("SELECT id FROM t ORDER BY name", byName),
                ] {
                    do {
                        let reader = try database.openStore { $0.journalMode = .delete }
                        defer { reader.close() }
                        try check(reader.strings(sql), equals: expected, "byte \(offset)")
                        counts.right += 1
                    } catch let error as SecureStorageError {
                        check(error.code, equals: 11, "byte \(offset): \(error)")
                        counts.errors += 1
                    }
                }
            } catch let error as SecureStorageError {
                // Opening needs the first page.
                check(page == 1 && error.code == 11, "byte \(offset): \(error)")
            }
            store.close()
            byte = whole[offset]
            try require(pwrite(descriptor, &byte, 1, off_t(offset)) == 1)
        }
        check(counts.errors > 0)
        check(counts.right > 0)
    }

    @Test func `rows with dangling references are reported`() throws {
        let db = try database.openStore { $0.foreignKeysEnabled = false }
        try db.executeStatements(
            """
            CREATE TABLE parent (id INTEGER PRIMARY KEY);
            CREATE TABLE child (id INTEGER PRIMARY KEY, parent REFERENCES parent);
            INSERT INTO child VALUES (7, 99);
            """)
        let report = try db.verifyIntegrity()
        check(!report.isSound)
        check(report.damagedPages == [] && report.structureProblems == [])
        let violation = try require(report.foreignKeyViolations.first)
        check(violation.table, equals: "child")
        check(violation.rowID, equals: 7)
        check(violation.referencedTable, equals: "parent")
        check(report.description.contains("child, row 7"))
    }

    @Test func `a broken structure is reported although every page is as it was written`() throws {
        let db = try makeFile(10)
        db.close()
        // The shell permits what this library refuses.
        _ = try SQLCipherShell(
            database.path, key: "x'\(TemporaryDatabase.key.hex)'",
            """
            .dbconfig defensive off
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t (x)' WHERE name = 'i';
            """)
        let report = try database.openStore { $0.journalMode = .delete }.verifyIntegrity()
        check(report.damagedPages, equals: [])
        check(!report.structureProblems.isEmpty)
        check(!report.isSound)
    }

    @Test func `a truncated or extended file is not sound`() throws {
        let db = try makeFile(20)
        let whole = try Data(contentsOf: database.url)
        try check(db.verifyIntegrity().isSound)
        let file = try FileHandle(forWritingTo: database.url)
        try file.seekToEnd()
        try file.write(contentsOf: Data(repeating: 1, count: 100))
        try check(db.verifyIntegrity().structureProblems.first?.contains("100 bytes"), equals: true)
        try file.truncate(atOffset: UInt64(whole.count - 4096))
        try file.close()
        try check(db.verifyIntegrity().damagedPages, equals: [whole.count / 4096])
    }

    @Test func `progress is reported, and an error that it throws ends the check`() throws {
        let db = try makeFile(700)
        var seen: [FileProgress] = []
        _ = try db.verifyIntegrity { seen.append($0) }
        check(seen.count > 3)
        check(seen.last?.fraction, equals: 1)
        for limit in [0.1, 0.5] {
            #expect(throws: CancellationError.self) {
                try db.verifyIntegrity { if $0.fraction >= limit { throw CancellationError() } }
            }
        }
        try check(db.verifyIntegrity().isSound)
        try check(!db.isInTransaction())
    }

    @Test func `a cancelled task ends its check`() async throws {
        let db = try makeFile(3000)
        let queue = SecureDatabaseQueue(databaseStore: db)
        let (begun, started) = AsyncStream.makeStream(of: Void.self)
        let cancelled = DispatchSemaphore(value: 0)
        let task = Task {
            try await queue.inDatabase { db in
                try db.verifyIntegrity {
                    guard $0.fraction < 0.5 else { return }
                    started.finish()
                    cancelled.wait()
                    cancelled.signal()
                }
            }
        }
        for await _ in begun {}
        task.cancel()
        cancelled.signal()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await check(queue.inDatabase { try $0.int("SELECT count(*) FROM t") }, equals: 9000)
    }

    @Test func `a check beside writers finds nothing`() throws {
        let pool = try database.openPool()
        try pool.write { try $0.executeUpdate("CREATE TABLE t (x)") }
        let reader = try database.openStore { $0.isReadOnly = true }
        let done = DispatchSemaphore(value: 0)
        let stop = Rounds()
        Thread.detachNewThread {
            while !stop.isOver {
                try? pool.write {
                    try $0.executeUpdate("INSERT INTO t VALUES (randomblob(9000))")
                    try $0.executeUpdate("DELETE FROM t WHERE rowid < last_insert_rowid() - 50")
                }
                // While a reader is almost always active the log only grows.
                usleep(5000)
            }
            done.signal()
        }
        for _ in 0..<30 {
            let report = try reader.verifyIntegrity()
            check(report.isSound, "\(report)")
        }
        stop.end()
        done.wait()
    }
}

extension SecureDatabaseStore {
    /// Runs `body` in an immediate transaction and commits it.
    fileprivate func inImmediate(_ body: () throws -> Void) throws {
        try beginImmediateTransaction()
        try body()
        try commit()
    }
}
