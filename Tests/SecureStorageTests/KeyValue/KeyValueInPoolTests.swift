import Foundation
import SecureStorage
import Testing
import TestSupport

/// A store in a database that a pool or a queue has open.
struct KeyValueInPoolTests {
    let database: TemporaryDatabase
    let pool: SecureDatabasePool

    init() throws {
        database = try TemporaryDatabase()
        pool = try database.openPool()
    }

    private func queue() throws -> SecureDatabaseQueue {
        SecureDatabaseQueue(databaseStore: try database.openStore())
    }

    @Test func `every call works in a pool, and other connections see the same`() throws {
        let settings = try SecureKeyValueStore(in: pool, name: "settings")
        try settings.put("dark", forKey: "theme")
        try settings.put(["1", "2"], forKey: "numbers")
        try settings.put(NSString(string: "object"), forKey: "object")
        try check(settings.getString("theme"), equals: "dark")
        try check(settings.get("numbers", as: [String].self), equals: ["1", "2"])
        try check(
            settings.getAll(keys: ["theme", "x"], as: String.self), equals: ["theme": "dark"])
        try check(settings.compareAndSet("theme", expected: "dark", new: "light"))
        try check(settings.keys(withPrefix: ""), equals: ["numbers", "object", "theme"])
        try check(settings.remove("numbers") && settings.count() == 2)
        let other = try SecureKeyValueStore(in: queue(), name: "settings")
        try check(other.getString("theme"), equals: "light")
        try settings.removeAll()
        try check(other.keys().isEmpty)
    }

    @Test func `every asynchronous call works in a pool`() async throws {
        let settings = try SecureKeyValueStore(in: pool)
        try await settings.put("dark", forKey: "theme")
        try await settings.put(1, for: KeyValueKey<Int>("number"))
        try await check(settings.get("theme"), equals: "dark")
        try await check(
            settings.getAll(keys: ["number", "x"], as: Int.self), equals: ["number": 1])
        try await check(settings.compareAndSet("number", expected: 1, new: Int?.none))
        try await check(settings.hasKey("number") == false)
        try await check(settings.keys(), equals: ["theme"])
        try await check(settings.remove("theme"))
        try await check(settings.count(), equals: 0)
    }

    @Test func `a read of a pool's store does not wait for a writer`() throws {
        let settings = try SecureKeyValueStore(in: pool)
        try settings.put(1, forKey: "n")
        try pool.write { _ in
            // On another thread: inside the block it would be part of it.
            let done = DispatchSemaphore(value: 0)
            let seen = Box<Int?>(nil)
            Thread.detachNewThread {
                seen.value = try? settings.getInt("n")
                done.signal()
            }
            try require(done.wait(timeout: .now() + 120) == .success)
            check(seen.value, equals: 1)
        }
    }

    @Test(arguments: [true, false])
    func `what a block puts is committed or rolled back with its rows`(_ isPool: Bool) throws {
        let writer: any SecureDatabaseWriter = isPool ? pool : try queue()
        let settings = try SecureKeyValueStore(in: writer)
        try writer.write { db in
            try db.executeUpdate("CREATE TABLE note (text)")
            try settings.put(1, forKey: "notes")
        }
        #expect(throws: CancellationError.self) {
            try writer.write { db -> Void in
                try db.executeUpdate("INSERT INTO note VALUES ('milk')")
                try settings.put(2, forKey: "notes")
                try check(settings.getInt("notes"), equals: 2)
                throw CancellationError()
            }
        }
        try check(settings.getInt("notes"), equals: 1)
        try check(writer.read { try $0.int(forQuery: "SELECT count(*) FROM note") }, equals: 0)
    }

    @Test(arguments: [true, false])
    func `in a block that only reads, values are read and nothing is put`(_ isPool: Bool) throws {
        let writer: any SecureDatabaseWriter = isPool ? pool : try queue()
        let settings = try SecureKeyValueStore(in: writer)
        try settings.put("x", forKey: "a")
        try settings.put("gone", forKey: "old", expiresIn: .zero)
        try writer.read { _ in
            try check(settings.getString("a"), equals: "x")
            try check(settings.getString("old") == nil)
            check(storageError { try settings.put("y", forKey: "a") } != nil)
        }
        try check(settings.getString("a"), equals: "x")
    }

    @Test func `a store made before its pool is opened has its table at the first call`()
        async throws
    {
        let file = try TemporaryDatabase()
        let pool = SecureDatabasePool(url: file.url)
        let settings = try SecureKeyValueStore(in: pool, name: "a")
        let others = try SecureKeyValueStore(in: pool, name: "b")
        await #expect(throws: SecureStorageError.closed) {
            let _: String? = try await settings.get("x")
        }
        try await pool.open(with: .raw(TemporaryDatabase.key))
        try await check(settings.hasKey("x") == false)
        try await check(others.count(), equals: 0)
        try await others.put(1, forKey: "x")
        await pool.close()
        await check(settings.isOpen() == false)
        // The store opens and closes the pool as well.
        try await settings.open(with: .raw(TemporaryDatabase.key))
        try await check(others.get("x"), equals: 1)
        await settings.close()
        check(!pool.isOpen())
    }

    @Test func `a missing table is named in a block that only reads`() throws {
        let file = try TemporaryDatabase()
        let pool = SecureDatabasePool(url: file.url)
        let settings = try SecureKeyValueStore(in: pool)
        try pool.open(with: .raw(TemporaryDatabase.key))
        let error = storageError { _ = try pool.read { _ in try settings.getString("x") } }
        check("\(error, default: "none")".contains("no key-value store of this name"))
    }

    @Test func `a pool's key is changed by its store, for both`() throws {
        let settings = try SecureKeyValueStore(in: pool)
        try settings.put(1, forKey: "n")
        let key = DatabaseKey.raw(.random(count: 32))
        try settings.changeEncryptionKey(with: key)
        try check(settings.getInt("n"), equals: 1)
        pool.close()
        try pool.open(with: key)
        try check(settings.getInt("n"), equals: 1)
    }

    @Test func `changes of a value in a pool are observed`() async throws {
        let settings = try SecureKeyValueStore(in: pool)
        var values = settings.values(forKey: "n", as: Int.self).makeAsyncIterator()
        let first = await values.next()
        try check(first?.get() == Int?.none)
        try await settings.put(1, forKey: "n")
        try await check(values.next()?.get() == 1)
    }

    @Test func `a file with settings of its own has a store`() throws {
        let file = try TemporaryDatabase()
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher.plaintextHeaderSize = 32
        let settings = SecureKeyValueStore(url: file.url, configuration: configuration)
        try settings.open(with: TemporaryDatabase.key)
        try settings.put(1, forKey: "n")
        check(try Data(contentsOf: file.url).starts(with: Data("SQLite format 3\0".utf8)))
    }
}

private final class Box<Value>: @unchecked Sendable {
    // @unchecked: a semaphore comes between the two accesses.
    var value: Value
    init(_ value: Value) { self.value = value }
}
