import Foundation
import SecureKeys
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// The documentation's snippets for queues and pools alike.
struct AccessSnippets {
    @Test func `functions take a queue or a pool`() throws {
        func noteCount(in database: any SecureDatabaseReader) throws -> Int {
            try database.read { db in try db.int(forQuery: "SELECT count(*) FROM note") ?? 0 }
        }

        func add(_ text: String, to database: any SecureDatabaseWriter) throws -> Int64 {
            try database.write { db in
                try db.executeUpdate("INSERT INTO note (text) VALUES (?)", values: [text])
                return try db.lastInsertRowId()
            }
        }

        let file = try TemporaryDatabase()
        let url = file.url
        let queue = SecureDatabaseQueue(url: url)
        try queue.open(with: .passphrase("correct horse battery staple"))
        try queue.write { try $0.executeUpdate("CREATE TABLE note (id INTEGER PRIMARY KEY, text)") }
        try check(add("buy milk", to: queue), equals: 1)
        try check(noteCount(in: queue), equals: 1)
        queue.close()

        let pool = SecureDatabasePool(url: url)
        try pool.open(with: .passphrase("correct horse battery staple"))
        try check(add("call home", to: pool), equals: 2)
        try check(noteCount(in: pool), equals: 2)
    }

    private static let migrations: SchemaMigrations = {
        var migrations = SchemaMigrations()
        migrations.add("notes", sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text)")
        return migrations
    }()

    @Test func `a database is opened in one call`() async throws {
        let (migrations, file) = (Self.migrations, try TemporaryDatabase())
        let (databaseURL, keyStore) = (file.url, InMemoryKeyStore())
        try await withNotes(in: databaseURL.appendingPathExtension("1"), migrations)
        // begin
        let pool = try await SecureDatabasePool.open(
            at: databaseURL, keyIn: keyStore, named: "notes.db", migrations: migrations)
        // end
        try await check(pool.count(in: "note"), equals: 0)
        try open(databaseURL.appendingPathExtension("2"), migrations)
        try makeTemporary(migrations)
        try makeTemporaryPool(migrations)
    }

    private func withNotes(in url: URL, _ migrations: SchemaMigrations) async throws {
        let typed = "correct horse battery staple"
        // begin
        let pool = try await SecureDatabasePool.open(
            at: url, with: .passphrase(typed), migrations: migrations)
        // end
        // begin
        guard try await pool.verifyKey(.passphrase(typed)) else { return }
        // end
        try await check(pool.count(in: "note"), equals: 0)
    }

    private func open(_ url: URL, _ migrations: SchemaMigrations) throws {
        let key = SecretBytes.random(count: 32)
        // begin
        let queue = try SecureDatabaseQueue.open(at: url, with: .raw(key), migrations: migrations)
        // end
        try check(queue.count(in: "note"), equals: 0)
    }

    private func makeTemporary(_ migrations: SchemaMigrations) throws {
        // begin
        let queue = try SecureDatabaseQueue.temporary(migrations: migrations)
        try queue.write { db in
            try db.insert(["text": "buy milk"], into: "note")
        }
        // end
        try check(queue.count(in: "note"), equals: 1)
    }

    private func makeTemporaryPool(_ migrations: SchemaMigrations) throws {
        // begin
        let pool = try SecureDatabasePool.temporary(migrations: migrations)
        // end
        try check(pool.count(in: "note"), equals: 0)
        func add(_ text: String, to database: any SecureDatabaseWriter) throws {
            try database.write { try $0.insert(["text": text], into: "note") }
        }
        // begin
        for database: any SecureDatabaseWriter in [
            try SecureDatabaseQueue.temporary(migrations: migrations),
            try SecureDatabasePool.temporary(migrations: migrations),
        ] {
            try add("buy milk", to: database)
        }
        // end
    }
}
