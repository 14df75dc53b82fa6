import Foundation
import SecureStorage
import Testing
import TestSupport

struct KeyValueStoreTests {
    let database: TemporaryDatabase
    let store: SecureKeyValueStore

    init() throws {
        database = try TemporaryDatabase()
        store = SecureKeyValueStore(fullDatabasePath: database.path)
        try store.open(with: TemporaryDatabase.key)
    }

    // MARK: - Lifecycle

    @Test func `a store is opened, closed, re-keyed and opened again`() throws {
        check(store.isOpen())
        let new = Data(repeating: 7, count: 32)
        try store.put("v", forKey: "k")
        try store.changeEncryptionKey(with: new)
        store.close()
        store.close()
        check(!store.isOpen())
        check(storageError { _ = try store.getString("k") }, equals: .closed)
        check(storageError { try store.put("x", forKey: "k") }, equals: .closed)
        check(storageError { _ = try store.keys() }, equals: .closed)
        check(storageError { try store.changeEncryptionKey(with: "x") }, equals: .closed)
        check(storageError { try store.open(with: TemporaryDatabase.key) } != nil)
        try store.open(with: new)
        try check(store.getString("k"), equals: "v")
        try store.changeEncryptionKey(with: TemporaryDatabase.key)
        try check(store.getString("k"), equals: "v")
    }

    @Test func `several named stores share a file but not their keys`() throws {
        let names = ["default", "a", "A", "quote\"'; DROP TABLE x; --", "é", "e\u{301}", "", "👩‍👩‍👧‍👦"]
        store.close()
        for name in names {
            let named = SecureKeyValueStore(fullDatabasePath: database.path, name: name)
            try named.open(with: TemporaryDatabase.key)
            try check(named.count(), equals: 0, "\(name)")
            try named.put(name, forKey: "name")
            named.close()
        }
        for name in names {
            let named = SecureKeyValueStore(fullDatabasePath: database.path, name: name)
            try named.open(with: TemporaryDatabase.key)
            try check(named.getString("name").map { Array($0.utf8) }, equals: Array(name.utf8))
            try named.removeAll()
            named.close()
        }
        let bad = SecureKeyValueStore(fullDatabasePath: database.path, name: "a\0b")
        check(storageError { try bad.open(with: TemporaryDatabase.key) }?.code, equals: 21)
    }

    @Test func `a store can use a database that the app uses itself`() throws {
        let other = try TemporaryDatabase()
        let db = try other.openStore()
        try db.executeUpdate("CREATE TABLE mine (a)")
        let first = try SecureKeyValueStore(databaseStore: db, name: "first")
        let second = try SecureKeyValueStore(databaseStore: db, name: "second")
        try first.put(1, forKey: "k")
        try second.put(2, forKey: "k")
        try check(first.getInt("k"), equals: 1)
        try check(first.db === db)
        try db.executeUpdate("INSERT INTO mine VALUES (1)")
        second.close()
        check(!first.isOpen())
        // A number is stored as a number, and the registry names the store of each table.
        try db.open(with: TemporaryDatabase.key)
        try check(
            db.strings("SELECT name FROM securestorage_kv ORDER BY id"),
            equals: ["first", "second"])
        try check(
            db.strings("SELECT typeof(value) || value FROM securestorage_kv_2"),
            equals: ["integer2"])
    }

    @Test func `a store in a closed database is created when the database is opened`() throws {
        let other = try TemporaryDatabase()
        let db = other.store()
        let late = try SecureKeyValueStore(databaseStore: db, name: "late")
        check(storageError { _ = try late.count() }, equals: .closed)
        try db.open(with: TemporaryDatabase.key)
        try late.put("x", forKey: "k")
        try check(late.getString("k"), equals: "x")
    }

    @Test func `a newer format is refused`() throws {
        let db = try store.db
        try db.executeUpdate("UPDATE securestorage_kv SET version = 2")
        store.close()
        let error = storageError { try store.open(with: TemporaryDatabase.key) }
        check("\(error, default: "none")".contains("newer version"))
        check(!store.isOpen())
    }

    @Test(arguments: ["UTF-16le", "UTF-16be"])
    func `a file of another encoding is refused, and gets no table`(_ encoding: String) throws {
        let db = try TemporaryDatabase().openStore()
        try db.executeStatements("PRAGMA encoding = '\(encoding)'; CREATE TABLE t (x)")
        let error = storageError { _ = try SecureKeyValueStore(databaseStore: db, name: "values") }
        check("\(error, default: "none")".contains("UTF-16; use a separate file"))
        try check(db.strings("SELECT name FROM sqlite_schema"), equals: ["t"])
    }

    @Test func `two instances on one file see each other's writes`() throws {
        let other = SecureKeyValueStore(fullDatabasePath: database.path)
        try other.open(with: TemporaryDatabase.key)
        try store.put("from the first", forKey: "k")
        try check(other.getString("k"), equals: "from the first")
        try other.remove("k")
        try check(store.hasKey("k"), equals: false)
    }

    @Test func `16 threads lose no write`() throws {
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
        try check(store.count(), equals: 1601)
        try check(store.getInt("counter"), equals: 1600)
    }

    final class Settings: SecureKeyValueStore, @unchecked Sendable {
        var theme: String? { (try? getString("theme")) ?? nil }
    }

    @Test func `it can be subclassed`() throws {
        let other = try TemporaryDatabase()
        let settings = Settings(fullDatabasePath: other.path)
        try settings.open(with: TemporaryDatabase.key)
        try settings.put("dark", forKey: "theme")
        check(settings.theme, equals: "dark")
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
        try check(store.getString("string"), equals: "text")
        try check(store.getData("data"), equals: NSData(data: Data([1, 0, 2])))
        try check(store.getData("empty")?.length, equals: 0)
        try check(store.getBool("bool"), equals: true)
        try check(store.getInt64("int64"), equals: .min)
        try check(store.getDouble("double"), equals: 2.5)
        try check(store.getFloat("float"), equals: 0.1)
        let date: Date? = try store.get("date")
        check(date, equals: Date(timeIntervalSince1970: 1_700_000_000.9))
    }

    @Test func `a number is read as any width that holds it, and never wraps`() throws {
        try store.put(200, forKey: "k")
        try check(store.getInt("k"), equals: 200)
        try check(store.getInt16("k"), equals: 200)
        try check(store.getInt32("k"), equals: 200)
        try check(store.getInt64("k"), equals: 200)
        try check(store.getUInt("k"), equals: 200)
        try check(store.getUInt8("k"), equals: 200)
        try check(store.getUInt16("k"), equals: 200)
        try check(store.getUInt32("k"), equals: 200)
        try check(store.getUInt64("k"), equals: 200)
        check(storageError { _ = try store.getInt8("k") }, equals: .typeConversionFailed)
        try store.put(Int64.max, forKey: "big")
        check(storageError { _ = try store.getInt8("big") }, equals: .typeConversionFailed)
        check(
            storageError { try store.put(UInt64.max, forKey: "k") }, equals: .typeConversionFailed)
        try check(store.getInt("k"), equals: 200, "a refused put changes nothing")
    }

    @Test func `nil is stored, and the default is returned for it and for an absent key`() throws {
        try store.put(String?.none, forKey: "nil")
        try check(store.hasKey("nil"))
        try check(store.getString("nil") == nil)
        try check(store.getString("nil", defaultValue: "d"), equals: "d")
        try check(store.getInt("absent") == nil)
        try check(store.getInt("absent", defaultValue: 7), equals: 7)
        try check(store.getInt("absent", defaultValue: nil) == nil)
        try check(store.getData("absent", defaultValue: NSData()), equals: NSData())
        try check(store.get("absent", defaultValue: 2.5), equals: 2.5)
        try check(!store.hasKey("absent"))
        try check(store.count(), equals: 1)
        let (there, other): (Int, Double) = (
            try store.get("missing", default: 7), try store.get("missing", default: 0.5)
        )
        check(there + 1 == 8 && other == 0.5)
        #expect(throws: SecureStorageError.typeConversionFailed) {
            try store.put("text", forKey: "text")
            _ = try store.get("text", default: 0)
        }
    }

    @Test func `remove returns whether the key was present`() throws {
        try store.put("x", forKey: "k")
        try check(store.remove("k"))
        try check(!store.remove("k"))
        try store.put("x", forKey: "k")
        try store.remove("k")
        try check(store.keys().isEmpty)
    }

    // MARK: - Keys

    @Test func `a key can be any text`() throws {
        let keys = [
            "", "a\0b", "a", "A", "'", "\"", "%", "_", "👩‍👩‍👧‍👦", "é", "e\u{301}", "; DROP TABLE x; --",
            String(repeating: "k", count: 10_000_000),
        ]
        for (index, key) in keys.enumerated() { try store.put(index, forKey: key) }
        for (index, key) in keys.enumerated() {
            try check(store.getInt(key), equals: index)
            try check(store.hasKey(key))
        }
        try check(store.count(), equals: keys.count)
        try check(store.keys(withPrefix: "").count, equals: keys.count)
        // As elements of a Swift set, the two spellings of é are equal.
        try check(store.keys(), equals: Set(keys))
    }

    @Test func `keys with a prefix are returned in order`() throws {
        for key in ["user/2", "user/10", "user", "users", "user/1", "use", "user/é", "uses"] {
            try store.put(1, forKey: key)
        }
        try check(
            store.keys(withPrefix: "user/"), equals: ["user/1", "user/10", "user/2", "user/é"])
        try check(store.keys(withPrefix: "x").isEmpty)
        try check(store.keys(withPrefix: "user/e").isEmpty)
    }

    @Test func `100,000 keys are listed, counted and removed`() throws {
        let db = try store.db
        try db.executeUpdate(
            """
            INSERT INTO securestorage_kv_1 (key, kind, value)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
            SELECT 'key ' || i, 1, i FROM n
            """)
        try check(store.count(), equals: 100_000)
        try check(store.keys().count, equals: 100_000)
        try check(store.getInt("key 77777"), equals: 77_777)
        try store.removeAll()
        try check(store.count(), equals: 0)
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
                for round in 1...5 {
                    try store.db.executeUpdate(fill)
                    let keys = try store.keys().count
                    let count = try store.count()
                    try store.removeAll()
                    check(keys, equals: 100_000)
                    check(count, equals: 100_000)
                    if round == 2 { first = try residentKilobytes() }
                }
                let last = try residentKilobytes()
                check(first > 0)
                check(last < first + 8 * 1024, "from \(first) to \(last) kB")
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
        try check(store.get("k", as: Profile.self), equals: profile)
        check(
            storageError { _ = try store.get("k", as: [Int].self) }, equals: .typeConversionFailed)
        check(storageError { _ = try store.getString("k") }, equals: .typeConversionFailed)
        try check(store.get("absent", as: Profile.self) == nil)
        try store.put("plain", forKey: "k")
        try check(store.get("k", as: String.self), equals: "plain")
        check(
            storageError { _ = try store.get("k", as: Profile.self) }, equals: .typeConversionFailed
        )
    }

    @Test func `typed keys know their type`() throws {
        let recent = KeyValueKey<[String]>("recent")
        let launches = KeyValueKey<Int>("launches")
        let seen = KeyValueKey<Date>("seen")
        try check(store.get(recent) == nil)
        try store.put(["a", "b"], for: recent)
        try store.put(3, for: launches)
        let date = Date(timeIntervalSince1970: 1.25)
        try store.put(date, for: seen)
        try check(store.get(recent), equals: ["a", "b"])
        try check(store.get(launches), equals: 3)
        try check(store.getInt("launches"), equals: 3)
        try check(store.get(seen), equals: date, "the fraction is kept")
        try store.put(nil, for: recent)
        try check(!store.hasKey("recent"))
    }

    @Test func `several values are read in one call`() throws {
        for number in 1...5 { try store.put(number, forKey: "k\(number)") }
        try check(
            store.getAll(keys: ["k1", "k3", "absent"], as: Int.self), equals: ["k1": 1, "k3": 3])
    }

    @Test func `compareAndSet replaces only the expected value`() throws {
        try check(store.compareAndSet("k", expected: nil, new: "a"))
        try check(!store.compareAndSet("k", expected: nil, new: "b"))
        try check(store.compareAndSet("k", expected: "a", new: "b"))
        try check(store.getString("k"), equals: "b")
        try check(store.compareAndSet("k", expected: "b", new: String?.none))
        try check(!store.hasKey("k"))
    }

    // MARK: - Expiry

    @Test func `a value that has expired is gone`() throws {
        try store.put("x", forKey: "old", expiresIn: .seconds(-1))
        try store.put("y", forKey: "new", expiresIn: .seconds(3600))
        try store.put(profile, forKey: "codable", expiresIn: .seconds(-1))
        try check(store.count(), equals: 1)
        try check(store.keys(), equals: ["new"])
        try check(store.keys(withPrefix: ""), equals: ["new"])
        try check(store.getString("old") == nil)
        try check(!store.hasKey("codable"))
        try check(store.getString("new"), equals: "y")
        try check(
            store.db.int("SELECT count(*) FROM securestorage_kv_1"), equals: 1)
        try store.put("z", forKey: "new")
        try check(
            store.db.int(
                "SELECT count(*) FROM securestorage_kv_1 WHERE expires IS NOT NULL"), equals: 0)
    }

    @Test func `a value that has expired is gone for a reader of a read-only file, too`() throws {
        try store.put("x", forKey: "old", expiresIn: .seconds(-1))
        store.close()
        let db = try database.openStore { $0.isReadOnly = true }
        let reader = try SecureKeyValueStore(
            databaseStore: db, name: SecureKeyValueStore.defaultName)
        try check(reader.getString("old") == nil)
        try check(!reader.hasKey("old"))
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
        let a = try require(first)
        let b = try SecureKeyValueStore(databaseStore: db, name: "second")
        try b.put("b", forKey: "x")
        try check(a.getString("x") == nil)
        try a.put("a", forKey: "x")
        try check(b.getString("x"), equals: "b")
        try a.removeAll()
        try check(b.count(), equals: 1)
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
        try check(a.getString("x") == nil)
        try a.put("kept", forKey: "x")
        try check(a.getString("x"), equals: "kept")
    }

    @Test func `a NaN is an explicit nil, however it is read`() throws {
        try store.put(Double.nan, forKey: "x")
        try check(store.hasKey("x"))
        try check(store.getDouble("x") == nil)
        try check(store.get("x", as: Double.self) == nil)
        try check(store.compareAndSet("x", expected: Double?.none, new: 1.5))
        try check(store.getDouble("x"), equals: 1.5)
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
        check(observed.calls.last, equals: "close")
    }

    // MARK: - Keys from other programs

    @Test(arguments: ["x'6162ff'", "CAST(x'6162ff' AS TEXT)"])
    func `a key that is not UTF-8 text is named in an error, and never left out of a list`(
        _ key: String
    ) throws {
        for name in ["aa", "ab", "b"] { try store.put(1, forKey: name) }
        let db = try store.db
        let table = try require(
            db.string(
                forQuery:
                    "SELECT name FROM sqlite_schema WHERE name GLOB 'securestorage_kv_[0-9]*'"))
        try db.executeUpdate("INSERT INTO \(table) (key, kind, value) VALUES (\(key), 1, 1)")
        for list in [{ _ = try store.keys() }, { _ = try store.keys(withPrefix: "") }] {
            guard case .backingStoreError(20, let message)? = storageError(list) else {
                Issue.record("the key was left out of the list")
                continue
            }
            check(message.contains("6162ff"))
        }
        // The key sorts after those that begin with "aa".
        try check(store.keys(withPrefix: "aa"), equals: ["aa"])
        // The solution that the message gives.
        try db.executeUpdate(
            "DELETE FROM \(table) WHERE CAST(key AS BLOB) = ?", values: [Data([0x61, 0x62, 0xff])])
        try check(store.keys(), equals: ["aa", "ab", "b"])
    }

    @Test func `a store in a file of the default directory needs no name`() {
        let named = SecureKeyValueStore(databaseFileName: "settings.db")
        check(named.name, equals: SecureKeyValueStore.defaultName)
        check(named.database.databaseURL.lastPathComponent, equals: "settings.db")
    }
}
