import Foundation
import SecureKeys
import SecureStorage
import SecureSync
import TestSupport
import Testing

@testable import SyncSimulator
@testable import SecureSyncTests

/// Apps whose schema changes while their devices sync, some of them later than others.
struct SyncMigrationTests {
    private let objects = SimulatedObjects()

    /// A device with a version of the app.
    private final class Device {
        let name: String
        let store: SimulatedStore
        let keyStore = InMemoryKeyStore()
        let database: TemporaryDatabase
        let queue: SecureDatabaseQueue
        private(set) var engine: SyncEngine

        init(_ name: String, _ objects: SimulatedObjects, _ add: (inout SyncedTables) -> Void)
            throws
        {
            self.name = name
            store = SimulatedStore(objects)
            database = try TemporaryDatabase()
            queue = SecureDatabaseQueue(url: database.url)
            try queue.open(with: .raw(TemporaryDatabase.key))
            _ = try queue.migrate(SyncMigrationTests.first)
            engine = try Self.engine(queue, store, keyStore, add)
        }

        private static func engine(
            _ queue: SecureDatabaseQueue, _ store: SimulatedStore, _ keyStore: InMemoryKeyStore,
            _ add: (inout SyncedTables) -> Void
        ) throws -> SyncEngine {
            var tables = SyncedTables()
            add(&tables)
            return try SyncEngine(queue, tables: tables, store: store, keyStore: keyStore)
        }

        /// The app's next version; `writing` is run between its migrations and its engine.
        func upgrade(
            _ migrations: SchemaMigrations, writing sql: String = "",
            _ add: (inout SyncedTables) -> Void
        ) throws {
            _ = try queue.migrate(migrations)
            try write(sql)
            engine = try Self.engine(queue, store, keyStore, add)
        }

        func write(_ sql: String) throws { try queue.write { try $0.executeStatements(sql) } }

        func rows(_ sql: String) throws -> [String?] { try queue.read { try $0.strings(sql) } }
    }

    private static let first = {
        var migrations = SchemaMigrations()
        migrations.add(
            "notes",
            sql: "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, text TEXT UNIQUE, mood TEXT)")
        return migrations
    }()

    private static func second(_ sql: String, syncing: Bool = true) -> SchemaMigrations {
        var migrations = first
        migrations.add("second", sql: sql, syncing: syncing)
        return migrations
    }

    private static func note(_ tables: inout SyncedTables) { tables.add("note") }

    private func pair() async throws -> (phone: Device, laptop: Device) {
        let phone = try Device("phone", objects, Self.note)
        let laptop = try Device("laptop", objects, Self.note)
        try await phone.engine.createGroup(deviceName: "phone")
        try await laptop.engine.join(
            try await phone.engine.invite(.once, role: .admin), deviceName: "laptop",
            localRows: .keep)
        try phone.write("INSERT INTO note VALUES ('a', 'a', 'calm'), ('b', 'b', 'calm')")
        try await settle(phone, laptop)
        return (phone, laptop)
    }

    private func settle(_ devices: Device...) async throws {
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
    }

    @Test func `a step can drop a synced column, and what was and is written is sent`()
        async throws
    {
        let (phone, laptop) = try await pair()
        try phone.write("UPDATE note SET text = 'before', mood = 'gone' WHERE id = 'a'")
        try phone.upgrade(
            Self.second("ALTER TABLE note DROP COLUMN mood"),
            writing: "INSERT INTO note VALUES ('c', 'between'); DELETE FROM note WHERE id = 'b'",
            Self.note)
        try phone.write("INSERT INTO note VALUES ('d', 'after')")
        try await settle(phone, laptop)
        for device in [phone, laptop] {
            try check(
                device.rows("SELECT id || ' ' || text FROM note ORDER BY id"),
                equals: ["a before", "c between", "d after"])
        }
        try laptop.write("UPDATE note SET mood = 'kept' WHERE id = 'a'")
        try laptop.upgrade(Self.second("ALTER TABLE note DROP COLUMN mood"), Self.note)
        try laptop.write("UPDATE note SET text = 'last' WHERE id = 'a'")
        try await settle(phone, laptop)
        try check(phone.rows("SELECT text FROM note WHERE id = 'a'"), equals: ["last"])
    }

    @Test func `a table that a step rebuilds is captured as before`() async throws {
        let (phone, laptop) = try await pair()
        try phone.upgrade(
            Self.second(
                """
                CREATE TABLE new (id TEXT PRIMARY KEY NOT NULL, text TEXT, mood TEXT DEFAULT 'x');
                INSERT INTO new SELECT * FROM note;
                DROP TABLE note;
                ALTER TABLE new RENAME TO note;
                """),
            writing: "UPDATE note SET mood = 'between' WHERE id = 'a'", Self.note)
        try phone.write("INSERT INTO note (id, text) VALUES ('c', 'c')")
        try await settle(phone, laptop)
        try check(
            laptop.rows("SELECT id || mood FROM note ORDER BY id"),
            equals: ["abetween", "bcalm", "cx"])
    }

    @Test func `a step that is not sent does not win over later edits of others`()
        async throws
    {
        let (phone, laptop) = try await pair()
        let migrations = Self.second(
            """
            UPDATE note SET mood = 'new' WHERE mood = 'calm';
            ALTER TABLE note ADD COLUMN colour TEXT;
            UPDATE note SET colour = 'white';
            """, syncing: false)
        try phone.upgrade(migrations, Self.note)
        try phone.write("UPDATE note SET mood = 'glad', colour = 'red' WHERE id = 'a'")
        // It has heard of nothing.
        try laptop.upgrade(migrations, Self.note)
        try await settle(phone, laptop)
        for device in [phone, laptop] {
            try check(
                device.rows("SELECT id || mood || colour FROM note ORDER BY id"),
                equals: ["agladred", "bnewwhite"])
            try check(device.engine.conflicts().isEmpty)
        }
    }

    @Test func `what a step writes is sent as any write is`() async throws {
        let (phone, laptop) = try await pair()
        let migrations = Self.second("UPDATE note SET mood = upper(mood)")
        try phone.upgrade(migrations, Self.note)
        try await settle(phone, laptop)
        try check(laptop.rows("SELECT DISTINCT mood FROM note"), equals: ["CALM"])
        // By an older version, after the step.
        try laptop.write("UPDATE note SET mood = 'late' WHERE id = 'a'")
        try await settle(laptop, phone)
        try laptop.upgrade(migrations, Self.note)
        try await settle(laptop, phone)
        for device in [phone, laptop] {
            try check(device.rows("SELECT mood FROM note ORDER BY id"), equals: ["LATE", "CALM"])
        }
    }

    @Test func `a step that fills the column it has added is sent if it installs the triggers`()
        async throws
    {
        let (phone, laptop) = try await pair()
        var migrations = Self.first
        migrations.add("colours") { db in
            try db.executeStatements("ALTER TABLE note ADD COLUMN colour TEXT")
            // Of a later version, which has a table more, and another name for a column.
            var tables = SyncedTables()
            tables.add("note", together: [["text", "later"]], formerly: ["mood": "feeling"])
            tables.add("later")
            try tables.installTriggers(in: db)
            try db.executeStatements("UPDATE note SET colour = 'phone'")
        }
        try phone.upgrade(migrations, Self.note)
        try laptop.upgrade(
            Self.second("ALTER TABLE note ADD COLUMN colour TEXT DEFAULT 'none'"), Self.note)
        try await settle(phone, laptop)
        try check(laptop.rows("SELECT DISTINCT colour FROM note"), equals: ["phone"])
    }

    @Test func `a column that was renamed is the same one on devices that are behind`()
        async throws
    {
        let (phone, laptop) = try await pair()
        let migrations = Self.second("ALTER TABLE note RENAME COLUMN mood TO feeling")
        func add(_ tables: inout SyncedTables) {
            tables.add("note", formerly: ["mood": "feeling"])
        }
        // One of the two is held back: the name is taken.
        try laptop.write("INSERT INTO note VALUES ('x', 'same', 'laptop')")
        try await laptop.engine.syncOnce()
        try phone.write("INSERT INTO note VALUES ('y', 'same', 'phone')")
        try await settle(phone, laptop)
        try check(phone.rows("SELECT id FROM note WHERE text = 'same'"), equals: ["x"])

        try phone.write("UPDATE note SET mood = 'unsent' WHERE id = 'a'")
        try phone.upgrade(migrations, add)
        try phone.write("INSERT INTO note VALUES ('c', 'c', 'phone')")
        try laptop.write("UPDATE note SET mood = 'laptop' WHERE id = 'b'")
        try laptop.write("INSERT INTO note VALUES ('d', 'd', 'laptop')")
        try await settle(phone, laptop)
        let feelings = "SELECT id || ' ' || feeling FROM note ORDER BY id"
        let expected = ["a unsent", "b laptop", "c phone", "d laptop", "x laptop"]
        try check(phone.rows(feelings), equals: expected)

        // From the rows of the older version, which has no values under the former name.
        let tablet = try Device("tablet", objects, Self.note)
        try tablet.upgrade(migrations, add)
        try await tablet.engine.join(
            try await laptop.engine.invite(.once, role: .admin), deviceName: "tablet",
            localRows: .keep)
        try await settle(tablet)
        try check(tablet.rows(feelings), equals: expected)

        try laptop.write("UPDATE note SET mood = 'last' WHERE id = 'b'")
        try laptop.upgrade(migrations, add)
        try laptop.write("DELETE FROM note WHERE id = 'x'")
        try await settle(phone, laptop)
        for device in [phone, laptop] {
            try check(
                device.rows(feelings),
                equals: ["a unsent", "b last", "c phone", "d laptop", "y phone"])
        }
    }

    @Test func `a former name that is a column's, or of no column, is refused`() throws {
        let device = try Device("phone", objects, Self.note)
        for (names, together) in [
            (["mood": "feeling"], []), (["text": "mood"], []), (["old": "id"], []),
            (["old": "mood"], [["text", "mood"]]),
        ] {
            var tables = SyncedTables()
            tables.add("note", together: together, formerly: names)
            #expect(throws: SyncError.self) {
                try SyncEngine(
                    device.queue, tables: tables, store: device.store, keyStore: device.keyStore)
            }
        }
    }

    @Test func `another tool's migration removes the triggers, and the next engine makes them`()
        async throws
    {
        let (phone, laptop) = try await pair()
        try phone.write("UPDATE note SET text = 'before' WHERE id = 'a'")
        try await phone.queue.write { db in
            try SyncedTables.removeTriggers(in: db)
            try db.executeStatements("ALTER TABLE note DROP COLUMN mood")
        }
        await #expect(throws: SyncError.captureWasOff("note")) {
            try await phone.engine.syncOnce()
        }
        try phone.upgrade(Self.first, Self.note)
        try phone.write("UPDATE note SET text = 'after' WHERE id = 'b'")
        try await settle(phone, laptop)
        try check(laptop.rows("SELECT text FROM note ORDER BY id"), equals: ["before", "after"])
    }
}
