import Foundation
import SecureStorage
import Testing
import TestSupport

/// Pages as they are stored, followed from commit to commit.
struct CommittedPagesTests {
    /// A copy that is made of nothing but the pages.
    private struct Replica {
        var pages: [UInt32: Data] = [:]
        var pageCount = 0

        init(_ source: CommittedPages) throws {
            pageCount = source.pageCount
            for number in stride(from: 1, through: pageCount, by: 7) {
                let count = min(7, pageCount - number + 1)
                let bytes = try source.snapshotPages(number, count: count)
                for index in 0..<count {
                    pages[UInt32(number + index)] =
                        bytes[(index * source.pageSize)..<((index + 1) * source.pageSize)]
                }
            }
        }

        /// Returns whether anything was new.
        mutating func follow(_ source: CommittedPages) throws -> Bool {
            guard let changes = try source.next() else { return false }
            try take(changes, of: source)
            return true
        }

        mutating func take(_ changes: CommittedPages.Changes, of source: CommittedPages) throws {
            let bytes = try changes.bytes(of: changes.pages[...])
            for (index, page) in changes.pages.enumerated() {
                pages[page] =
                    bytes[(index * source.pageSize)..<((index + 1) * source.pageSize)]
            }
            pageCount = changes.pageCount
        }

        /// Empties the log, whether that is worth what it costs or not.
        mutating func emptyLog(_ source: CommittedPages) async throws {
            if let changes = try await source.emptyLog() { try take(changes, of: source) }
        }

        func contents(at path: String) throws -> [String] {
            var file = Data()
            for number in 1...pageCount { file += try require(pages[UInt32(number)]) }
            try file.write(to: URL(fileURLWithPath: path))
            let db = SecureDatabaseStore(fullDatabasePath: path)
            try db.open(with: TemporaryDatabase.key)
            defer {
                db.close()
                unlink(path)
            }
            try check(db.verifyIntegrity().isSound)
            return try CommittedPagesTests.contents(db)
        }
    }

    private static func contents(_ db: SecureDatabaseStore) throws -> [String] {
        let rows = try db.executeQuery("SELECT id, hex(note) FROM t ORDER BY id")
        var contents: [String] = []
        while try rows.next() {
            contents.append(
                "\(rows.int(forColumnIndex: 0) ?? 0) \(rows.string(forColumnIndex: 1) ?? "")")
        }
        return contents
    }

    private static func open(_ path: String) throws -> SecureDatabasePool {
        var configuration = SecureDatabaseConfiguration()
        configuration.synchronous = .normal
        configuration.secondInstance = .allowed
        // Some checkpoints wait for the transaction that follows the log.
        configuration.busyTimeout = .milliseconds(2)
        let pool = SecureDatabasePool(fullDatabasePath: path, configuration: configuration)
        try pool.open(with: .raw(TemporaryDatabase.key))
        return pool
    }

    /// `make campaign NAME=soak` runs for longer.
    @Test
    func `what is committed arrives, whatever checkpoints and other connections do`() async throws {
        let database = try TemporaryDatabase()
        let pools = [try Self.open(database.path), try Self.open(database.path)]
        defer { for pool in pools { pool.close() } }
        try await pools[0].write {
            try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, note)")
        }
        var generator = SplitMix64(seed: UInt64.random(in: 0...1 << 40))
        let seed = generator
        let source = try CommittedPages(of: pools[0])
        defer { source.end() }
        var replica = try Replica(source)
        for step in 0..<environmentNumber("SECURESTORAGE_ROUNDS", default: 150) {
            let pool = pools[Int.random(in: 0...1, using: &generator)]
            switch Int.random(in: 0..<24, using: &generator) {
            case 0..<10:
                let size = Int.random(in: 1...20_000, using: &generator)
                try await pool.write {
                    try $0.executeUpdate("INSERT INTO t (note) VALUES (randomblob(?))", size)
                }
            case 10..<12:
                try await pool.write {
                    try $0.executeUpdate("UPDATE t SET note = x'01' WHERE id % 3 = 1")
                }
            case 12: try await pool.write { try $0.executeUpdate("DELETE FROM t WHERE id % 2 = 0") }
            case 13..<15:
                for mode in [CheckpointMode.passive, .restart, .truncate] {
                    _ = try? await pool.writeWithoutTransaction { try $0.checkpoint(mode) }
                }
            case 15 where step % 5 == 0:
                try await pool.writeWithoutTransaction { try $0.executeUpdate("VACUUM") }
            case 16: try await replica.emptyLog(source)
            case 17..<20:
                let commits = Task.detached {
                    for _ in 0..<5 {
                        try await pool.write {
                            try $0.executeUpdate("INSERT INTO t (note) VALUES (1)")
                        }
                    }
                }
                try await replica.emptyLog(source)
                // Another connection may hold the lock longer than its timeout.
                _ = await commits.result
            default:
                while try replica.follow(source) {}
                let expected = try await pool.read { try Self.contents($0) }
                let found = try replica.contents(at: database.path + ".replica")
                try require(found == expected, "step \(step), \(seed)")
            }
        }
    }

    @Test func `the log is restarted once everything was read`() throws {
        let database = try TemporaryDatabase()
        let pool = try Self.open(database.path)
        defer { pool.close() }
        try pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, note)") }
        let source = try CommittedPages(of: pool)
        defer { source.end() }
        var largest = 0
        for _ in 0..<200 {
            try pool.write { db in
                for _ in 0..<20 {
                    try db.executeUpdate("INSERT INTO t (note) VALUES (randomblob(3000))")
                }
            }
            while try source.next() != nil {}
            _ = try? pool.writeWithoutTransaction { try $0.checkpoint(.passive) }
            _ = try source.next()
            let size = try FileManager.default.attributesOfItem(atPath: database.path + "-wal")[
                .size]
            largest = max(largest, size as? Int ?? 0)
        }
        check(largest < 2_000_000, "\(largest) bytes")
    }

    @Test func `the log is restarted beside writers that never pause`() async throws {
        let database = try TemporaryDatabase()
        let pools = [try Self.open(database.path), try Self.open(database.path)]
        defer { for pool in pools { pool.close() } }
        try await pools[0].write {
            try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, note)")
        }
        let source = try CommittedPages(of: pools[0])
        defer { source.end() }
        var replica = try Replica(source)
        let commits = Task.detached {
            while !Task.isCancelled {
                try await pools[0].write {
                    try $0.executeUpdate("INSERT INTO t (note) VALUES (randomblob(8000))")
                }
            }
        }
        defer { commits.cancel() }
        var logs: Set<[UInt8]> = []
        let end = ContinuousClock.now + .seconds(120)
        while logs.count < 4, .now < end {
            _ = try replica.follow(source)
            if source.hasLongLog { try await replica.emptyLog(source) }
            logs.insert(source.position.salts)
            await Task.yield()
        }
        check(logs.count >= 4)
        commits.cancel()
        _ = await commits.result
        while try replica.follow(source) {}
        let expected = try await pools[1].read { try Self.contents($0) }
        try check(replica.contents(at: database.path + ".replica"), equals: expected)
    }

    @Test func `a thread that is interrupted while it changes the index is waited for`() throws {
        let database = try TemporaryDatabase()
        let pool = try Self.open(database.path)
        try pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, note)") }
        let source = try CommittedPages(of: pool)
        // Closed after the pool: closing it drops the locks of the process.
        let index = Foundation.open(database.path + "-shm", O_RDWR)
        defer { Foundation.close(index) }
        defer { pool.close() }
        // The counter of changes in the second copy of the header, which is written first.
        var counter: UInt32 = 0
        try require(pread(index, &counter, 4, 56) == 4)
        let right = counter
        counter = ~counter
        try require(pwrite(index, &counter, 4, 56) == 4)
        let other = Thread {
            usleep(100_000)
            _ = withUnsafeBytes(of: right) { pwrite(index, $0.baseAddress, 4, 56) }
        }
        other.start()
        try check(source.next()?.pages == nil)
        source.end()
    }

    @Test func `closing and suspending the pool end it`() throws {
        let database = try TemporaryDatabase()
        let pool = try Self.open(database.path)
        try pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, note)") }
        let first = try CommittedPages(of: pool)
        pool.suspend()
        #expect(throws: SecureStorageError.self) { try first.next() }
        #expect(throws: SecureStorageError.self) { try first.snapshotPages(1, count: 1) }
        pool.resume()
        let second = try CommittedPages(of: pool)
        pool.close()
        #expect(throws: SecureStorageError.self) { try second.next() }
        check(Descriptors.count(of: database.path), equals: 0)
    }

    @Test func `a position is found again in the same log only`() throws {
        let database = try TemporaryDatabase()
        let pool = try Self.open(database.path)
        defer { pool.close() }
        try pool.write { try $0.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, note)") }
        let first = try CommittedPages(of: pool)
        var replica = try Replica(first)
        try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1, x'01')") }
        try check(replica.follow(first))
        let position = try require(LogPosition(first.position.bytes))
        check(position, equals: first.position)
        first.end()
        try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (2, x'02')") }

        let second = try CommittedPages(of: pool)
        try check(second.resume(at: position))
        try check(replica.follow(second))
        try check(replica.contents(at: database.path + ".replica"), equals: ["1 01", "2 02"])
        second.end()

        _ = try pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (3, x'03')") }
        let third = try CommittedPages(of: pool)
        try check(!third.resume(at: position))
        third.end()
    }
}
