import Foundation
import SecureStorage
import Testing
import TestSupport

@Suite struct KeyValueStoreTests {
    let database: TemporaryDatabase
    let store: SecureKeyValueStore

    init() throws {
        database = try TemporaryDatabase()
        store = SecureKeyValueStore(fullDatabasePath: database.path)
        try store.open(with: TemporaryDatabase.key)
    }

    // MARK: - Lifecycle

    @Test func `a store is opened, closed, re-keyed and opened again`() throws {
        #expect(store.isOpen())
        try store.put("v", forKey: "k")
        try store.changeEncryptionKey(with: "new passphrase")
        store.close()
        store.close()
        #expect(!store.isOpen())
        #expect(storageError { _ = try store.getString("k") } == .closed)
        #expect(storageError { try store.put("x", forKey: "k") } == .closed)
        #expect(storageError { _ = try store.keys() } == .closed)
        #expect(storageError { try store.changeEncryptionKey(with: "x") } == .closed)
        #expect(storageError { try store.open(with: TemporaryDatabase.key) } != nil)
        try store.open(with: "new passphrase")
        #expect(try store.getString("k") == "v")
        try store.changeEncryptionKey(with: TemporaryDatabase.key)
        #expect(try store.getString("k") == "v")
    }

    @Test func `several named stores share a file but not their keys`() throws {
        let names = ["default", "a", "A", "quote\"'; DROP TABLE x; --", "é", "e\u{301}", "", "👩‍👩‍👧‍👦"]
        store.close()
        for name in names {
            let named = SecureKeyValueStore(fullDatabasePath: database.path, name: name)
            try named.open(with: TemporaryDatabase.key)
            #expect(try named.count() == 0, "\(name)")
            try named.put(name, forKey: "name")
            named.close()
        }
        for name in names {
            let named = SecureKeyValueStore(fullDatabasePath: database.path, name: name)
            try named.open(with: TemporaryDatabase.key)
            #expect(try named.getString("name").map { Array($0.utf8) } == Array(name.utf8))
            try named.removeAll()
            named.close()
        }
        let bad = SecureKeyValueStore(fullDatabasePath: database.path, name: "a\0b")
        #expect(storageError { try bad.open(with: TemporaryDatabase.key) }?.code == 21)
    }

    @Test func `a store can use a database that the app uses itself`() throws {
        let other = try TemporaryDatabase()
        let db = try other.openStore()
        try db.executeUpdate("CREATE TABLE mine (a)")
        let first = try SecureKeyValueStore(databaseStore: db, name: "first")
        let second = try SecureKeyValueStore(databaseStore: db, name: "second")
        try first.put(1, forKey: "k")
        try second.put(2, forKey: "k")
        #expect(try first.getInt("k") == 1)
        #expect(first.secureDatabaseStore === db)
        try db.executeUpdate("INSERT INTO mine VALUES (1)")
        second.close()
        #expect(!first.isOpen())
        // A number is stored as a number, and the registry names the store of each table.
        try db.open(with: TemporaryDatabase.key)
        #expect(
            try db.strings("SELECT name FROM securestorage_kv ORDER BY id") == ["first", "second"])
        #expect(
            try db.strings("SELECT typeof(value) || value FROM securestorage_kv_2") == ["integer2"])
    }

    @Test func `a store in a closed database is created when the database is opened`() throws {
        let other = try TemporaryDatabase()
        let db = other.store()
        let late = try SecureKeyValueStore(databaseStore: db, name: "late")
        #expect(storageError { _ = try late.count() } == .closed)
        try db.open(with: TemporaryDatabase.key)
        try late.put("x", forKey: "k")
        #expect(try late.getString("k") == "x")
    }

    @Test func `a newer format is refused`() throws {
        let db = store.secureDatabaseStore
        try db.executeUpdate("UPDATE securestorage_kv SET version = 2")
        store.close()
        let error = storageError { try store.open(with: TemporaryDatabase.key) }
        #expect("\(error, default: "none")".contains("newer version"))
        #expect(!store.isOpen())
    }

    @Test func `two instances on one file see each other's writes`() throws {
        let other = SecureKeyValueStore(fullDatabasePath: database.path)
        try other.open(with: TemporaryDatabase.key)
        try store.put("from the first", forKey: "k")
        #expect(try other.getString("k") == "from the first")
        try other.remove("k")
        #expect(try store.hasKey("k") == false)
    }

    @Test(.timeLimit(.minutes(10))) func `16 threads lose no write`() throws {
        DispatchQueue.concurrentPerform(iterations: 16) { thread in
            do {
                for call in 0..<100 {
                    try store.put(call, forKey: "\(thread) \(call)")
                    _ = try store.getInt("\(thread) \(call)")
                    while true {
                        let value = try store.getInt("counter")
                        if try store.compareAndSet(
                            "counter", expected: value, new: (value ?? 0) + 1)
                        {
                            break
                        }
                    }
                }
            } catch {
                Issue.record(error)
            }
        }
        #expect(try store.count() == 1601)
        #expect(try store.getInt("counter") == 1600)
    }

    final class Settings: SecureKeyValueStore, @unchecked Sendable {
        var theme: String? { (try? getString("theme")) ?? nil }
    }

    @Test func `it can be subclassed`() throws {
        let other = try TemporaryDatabase()
        let settings = Settings(fullDatabasePath: other.path)
        try settings.open(with: TemporaryDatabase.key)
        try settings.put("dark", forKey: "theme")
        #expect(settings.theme == "dark")
    }

    // MARK: - Plain values

    @Test func `plain values round-trip`() throws {
        try store.put("text", forKey: "string")
        try store.put(Data([1, 0, 2]), forKey: "data")
        try store.put(Data(), forKey: "empty")
        try store.put(true, forKey: "bool")
        try store.put(Int64.min, forKey: "int64")
        try store.put(2.5, forKey: "double")
        try store.put(Float(0.1), forKey: "float")
        try store.put(Date(timeIntervalSince1970: 1_700_000_000.9), forKey: "date")
        #expect(try store.getString("string") == "text")
        #expect(try store.getData("data") == NSData(data: Data([1, 0, 2])))
        #expect(try store.getData("empty")?.length == 0)
        #expect(try store.getBool("bool") == true)
        #expect(try store.getInt64("int64") == .min)
        #expect(try store.getDouble("double") == 2.5)
        #expect(try store.getFloat("float") == 0.1)
        let date: Date? = try store.get("date")
        #expect(date == Date(timeIntervalSince1970: 1_700_000_000))
    }

    @Test func `a number is read as any width that holds it, and never wraps`() throws {
        try store.put(200, forKey: "k")
        #expect(try store.getInt("k") == 200)
        #expect(try store.getInt16("k") == 200)
        #expect(try store.getInt32("k") == 200)
        #expect(try store.getInt64("k") == 200)
        #expect(try store.getUInt("k") == 200)
        #expect(try store.getUInt8("k") == 200)
        #expect(try store.getUInt16("k") == 200)
        #expect(try store.getUInt32("k") == 200)
        #expect(try store.getUInt64("k") == 200)
        #expect(storageError { _ = try store.getInt8("k") } == .typeConversionFailed)
        try store.put(Int64.max, forKey: "big")
        #expect(storageError { _ = try store.getInt8("big") } == .typeConversionFailed)
        #expect(storageError { try store.put(UInt64.max, forKey: "k") } == .typeConversionFailed)
        #expect(try store.getInt("k") == 200, "a refused put changes nothing")
    }

    @Test func `nil is stored, and the default is returned for it and for an absent key`() throws {
        try store.put(String?.none, forKey: "nil")
        #expect(try store.hasKey("nil"))
        #expect(try store.getString("nil") == nil)
        #expect(try store.getString("nil", defaultValue: "d") == "d")
        #expect(try store.getInt("absent") == nil)
        #expect(try store.getInt("absent", defaultValue: 7) == 7)
        #expect(try store.getInt("absent", defaultValue: nil) == nil)
        #expect(try store.getData("absent", defaultValue: NSData()) == NSData())
        #expect(try store.get("absent", defaultValue: 2.5) == 2.5)
        #expect(try !store.hasKey("absent"))
        #expect(try store.count() == 1)
        let (there, other): (Int, Double) = (
            try store.get("missing", default: 7), try store.get("missing", default: 0.5)
        )
        #expect(there + 1 == 8 && other == 0.5)
        #expect(throws: SecureStorageError.typeConversionFailed) {
            try store.put("text", forKey: "text")
            _ = try store.get("text", default: 0)
        }
    }

    @Test func `remove returns whether the key was present`() throws {
        try store.put("x", forKey: "k")
        #expect(try store.remove("k"))
        #expect(try !store.remove("k"))
        try store.put("x", forKey: "k")
        try store.remove("k")
        #expect(try store.keys().isEmpty)
    }

    // MARK: - Keys

    @Test func `a key can be any text`() throws {
        let keys = [
            "", "a\0b", "a", "A", "'", "\"", "%", "_", "👩‍👩‍👧‍👦", "é", "e\u{301}", "; DROP TABLE x; --",
            String(repeating: "k", count: 10_000_000),
        ]
        for (index, key) in keys.enumerated() { try store.put(index, forKey: key) }
        for (index, key) in keys.enumerated() {
            #expect(try store.getInt(key) == index)
            #expect(try store.hasKey(key))
        }
        #expect(try store.count() == keys.count)
        #expect(try store.keys(withPrefix: "").count == keys.count)
        // As elements of a Swift set, the two spellings of é are equal.
        #expect(try store.keys() == Set(keys))
    }

    @Test func `keys with a prefix are returned in order`() throws {
        for key in ["user/2", "user/10", "user", "users", "user/1", "use", "user/é", "uses"] {
            try store.put(1, forKey: key)
        }
        #expect(try store.keys(withPrefix: "user/") == ["user/1", "user/10", "user/2", "user/é"])
        #expect(try store.keys(withPrefix: "x").isEmpty)
        #expect(try store.keys(withPrefix: "user/e").isEmpty)
    }

    @Test func `100,000 keys are listed, counted and removed`() throws {
        let db = store.secureDatabaseStore
        try db.executeUpdate(
            """
            INSERT INTO securestorage_kv_1 (key, kind, value)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
            SELECT 'key ' || i, 1, i FROM n
            """)
        #expect(try store.count() == 100_000)
        #expect(try store.keys().count == 100_000)
        #expect(try store.getInt("key 77777") == 77_777)
        try store.removeAll()
        #expect(try store.count() == 0)
    }

    #if os(Linux)
        @Test func `listing and counting 100,000 keys repeatedly does not increase memory`() async {
            await #expect(processExitsWith: .success) { [path = database.path as String] in
                func residentKilobytes() throws -> Int {
                    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
                    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
                    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
                }
                let store = SecureKeyValueStore(fullDatabasePath: path)
                try store.open(with: TemporaryDatabase.key)
                let fill = """
                    INSERT INTO securestorage_kv_1 (key, kind, value)
                    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
                    SELECT 'key ' || i, 1, i FROM n
                    """
                var first = 0
                for round in 1...8 {
                    try store.secureDatabaseStore.executeUpdate(fill)
                    let keys = try store.keys().count
                    let count = try store.count()
                    try store.removeAll()
                    #expect(keys == 100_000)
                    #expect(count == 100_000)
                    if round == 3 { first = try residentKilobytes() }
                }
                let last = try residentKilobytes()
                #expect(first > 0)
                #expect(last < first + 8 * 1024, "from \(first) to \(last) kB")
            }
        }
    #endif

    // MARK: - Codable

    struct Profile: Codable, Equatable, Sendable {
        var name: String
        var scores: [Double]
        var born: Date
        var friends: [String: Int]
    }

    private let profile = Profile(
        name: "a\0b", scores: [1, .infinity], born: Date(timeIntervalSince1970: 0.25),
        friends: ["x": 1])

    @Test func `a Codable value is read as its own type and as no other`() throws {
        try store.put(profile, forKey: "k")
        #expect(try store.get("k", as: Profile.self) == profile)
        #expect(storageError { _ = try store.get("k", as: [Int].self) } == .typeConversionFailed)
        #expect(storageError { _ = try store.getString("k") } == .typeConversionFailed)
        #expect(try store.get("absent", as: Profile.self) == nil)
        try store.put("plain", forKey: "k")
        #expect(try store.get("k", as: String.self) == "plain")
        #expect(storageError { _ = try store.get("k", as: Profile.self) } == .typeConversionFailed)
    }

    @Test func `typed keys know their type`() throws {
        let recent = KeyValueKey<[String]>("recent")
        let launches = KeyValueKey<Int>("launches")
        let seen = KeyValueKey<Date>("seen")
        #expect(try store.get(recent) == nil)
        try store.put(["a", "b"], for: recent)
        try store.put(3, for: launches)
        let date = Date(timeIntervalSince1970: 1.25)
        try store.put(date, for: seen)
        #expect(try store.get(recent) == ["a", "b"])
        #expect(try store.get(launches) == 3)
        #expect(try store.getInt("launches") == 3)
        #expect(try store.get(seen) == date, "the fraction is kept")
        try store.put(nil, for: recent)
        #expect(try !store.hasKey("recent"))
    }

    @Test func `several values are read in one call`() throws {
        for number in 1...5 { try store.put(number, forKey: "k\(number)") }
        #expect(
            try store.getAll(keys: ["k1", "k3", "absent"], as: Int.self) == ["k1": 1, "k3": 3])
    }

    @Test func `compareAndSet replaces only the expected value`() throws {
        #expect(try store.compareAndSet("k", expected: nil, new: "a"))
        #expect(try !store.compareAndSet("k", expected: nil, new: "b"))
        #expect(try store.compareAndSet("k", expected: "a", new: "b"))
        #expect(try store.getString("k") == "b")
        #expect(try store.compareAndSet("k", expected: "b", new: String?.none))
        #expect(try !store.hasKey("k"))
    }

    // MARK: - Expiry

    @Test func `a value that has expired is gone`() throws {
        try store.put("x", forKey: "old", expiresIn: .seconds(-1))
        try store.put("y", forKey: "new", expiresIn: .seconds(3600))
        try store.put(profile, forKey: "codable", expiresIn: .seconds(-1))
        #expect(try store.count() == 1)
        #expect(try store.keys() == ["new"])
        #expect(try store.keys(withPrefix: "") == ["new"])
        #expect(try store.getString("old") == nil)
        #expect(try !store.hasKey("codable"))
        #expect(try store.getString("new") == "y")
        #expect(try store.secureDatabaseStore.int("SELECT count(*) FROM securestorage_kv_1") == 1)
        try store.put("z", forKey: "new")
        #expect(
            try store.secureDatabaseStore.int(
                "SELECT count(*) FROM securestorage_kv_1 WHERE expires IS NOT NULL") == 0)
    }

    struct Failure: Error {}

    @Test func `a store whose table was rolled back is not another store`() throws {
        let db = try TemporaryDatabase().openStore()
        let queue = SecureDatabaseQueue(databaseStore: db)
        var first: SecureKeyValueStore?
        try? queue.inExclusiveTransaction { db in
            first = try SecureKeyValueStore(databaseStore: db, name: "first")
            try first?.put("in vain", forKey: "x")
            throw Failure()
        }
        let a = try #require(first)
        let b = try SecureKeyValueStore(databaseStore: db, name: "second")
        try b.put("b", forKey: "x")
        #expect(try a.getString("x") == nil)
        try a.put("a", forKey: "x")
        #expect(try b.getString("x") == "b")
        try a.removeAll()
        #expect(try b.count() == 1)
    }

    @Test func `a store first used in a transaction that is rolled back stays usable`() throws {
        let db = try TemporaryDatabase().openStore()
        let queue = SecureDatabaseQueue(databaseStore: db)
        db.close()
        let a = try SecureKeyValueStore(databaseStore: db, name: "first")
        try db.open(with: TemporaryDatabase.key)
        try queue.inExclusiveTransaction { _ in
            try a.put("in vain", forKey: "x")
            return true
        }
        #expect(try a.getString("x") == nil)
        try a.put("kept", forKey: "x")
        #expect(try a.getString("x") == "kept")
    }

    @Test func `a NaN is an explicit nil, however it is read`() throws {
        try store.put(Double.nan, forKey: "x")
        #expect(try store.hasKey("x"))
        #expect(try store.getDouble("x") == nil)
        #expect(try store.get("x", as: Double.self) == nil)
        #expect(try store.compareAndSet("x", expected: Double?.none, new: 1.5))
        #expect(try store.getDouble("x") == 1.5)
    }

    @Test func `a subclass can override open and close`() throws {
        final class Observed: SecureKeyValueStore, @unchecked Sendable {
            var calls: [String] = []
            override func open(with encryptionKeyData: Data) throws {
                try super.open(with: encryptionKeyData)
                calls.append("open")
            }
            override func close() {
                super.close()
                calls.append("close")
            }
        }
        let observed = Observed(fullDatabasePath: try TemporaryDatabase().path)
        try? observed.open(with: TemporaryDatabase.key)
        (observed as SecureKeyValueStore).close()
        #expect(observed.calls.last == "close")
    }

    // MARK: - Keys from other programs

    @Test(arguments: ["x'6162ff'", "CAST(x'6162ff' AS TEXT)"])
    func `a key that is not UTF-8 text is named in an error, and never left out of a list`(
        _ key: String
    ) throws {
        for name in ["aa", "ab", "b"] { try store.put(1, forKey: name) }
        let db = store.secureDatabaseStore
        let table = try #require(
            try db.string(
                forQuery:
                    "SELECT name FROM sqlite_schema WHERE name GLOB 'securestorage_kv_[0-9]*'"))
        try db.executeUpdate("INSERT INTO \(table) (key, kind, value) VALUES (\(key), 1, 1)")
        for list in [{ _ = try store.keys() }, { _ = try store.keys(withPrefix: "") }] {
            guard case .backingStoreError(20, let message)? = storageError(list) else {
                Issue.record("the key was left out of the list")
                continue
            }
            #expect(message.contains("6162ff"))
        }
        // The key sorts after those that begin with "aa".
        #expect(try store.keys(withPrefix: "aa") == ["aa"])
        // The solution that the message gives.
        try db.executeUpdate(
            "DELETE FROM \(table) WHERE CAST(key AS BLOB) = ?", values: [Data([0x61, 0x62, 0xff])])
        #expect(try store.keys() == ["aa", "ab", "b"])
    }

    @Test func `a store in a file of the default directory needs no name`() {
        let named = SecureKeyValueStore(databaseFileName: "settings.db")
        #expect(named.name == SecureKeyValueStore.defaultName)
        #expect(named.secureDatabaseStore.databaseURL.lastPathComponent == "settings.db")
    }
}
