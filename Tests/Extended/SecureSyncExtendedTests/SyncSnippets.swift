import Foundation
@testable import ObjectStores
import SecureKeys
@testable import SecureMirror
import SecureStorage
import SecureSync
import SyncTestKit
import Testing
import TestSupport
@testable import SecureSyncTests

/// The snippets about stores and mirrors, compiled and run; `DocumentationTests` compares the text.
struct SyncSnippets {
    private let home: TemporaryDatabase

    init() throws { home = try TemporaryDatabase() }

    @Test func `a database is mirrored and restored`() async throws {
        let pool = try home.openPool()
        defer { pool.close() }
        let folder = URL(fileURLWithPath: home.path).deletingLastPathComponent()
        let (share, url) = (
            folder.appendingPathComponent("share"), folder.appendingPathComponent("restored.db")
        )
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        let yesterday = Date()
        // begin
        let store = DirectoryObjectStore(directory: share)
        // end
        // begin
        let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
        let running = Task { try await mirror.run() }
        try await mirror.flush()
        // end
        running.cancel()
        _ = await running.result
        // begin
        try await DatabaseMirror.restore("notes", from: store, to: url, key: key)
        // end
        check(SecureDatabaseStore.exists(at: url))
        await #expect(throws: MirrorError.noMirror("notes")) {
            // begin
            try await DatabaseMirror.restore(
                "notes", from: store, to: url, key: key, at: .date(yesterday), replacing: true)
            // end
        }
    }

    @Test func `a mirror has settings, a history and a check`() async throws {
        let pool = try home.openPool()
        defer { pool.close() }
        let store = DirectoryObjectStore(
            directory: URL(fileURLWithPath: home.path).deletingLastPathComponent()
                .appendingPathComponent("share"))
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        // begin
        var settings = DatabaseMirror.Settings()
        settings.interval = .seconds(5)
        settings.keepsPoints = .seconds(7 * 24 * 3600)
        // end
        try await DatabaseMirror(of: pool, in: store, name: "notes", settings: settings).flush()
        // begin
        for generation in try await DatabaseMirror.history(of: "notes", in: store) {
            print(generation.begin, generation.end, generation.byteCount)
        }
        let report = try await DatabaseMirror.verify("notes", in: store, key: key)
        // end
        check(report.isSound)
    }

    @Test func `tables that count their keys get others, and columns new names`() async throws {
        let pool = try home.openPool()
        defer { pool.close() }
        var migrations = SchemaMigrations()
        migrations.add(
            "notes",
            sql: """
                CREATE TABLE folder (id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE note (id INTEGER PRIMARY KEY, folder REFERENCES folder (id), text);
                INSERT INTO folder (name) VALUES ('a'), ('b');
                INSERT INTO note (folder, text) VALUES (1, 'first'), (2, 'second'), (NULL, 'third');
                """)
        // begin
        migrations.add(
            "keys that no two devices give",
            sql: """
                CREATE TABLE folder_key (old INTEGER PRIMARY KEY, new TEXT NOT NULL);
                INSERT INTO folder_key SELECT id, lower(hex(randomblob(16))) FROM folder;
                CREATE TABLE new_folder (
                  id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(16)))), name TEXT);
                INSERT INTO new_folder
                  SELECT new, name FROM folder JOIN folder_key ON old = id;
                CREATE TABLE new_note (
                  id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(16)))),
                  folder TEXT REFERENCES folder (id) ON DELETE CASCADE, text TEXT);
                INSERT INTO new_note (folder, text)
                  SELECT new, text FROM note LEFT JOIN folder_key ON old = folder;
                DROP TABLE note;
                DROP TABLE folder;
                DROP TABLE folder_key;
                ALTER TABLE new_folder RENAME TO folder;
                ALTER TABLE new_note RENAME TO note;
                """)
        // end
        _ = try await pool.migrate(migrations)
        try await pool.write { db in
            try db.executeUpdate("INSERT INTO note (text) VALUES ('fourth')")
            try db.executeUpdate("ALTER TABLE note ADD COLUMN feeling")
        }
        var tables = SyncedTables()
        tables.add("folder")
        // begin
        tables.add("note", formerly: ["mood": "feeling"])
        // end
        let store = DirectoryObjectStore(
            directory: URL(fileURLWithPath: home.path).deletingLastPathComponent()
                .appendingPathComponent("share"))
        _ = try SyncEngine(pool, tables: tables, store: store, keyStore: InMemoryKeyStore())
        let rows = try await pool.read { db in
            try db.strings(
                """
                SELECT text || ' ' || ifnull(name, '-') || ' ' || length(note.id)
                FROM note LEFT JOIN folder ON folder = folder.id ORDER BY text
                """)
        }
        check(rows, equals: ["first a 32", "fourth - 32", "second b 32", "third - 32"])
    }

    @Test func `two devices have the same rows`() async throws {
        let folder = URL(fileURLWithPath: home.path).deletingLastPathComponent()
        let (pool, laptop) = (try home.openPool(), try TemporaryDatabase())
        let otherPool = try laptop.openPool()
        defer {
            pool.close()
            otherPool.close()
        }
        for pool in [pool, otherPool] {
            try await pool.write { db in
                try db.executeStatements(
                    """
                    CREATE TABLE note (
                      id TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL,
                      done INTEGER NOT NULL DEFAULT 0);
                    CREATE TABLE appointment (id TEXT PRIMARY KEY NOT NULL, begins, ends);
                    CREATE TABLE setting (name TEXT PRIMARY KEY NOT NULL, value);
                    """)
            }
        }
        let store = DirectoryObjectStore(directory: folder.appendingPathComponent("shared"))
        let keyStore = try FileKeyStore(directory: folder.appendingPathComponent("keys"))
        // begin
        var tables = SyncedTables()
        tables.add("note")
        let sync = try SyncEngine(pool, tables: tables, store: store, keyStore: keyStore)
        // end
        // begin
        let declared = try SyncedTables(declaredIn: pool)
        // end
        check(declared.declarations, equals: tables.declarations)
        // begin
        try await sync.createGroup(deviceName: "Anna's phone")
        let invitation = try await sync.invite(.once)
        print(invitation.code)
        // end
        let code = invitation.code
        // begin
        tables.add("appointment", together: [["begins", "ends"]])
        tables.add("setting", merging: .row)
        // end
        let otherKeys = try FileKeyStore(directory: folder.appendingPathComponent("other"))
        let other = try SyncEngine(
            otherPool, tables: tables, store: store, keyStore: otherKeys)
        // begin
        try await other.join(
            SyncInvitation(code: code), deviceName: "laptop", localRows: .keep)
        // end
        try await pool.write { db in
            try db.executeUpdate("INSERT INTO note (id, text) VALUES ('a', 'milk')")
        }
        try await sync.syncOnce()
        try await other.syncOnce()
        let text = try await otherPool.read { try $0.string(forQuery: "SELECT text FROM note") }
        check(text, equals: "milk")
        let running = Task {
            // begin
            try await sync.run()
            // end
        }
        // begin
        for conflict in try sync.conflicts(in: "note") {
            print(conflict.table, conflict.key, conflict.values, conflict.reason)
        }
        // end
        // begin
        for conflict in try sync.conflicts(inKeyValueStore: "settings") {
            print(conflict.key, conflict.values["value"] ?? .null)
        }
        // end
        for conflict in try sync.conflicts() {
            // begin
            try sync.forget(conflict)
            // end
        }
        let watching = Task {
            // begin
            for await status in sync.statuses { print(status.phase, status.waitingBatches) }
            // end
        }
        watching.cancel()
        // begin
        try await sync.reset()
        // end
        try await other.syncOnce()
        let members = try await sync.members()
        check(members.map(\.name), equals: ["Anna's phone", "laptop"])
        let member = try require(members.last)
        // begin
        for member in try await sync.members() { print(member.name, member.lastHeard as Any) }
        try await sync.remove(member)
        // end
        await #expect(throws: SyncError.notAMember) { try await other.syncOnce() }
        running.cancel()
        _ = await running.result
    }

    @Test func `the devices of a test share a clock and a store`() async throws {
        var tables = SyncedTables()
        tables.add("note")
        var migrations = SchemaMigrations()
        migrations.add(
            "notes", sql: "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL)")
        // begin
        let simulation = SyncSimulation(tables: tables, migrations: migrations)
        let phone = try await simulation.device("phone")
        let laptop = try await simulation.device("laptop", clockError: .seconds(-300))
        try await phone.database.write {
            try $0.executeUpdate("INSERT INTO note (id, text) VALUES ('a', 'milk')")
        }
        try await simulation.settle()

        phone.isOffline = true
        try await phone.database.write { try $0.executeUpdate("UPDATE note SET text = 'cream'") }
        simulation.advance(by: .seconds(3600))
        try await laptop.database.write { try $0.executeUpdate("UPDATE note SET text = 'butter'") }
        phone.isOffline = false
        try await simulation.settle()

        try simulation.requireEqual()
        let lost = try phone.engine.conflicts(in: "note").map(\.values)
        // end
        check(lost, equals: [["text": .text("cream")]])
        let text = try await laptop.database.read {
            try $0.string(forQuery: "SELECT text FROM note")
        }
        check(text, equals: "butter")
    }

    private func MyStore() -> DirectoryObjectStore {
        DirectoryObjectStore(
            directory: URL(fileURLWithPath: home.path).deletingLastPathComponent()
                .appendingPathComponent("mine"))
    }

    // begin
    @Test(arguments: StoreConformance.Check.allCases)
    func `my store is one`(_ check: StoreConformance.Check) async throws {
        try await StoreConformance(under: "test/\(check)/".lowercased()) { MyStore() }.run(check)
    }
    // end
}
