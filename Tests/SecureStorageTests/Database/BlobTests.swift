import Foundation
import SecureStorage
import SecureStoragePlatform
import Testing
import TestSupport

/// Values that are read and written in parts.
struct BlobTests {
    private static let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 / 7) })

    private static func makeFiles(_ db: SecureDatabaseStore) throws {
        try db.executeUpdate(
            "CREATE TABLE file (id INTEGER PRIMARY KEY, name TEXT, number INTEGER, body BLOB)")
        try db.executeUpdate(
            "INSERT INTO file VALUES (1, 'one', 7, ?), (2, 'two', 8, x'0102')", values: [body])
    }

    private static func open(_ database: TemporaryDatabase) throws -> SecureDatabaseStore {
        let db = try database.openStore()
        try makeFiles(db)
        return db
    }

    @Test func `a value is read at any offset`() throws {
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        try db.withBlob(table: "file", column: "body", rowID: 1) { blob in
            check(blob.count, equals: 300_000)
            try check(blob.read(at: 0, count: 10), equals: Self.body.prefix(10))
            try check(blob.read(at: 123_456, count: 50_000), equals: Self.body[123_456..<173_456])
            try check(blob.read(at: 299_990, count: 100), equals: Self.body.suffix(10))
            try check(blob.read(at: 300_000, count: 100), equals: Data())
            var bytes = [UInt8](repeating: 0, count: 5)
            try bytes.withUnsafeMutableBytes { try blob.read(into: $0, at: 3) }
            check(Data(bytes), equals: Self.body[3..<8])
            try blob.move(toRowID: 2)
            try check(blob.read(at: 0, count: 9), equals: Data([1, 2]))
        }
        try check(
            db.withBlob(table: "file", column: "name", rowID: 2) {
                try $0.read(at: 1, count: 9)
            }, equals: Data("wo".utf8))
    }

    @Test func `bytes are overwritten in place, in a transaction`() throws {
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        try db.executeUpdate("UPDATE file SET body = zeroblob(?) WHERE id = 2", values: [200_000])
        try db.withBlob(table: "file", column: "body", rowID: 2, isWritable: true) { blob in
            for start in stride(from: 0, to: 200_000, by: 60_000) {
                try blob.write(Self.body[start..<min(start + 60_000, 200_000)], at: start)
            }
            try blob.write([UInt8](repeating: 9, count: 3), at: 199_997)
        }
        let stored = try db.data(forQuery: "SELECT body FROM file WHERE id = 2")
        check(stored, equals: Self.body.prefix(199_997) + Data([9, 9, 9]))
        try check(db.verifyIntegrity().isSound)
        struct Refused: Error {}
        #expect(throws: Refused.self) {
            try db.withBlob(table: "file", column: "body", rowID: 2, isWritable: true) { blob in
                try blob.write(Data(count: 100_000), at: 0)
                throw Refused()
            }
        }
        try check(db.data(forQuery: "SELECT body FROM file WHERE id = 2"), equals: stored)
    }

    @Test func `what cannot be done is a typed error`() throws {
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        func error(
            _ column: String, _ row: Int64, _ body: (SecureDatabaseBlob) throws -> Void = { _ in }
        )
            -> SecureStorageError?
        {
            storageError {
                try db.withBlob(table: "file", column: column, rowID: row, isWritable: true, body)
            }
        }
        check(error("body", 9)?.description.contains("no such rowid: 9"), equals: true)
        check(error("none", 1)?.description.contains("no such column"), equals: true)
        check(error("number", 1)?.resultCode?.primary, equals: .error)
        check(error("body", 2) { try $0.write([1, 2, 3], at: 0) }?.resultCode, equals: .range)
        check(error("body", 2) { try $0.write([1], at: -1) }?.resultCode, equals: .range)
        check(error("body", 2) { _ = try $0.read(at: 3, count: 1) } == nil)
        let changed = error("body", 2) { blob in
            try db.executeUpdate("UPDATE file SET body = x'03' WHERE id = 2")
            _ = try blob.read(at: 0, count: 1)
        }
        check(changed?.resultCode?.primary, equals: .abort)
        let closed = error("body", 2) { blob in
            db.close()
            _ = try blob.read(at: 0, count: 1)
        }
        check(closed, equals: .closed)
        check(db.isOpen(), equals: false)
        try db.open(with: TemporaryDatabase.key)
        var escaped: SecureDatabaseBlob?
        try db.withBlob(table: "file", column: "body", rowID: 2) { escaped = $0 }
        check(storageError { _ = try escaped?.read(at: 0, count: 1) }, equals: .closed)
        let readOnly = storageError {
            try db.withBlob(table: "file", column: "body", rowID: 2) { try $0.write([1], at: 0) }
        }
        check(readOnly?.resultCode?.primary, equals: .readOnly)
    }

    @Test func `a read of a queue or a pool writes no value`() throws {
        let database = try TemporaryDatabase()
        let queue = SecureDatabaseQueue(databaseStore: try Self.open(database))
        let error = storageError {
            try queue.read { db in
                try db.withBlob(table: "file", column: "body", rowID: 2, isWritable: true) {
                    try $0.write([9], at: 0)
                }
            }
        }
        check(error?.resultCode?.primary, equals: .readOnly)
        try check(
            queue.inDatabase { try $0.data(forQuery: "SELECT body FROM file WHERE id = 2") },
            equals: Data([1, 2]))
    }

    @Test func `observers receive the rows whose values were written`() async throws {
        let database = try TemporaryDatabase()
        let pool = try database.openPool()
        defer { pool.close() }
        try await pool.write { try Self.makeFiles($0) }
        var changes = pool.changes().makeAsyncIterator()
        try await pool.write { db in
            try db.withBlob(table: "FILE", column: "body", rowID: 2, isWritable: true) {
                try $0.write([7], at: 1)
            }
        }
        let change = await changes.next()
        check(change?.mayAffect("file"), equals: true)
        check(change?.hasUnknownTables, equals: false)
        check(change?.tables.values.map(\.kinds), equals: [.update])
    }

    @Test func `a damaged page of a value is an error, and not zeros`() throws {
        let database = try TemporaryDatabase()
        let db = try Self.open(database)
        try db.checkpoint(.truncate)
        db.close()
        // All pages but those of the schema and of the row's beginning.
        var content = try Data(contentsOf: database.url)
        for page in 3..<content.count / 4096 { content[page * 4096 + 100] ^= 1 }
        try content.write(to: database.url)
        let again = try database.openStore()
        var errors = 0
        for offset in [50_000, 100_000, 299_990] {
            let error = storageError {
                _ = try again.withBlob(table: "file", column: "body", rowID: 1) {
                    try $0.read(at: offset, count: 10)
                }
            }
            if error != nil { errors += 1 }
        }
        check(errors, equals: 3)
    }

    @Test func `a value is streamed out and in, in a snapshot`() async throws {
        let database = try TemporaryDatabase()
        let pool = try database.openPool()
        defer { pool.close() }
        try await pool.write { try Self.makeFiles($0) }
        var read = Data()
        for try await chunk in pool.chunks(table: "file", column: "body", rowID: 1, chunkSize: 7000)
        {
            if read.isEmpty {
                try await pool.write { try $0.executeUpdate("UPDATE file SET body = NULL") }
            }
            read += chunk
        }
        check(read, equals: Self.body)

        let steps = Shared<[Int]>([])
        let chunks = AsyncStream<Data> { continuation in
            for start in stride(from: 0, to: Self.body.count, by: 99_999) {
                continuation.yield(Self.body[start..<min(start + 99_999, Self.body.count)])
            }
            continuation.finish()
        }
        try await pool.write(
            chunks, count: Self.body.count, table: "file", column: "body", rowID: 2
        ) { progress in steps.withLock { $0.append(progress.completed) } }
        check(steps.current, equals: [99_999, 199_998, 299_997, 300_000])
        let stored = try await pool.read {
            try $0.data(forQuery: "SELECT body FROM file WHERE id = 2")
        }
        check(stored, equals: Self.body)
    }

    @Test func `a value of 40 MB is streamed in and out with a few megabytes of memory`()
        async throws
    {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success) { [path = database.path as String] in
            try await Self.stream(megabytes: 1, path + ".first")
            let before = peakMemory()
            try await Self.stream(megabytes: 40, path)
            check(peakMemory() - before < 16 << 20)
        }
    }

    private static func stream(megabytes: Int, _ path: String) async throws {
        var configuration = SecureDatabaseConfiguration()
        configuration.cacheSize = 1 << 20
        let pool = SecureDatabasePool(fullDatabasePath: path, configuration: configuration)
        try await pool.open(with: .raw(TemporaryDatabase.key))
        try await pool.write { try makeFiles($0) }
        let chunk = Data(repeating: 7, count: 1 << 20)
        let rest = Locked(megabytes)
        let chunks = AsyncStream<Data> {
            rest.withLock { rest in
                rest -= 1
                return rest >= 0 ? chunk : nil
            }
        }
        try await pool.write(
            chunks, count: megabytes << 20, table: "file", column: "body", rowID: 1)
        var size = 0
        for try await chunk in pool.chunks(table: "file", column: "body", rowID: 1) {
            size += chunk.count
        }
        check(size, equals: megabytes << 20)
        await pool.close()
    }

    @Test func `a stream that fails, is too long or too short, or is cancelled changes nothing`()
        async throws
    {
        struct Broken: Error {}
        let database = try TemporaryDatabase()
        let pool = try database.openPool()
        defer { pool.close() }
        try await pool.write { try Self.makeFiles($0) }
        func write(_ count: Int, _ chunks: AsyncThrowingStream<[UInt8], any Error>) async throws {
            try await pool.write(chunks, count: count, table: "file", column: "body", rowID: 1)
        }
        func stream(_ count: Int, _ error: (any Error)? = nil) -> AsyncThrowingStream<
            [UInt8], any Error
        > {
            AsyncThrowingStream { continuation in
                for _ in 0..<count { continuation.yield([1, 2, 3]) }
                continuation.finish(throwing: error)
            }
        }
        await #expect(throws: Broken.self) { try await write(9, stream(2, Broken())) }
        await #expect(throws: SecureStorageError.self) { try await write(8, stream(3)) }
        await #expect(throws: SecureStorageError.self) { try await write(10, stream(3)) }
        await #expect(throws: SecureStorageError.self) {
            try await pool.write(stream(3), count: 9, table: "file", column: "body", rowID: 77)
        }
        // A stream that never ends by itself.
        let endless = AsyncThrowingStream<[UInt8], any Error> { $0.yield([1]) }
        let task = Task {
            try await pool.write(endless, count: 9, table: "file", column: "body", rowID: 1)
        }
        try await Task.sleep(for: .milliseconds(50))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let stored = try await pool.read {
            try $0.data(forQuery: "SELECT body FROM file WHERE id = 1")
        }
        check(stored, equals: Self.body)
        try await write(9, stream(3))
        let changed = try await pool.read {
            try $0.data(forQuery: "SELECT body FROM file WHERE id = 1")
        }
        check(changed, equals: Data([1, 2, 3, 1, 2, 3, 1, 2, 3]))
    }
}
