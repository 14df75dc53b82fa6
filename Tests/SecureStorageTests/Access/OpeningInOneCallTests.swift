import Foundation
import SecureStorage
import Testing
import TestSupport

/// `open(at:with:migrations:)`, the check of a key, and files that must exist.
struct OpeningInOneCallTests {
    private let database: TemporaryDatabase
    private let url: URL
    private static let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    init() throws {
        database = try TemporaryDatabase()
        url = URL(fileURLWithPath: database.path)
    }

    @Test func `one call opens the file and brings its schema up to date`() async throws {
        try Self.makeNew(url)
        var migrations = SchemaMigrations.notes
        migrations.add("folders", sql: "CREATE TABLE folder (id INTEGER PRIMARY KEY)")
        let pool = try await SecureDatabasePool.open(
            at: url, with: Self.key, migrations: migrations)
        try await check(pool.count(in: "folder"), equals: 0)
        await pool.close()
        let shared = try await SharedDatabase(
            at: url.deletingLastPathComponent().appendingPathComponent("shared.db")
        ).open(with: Self.key, migrations: migrations)
        try await check(shared.count(in: "folder"), equals: 0)
        await shared.close()
    }

    private static func makeNew(_ url: URL) throws {
        let queue = try queue(url)
        try check(queue.count(in: "note"), equals: 0)
        queue.close()
    }

    private static func queue(_ url: URL) throws -> SecureDatabaseQueue {
        try SecureDatabaseQueue.open(at: url, with: key, migrations: .notes)
    }

    @Test func `a failing migration leaves no new file, and an older one closed as it was`()
        throws
    {
        var wrong = SchemaMigrations.notes
        wrong.add("wrong", sql: "CREATE TABLE note (x)")
        for _ in 1...2 {
            check(
                storageError {
                    _ = try SecureDatabasePool.open(at: url, with: Self.key, migrations: wrong)
                } != nil)
            check(
                storageError {
                    _ = try SecureDatabaseQueue.open(at: url, with: Self.key, migrations: wrong)
                } != nil)
            if SecureDatabaseStore.exists(at: url) {
                try check(SecureDatabaseStore.remove(at: url))
            } else {
                try Self.queue(url).close()
            }
        }
        check(!SecureDatabaseStore.exists(at: url), "it was closed")
    }

    @Test func `a key is checked while the database is open`() async throws {
        let pool = SecureDatabasePool(url: url)
        try await pool.open(with: .passphrase("correct horse"))
        let queue = try Self.queue(url.appendingPathExtension("2"))
        for (key, isOfPool, isOfQueue) in [
            (DatabaseKey.passphrase("correct horse"), true, false),
            (.passphrase("correct horse "), false, false), (.passphrase(""), false, false),
            (Self.key, false, true), (.raw(.random(count: 32)), false, false),
            (.raw(.random(count: 31)), false, false),
        ] {
            try await check(pool.verifyKey(key), equals: isOfPool)
            try await check(queue.verifyKey(key), equals: isOfQueue)
            try Self.synchronously(pool, key, isOfPool)
        }
        try await pool.changeEncryptionKey(with: .passphrase("new"))
        try await check(pool.verifyKey(.passphrase("correct horse")), equals: false)
        try await check(pool.verifyKey(.passphrase("new")))
        await pool.close()
        await #expect(throws: SecureStorageError.closed) {
            try await pool.verifyKey(.passphrase("new"))
        }
    }

    private static func synchronously(
        _ pool: SecureDatabasePool, _ key: DatabaseKey, _ isKey: Bool
    ) throws {
        try check(pool.verifyKey(key), equals: isKey)
        try check(pool.read { try $0.verifyKey(key) }, equals: isKey)
    }

    @Test func `opening an open queue or pool with another key is an error`() throws {
        let queue = try Self.queue(url)
        let pool = try SecureDatabasePool.open(
            at: url.appendingPathExtension("2"), with: .passphrase("correct horse"))
        try queue.open(with: Self.key)
        try pool.open(with: .passphrase("correct horse"))
        try pool.read { _ in try pool.open(with: .passphrase("correct horse")) }
        for error in [
            storageError { try queue.open(with: .passphrase("typed")) },
            storageError { try pool.open(with: .passphrase("typed")) },
            storageError { try pool.read { _ in try pool.open(with: .passphrase("typed")) } },
        ] {
            guard case .authenticationFailed = error else {
                check(false, "\(error as Any)")
                continue
            }
        }
        check(queue.isOpen() && pool.isOpen())
    }

    @Test func `a file that must exist is not created, nor is its directory`() throws {
        var configuration = SecureDatabaseConfiguration()
        configuration.createsFile = false
        let missing = url.deletingLastPathComponent().appendingPathComponent("none")
            .appendingPathComponent("notes.db")
        for url in [url, missing] {
            let error = storageError {
                _ = try SecureDatabasePool.open(
                    at: url, with: Self.key, configuration: configuration)
            }
            check(error?.resultCode, equals: .cannotOpen, "\(error as Any)")
            check(!SecureDatabaseStore.exists(at: url))
        }
        check(!FileManager.default.fileExists(atPath: missing.deletingLastPathComponent().path))
        try Self.queue(url).close()
        let queue = try SecureDatabaseQueue.open(
            at: url, with: Self.key, configuration: configuration)
        try check(queue.read { try $0.count(in: "note") }, equals: 0)
    }
}
