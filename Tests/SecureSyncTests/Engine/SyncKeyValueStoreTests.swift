import Foundation
import ObjectStores
import SecureKeys
import SecureStorage
import SecureSync
import SyncTestKit
import TestSupport
import Testing

/// Key-value stores that several devices write.
struct SyncKeyValueStoreTests {
    private let simulation: SyncSimulation

    init() {
        var tables = SyncedTables()
        for name in ["settings", "Settings", "\u{e9}", "e\u{301}"] {
            tables.add(keyValueStore: name)
        }
        simulation = SyncSimulation(tables: tables, migrations: SchemaMigrations())
    }

    private func store(
        _ device: SyncSimulation.Device, _ name: String = "settings"
    ) throws -> SecureKeyValueStore {
        let queue = try require(device.database as? SecureDatabaseQueue)
        return try SecureKeyValueStore(databaseStore: queue.databaseStore, name: name)
    }

    private func pair() async throws -> (SecureKeyValueStore, SecureKeyValueStore) {
        let (phone, laptop) = (
            try await simulation.device("phone"), try await simulation.device("laptop")
        )
        try await simulation.settle()
        return (try store(phone), try store(laptop))
    }

    private func setOffline(_ isOffline: Bool) {
        for device in simulation.devices { device.isOffline = isOffline }
    }

    private func settle() async throws {
        setOffline(false)
        try await simulation.settle()
        try simulation.requireEqual()
    }

    private struct Theme: Codable, Equatable, Sendable {
        var name: String
        var sizes: [Int]
    }

    @Test func `values of each kind are on the other device as they were put`() async throws {
        let (phone, laptop) = try await pair()
        let theme = Theme(name: "dark \u{1f600}", sizes: [1, 2])
        let object = NSArray(array: ["a", 1])
        try await phone.put("text", forKey: "text")
        try await phone.put(Data([0, 255]), forKey: "bytes")
        try await phone.put(Date(timeIntervalSince1970: 1e9), forKey: "date")
        try await phone.put(1.5, forKey: "real")
        try await phone.put(nil as String?, forKey: "nil")
        try await phone.put(theme, forKey: "theme")
        try await phone.put(object, forKey: "object")
        try await phone.put("soon", forKey: "soon", expiresIn: .seconds(3600))
        try await settle()

        try await check(laptop.get("text"), equals: "text")
        try await check(laptop.get("bytes"), equals: Data([0, 255]))
        try await check(laptop.get("date"), equals: Date(timeIntervalSince1970: 1e9))
        try await check(laptop.get("real"), equals: 1.5)
        try await check(laptop.hasKey("nil"))
        try await check(laptop.get("nil"), equals: nil as String?)
        try await check(laptop.get("theme", as: Theme.self), equals: theme)
        let array: NSArray? = try await laptop.get("object")
        check(array, equals: object)
        try await check(laptop.get("soon"), equals: "soon")
        let keys = try await phone.keys()
        try await check(laptop.keys(), equals: keys)
    }

    @Test func `a file that only has a store is synced as in the guide`() async throws {
        let (home, other) = (try TemporaryDatabase(), try TemporaryDatabase())
        let (store, key) = (InMemoryObjectStore(), DatabaseKey.raw(SecretBytes.random(count: 32)))
        func device(_ path: String) throws -> (SecureKeyValueStore, SyncEngine) {
            let keyStore = InMemoryKeyStore()
            let settings = SecureKeyValueStore(fullDatabasePath: path, name: "My settings")
            try settings.open(with: key)
            // begin
            var tables = SyncedTables()
            tables.add(keyValueStore: settings.name)
            let sync = try SyncEngine(
                settings.database, tables: tables, store: store, keyStore: keyStore)
            // end
            return (settings, sync)
        }
        let (settings, sync) = try device(home.path)
        let (others, otherSync) = try device(other.path)
        try await settings.put("dark", forKey: "theme")
        try await sync.createGroup(deviceName: "phone")
        try await otherSync.join(
            try await sync.invite(.once), deviceName: "laptop", localRows: .keep)
        try await otherSync.syncOnce()
        try await check(others.get("theme"), equals: "dark")
        try await others.put("light", forKey: "theme")
        try await otherSync.syncOnce()
        try await sync.syncOnce()
        try await check(settings.get("theme"), equals: "light")
    }

    @Test func `stores travel under their names, whatever their numbers`() async throws {
        let phone = try await simulation.device("phone")
        _ = try store(phone, "of the phone only")
        let laptop = try await simulation.device("laptop")
        let names = ["settings", "Settings", "\u{e9}", "e\u{301}"]
        for (number, name) in names.enumerated() {
            try await store(laptop, name).put(number, forKey: "number")
        }
        try await settle()
        for (number, name) in names.enumerated() {
            try await check(store(phone, name).get("number"), equals: number)
        }
        try await check(store(phone, "of the phone only").keys().isEmpty)
    }

    @Test func `the later of two values under one key wins as a whole, and the other is listed`()
        async throws
    {
        let (phone, laptop) = try await pair()
        setOffline(true)
        try await laptop.put("light", forKey: "theme", expiresIn: .seconds(3600))
        try await phone.put(7, forKey: "theme")
        try await settle()
        for store in [phone, laptop] { try await check(store.get("theme"), equals: 7) }
        let row = "SELECT count(*) FROM securestorage_kv_1 WHERE expires IS NOT NULL"
        try await check(laptop.database.read { try $0.int(forQuery: row) }, equals: 0)

        for device in simulation.devices {
            let conflict = try require(
                device.engine.conflicts(inKeyValueStore: "settings").first)
            check(conflict.keyValueStore == "settings" && conflict.key == [.text("theme")])
            check(conflict.values["value"], equals: .text("light"))
            check(
                conflict.description,
                equals: "key-value store \"settings\": replaced, expires, value")
            try check(device.engine.conflicts(inKeyValueStore: "Settings").isEmpty)
        }
    }

    @Test func `a value that is put after a removal elsewhere stays, also one that was there`()
        async throws
    {
        let (phone, laptop) = try await pair()
        try await phone.put(1, forKey: "count")
        try await settle()
        setOffline(true)
        try await phone.remove("count")
        try await laptop.put(2, forKey: "count")
        try await settle()
        for store in [phone, laptop] { try await check(store.get("count"), equals: 2) }

        setOffline(true)
        try await laptop.put(3, forKey: "count")
        try await phone.removeAll()
        try await settle()
        for store in [phone, laptop] { try await check(store.keys().isEmpty) }
    }

    @Test func `reading what has expired removes nothing that another device has put`()
        async throws
    {
        let (phone, laptop) = try await pair()
        try await laptop.put("old", forKey: "token", expiresIn: .milliseconds(1))
        try await laptop.put("older", forKey: "other", expiresIn: .milliseconds(1))
        try await settle()
        try await Task.sleep(for: .milliseconds(5))
        setOffline(true)
        try await laptop.put("new", forKey: "token")
        // Later.
        try await check(phone.get("token"), equals: nil as String?)
        try await check(phone.get("other"), equals: nil as String?)
        try await settle()
        for store in [phone, laptop] { try await check(store.get("token"), equals: "new") }

        // Its own rows come and go as before.
        try await phone.put("newest", forKey: "other")
        try await settle()
        try await check(laptop.get("other"), equals: "newest")
        try await laptop.remove("other")
        try await settle()
        try await check(phone.keys(), equals: ["token"])
    }

    @Test func `a removal before the expiry reaches the others`() async throws {
        let (phone, laptop) = try await pair()
        try await phone.put("a", forKey: "token", expiresIn: .seconds(3600))
        try await settle()
        try await laptop.remove("token")
        try await settle()
        try await check(phone.hasKey("token"), equals: false)
    }

    @Test func `a snapshot carries what has not expired to a new device`() async throws {
        let (phone, _) = try await pair()
        try await phone.put("a", forKey: "stays")
        try await phone.put("b", forKey: "goes", expiresIn: .milliseconds(1))
        try await settle()
        try await Task.sleep(for: .milliseconds(5))
        try await check(phone.get("goes"), equals: nil as String?)
        let tablet = try await simulation.device("tablet")
        try await settle()
        try await check(store(tablet).keys(), equals: ["stays"])
    }

    @Test
    func `an observer of a key sees what other devices put`() async throws {
        let (phone, laptop) = try await pair()
        var values = laptop.values(forKey: "theme", as: String.self).makeAsyncIterator()
        try await check(values.next()?.get(), equals: .some(nil))
        try await phone.put("dark", forKey: "theme")
        try await settle()
        try await check(values.next()?.get(), equals: "dark")
    }

    @Test func `values of a store that a device does not sync yet wait for it`() throws {
        let phone = try CapturedFile("") { $0.add(keyValueStore: "settings") }
        try phone.run("INSERT INTO securestorage_kv_1 VALUES ('theme', 1, 'dark', NULL)")
        let changes = try phone.timestamped()
        check(
            changes.map(\.summary),
            equals: [
                "+ securestorage_kv/settings[theme] expires=null kind=1 value=dark"
            ])

        let laptop = try CapturedFile("", member: .numbered(2)) {
            $0.add(keyValueStore: "of the laptop")
        }
        let report = try laptop.write { try laptop.capture.apply(changes, in: laptop.db) }
        check(report.later == 1 && report.written == 0)
        var tables = SyncedTables()
        tables.add(keyValueStore: "settings")
        try laptop.write {
            try Capture(tables).install(in: laptop.db)
            _ = try Capture(tables).takeUpLater(in: laptop.db)
        }
        let settings = try SecureKeyValueStore(databaseStore: laptop.db, name: "settings")
        try check(settings.get("theme"), equals: "dark")
    }

    @Test func `what has expired leaves the file once all members know it, unsaid`() throws {
        let file = try CapturedFile("") { $0.add(keyValueStore: "settings") }
        let settings = try SecureKeyValueStore(databaseStore: file.db, name: "settings")
        func read() throws -> Int? {
            try check(settings.get("token"), equals: nil as String?)
            return try file.db.int(forQuery: "SELECT count(*) FROM securestorage_kv_1")
        }
        try file.run("INSERT INTO securestorage_kv_1 VALUES ('token', 1, 'old', 1)")
        try check(read(), equals: 1)
        try check(file.captured().count, equals: 1)
        try check(read(), equals: 1)
        let soon = UInt64(Date().timeIntervalSince1970 * 1000) + 1000
        try file.write { try file.capture.forget(through: StablePoint(time: soon), in: file.db) }
        try check(read(), equals: 0)
        try check(file.captured().isEmpty)
    }

    @Test func `a store that was made by a newer version of the library is refused`() throws {
        let file = try CapturedFile("") { $0.add(keyValueStore: "settings") }
        try file.run("UPDATE securestorage_kv SET version = 2")
        let error = #expect(throws: SecureStorageError.self) { try file.install() }
        check("\(try require(error))".contains("newer version"))
    }

    @Test func `a file whose store is gone is not taken for one that is synced`() throws {
        let file = try CapturedFile("") { $0.add(keyValueStore: "settings") }
        try file.run("DELETE FROM securestorage_kv")
        #expect(throws: SyncError.self) { try file.capture.verify(in: file.db) }
    }

    @Test func `an object without secure coding is not made of what other devices write`()
        async throws
    {
        let (phone, laptop) = try await pair()
        try await phone.put(Unsecured(), forKey: "object")
        try await settle()
        let error = await #expect(throws: SecureStorageError.self) {
            let _: Unsecured? = try await laptop.get("object")
        }
        check(error?.resultCode, equals: .misuse)
        #expect(throws: SecureStorageError.self) {
            let _: Unsecured? = try phone.get("object")
        }
        // In a store of this device alone it is.
        let queue = try require(simulation.devices.first?.database as? SecureDatabaseQueue)
        let local = try SecureKeyValueStore(in: queue, name: "local")
        try await local.put(Unsecured(), forKey: "object")
        let object: Unsecured? = try await local.get("object")
        check(object != nil)
    }
}

final class Unsecured: NSObject, NSCoding {
    override init() {}
    init?(coder: NSCoder) {}
    func encode(with coder: NSCoder) {}
}
