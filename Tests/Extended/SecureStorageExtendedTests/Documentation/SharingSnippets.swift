import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// The snippets of `Docs/Sharing.md`; see `DocumentedSnippets`.
struct SharingSnippets {
    let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    @Test func `one file shared by several processes`() throws {
        let directory = database.directory
        let key = DatabaseKey.passphrase("correct horse battery staple")
        var migrations = SchemaMigrations()
        migrations.add("notes", sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)")
        // begin
        let shared = SharedDatabase(at: directory.appendingPathComponent("notes.db"))
        let pool = try shared.open(with: key, migrations: migrations)
        // end
        func read() throws {
            // begin
            guard let pool = try shared.openReadOnly(with: key) else {
                return  // the app has not made it yet
            }
            // end
            try check(pool.read { try $0.int(forQuery: "SELECT count(*) FROM note") }, equals: 0)
        }
        try read()
        // begin
        do {
            try pool.write { db in
                try db.executeUpdate("INSERT INTO note (text) VALUES ('buy milk')")
            }
        } catch let error as SecureStorageError where error.isBusy {
            // Another process has been writing all the time. Nothing was written; try again later.
        }
        // end
        // begin
        pool.suspend()  // ends what runs, or interrupts it, and closes all connections
        pool.resume()  // the next call opens the file again; no key derivation
        // end
        try check(pool.read { try $0.int(forQuery: "SELECT count(*) FROM note") }, equals: 1)
    }

    @Test func `changes as they arrive`() async throws {
        let pool = try database.openPool()
        try await pool.write { try $0.executeUpdate("CREATE TABLE note (id INTEGER PRIMARY KEY)") }
        let watching = Task {
            // begin
            for await change in pool.changes(in: ["note"]) {
                print(
                    change.includesForeign ? "another process" : "this process",
                    change.tables.keys.sorted())
            }
            // end
            return true
        }
        try await pool.write { try $0.executeUpdate("INSERT INTO note DEFAULT VALUES") }
        watching.cancel()
        await check(watching.value)
    }
}
