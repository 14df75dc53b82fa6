import Foundation
import SecureStorage
import Testing
import TestSupport

struct KeyValueObjectTests {
    let database: TemporaryDatabase
    let store: SecureKeyValueStore

    init() throws {
        database = try TemporaryDatabase()
        store = SecureKeyValueStore(fullDatabasePath: database.path)
        try store.open(with: TemporaryDatabase.key)
    }

    private func person(_ name: String) -> Person {
        Person(
            name, age: 36, height: 1.65, isMember: true,
            born: Date(timeIntervalSinceReferenceDate: 0.5), friend: nil)
    }

    @Test func `an app's object is read back equal, also by another store`() throws {
        try store.put(person("Ada"), forKey: "author")
        try check(store.get("author"), equals: person("Ada"))
        let other = SecureKeyValueStore(fullDatabasePath: database.path)
        try other.open(with: TemporaryDatabase.key)
        try check(other.get("author"), equals: person("Ada"))
    }

    @Test func `Foundation's objects are read back equal`() throws {
        try store.put(NSString(string: "a\0é𝄞"), forKey: "text")
        try store.put(NSArray(array: [1, "two", Date(timeIntervalSince1970: 3)]), forKey: "list")
        try store.put(NSDictionary(dictionary: ["a": NSNull(), "b": [true, 1]]), forKey: "map")
        try store.put(NSNumber(value: 2.5), forKey: "number")
        try check(store.get("text"), equals: NSString(string: "a\0é𝄞"))
        try check(
            store.get("list"), equals: NSArray(array: [1, "two", Date(timeIntervalSince1970: 3)]))
        try check(
            store.get("map"), equals: NSDictionary(dictionary: ["a": NSNull(), "b": [true, 1]]))
        try check(store.get("number"), equals: NSNumber(value: 2.5))
    }

    @Test func `an object is stored as its kind and a blob with an archive`() throws {
        try store.put(NSString(string: "text"), forKey: "a")
        let rs = try store.db.executeQuery(
            "SELECT kind, typeof(value), substr(value, 1, 8) FROM securestorage_kv_1")
        try check(rs.next())
        check(rs.int(forColumnIndex: 0), equals: 2)
        check(rs.string(forColumnIndex: 1), equals: "blob")
        check(rs.data(forColumnIndex: 2), equals: Data("bplist00".utf8))
    }

    @Test func `an explicit nil and a missing object give the default`() throws {
        try store.put(NSString?.none, forKey: "nothing")
        try check(store.hasKey("nothing"))
        try check(store.get("nothing"), equals: NSString?.none)
        try check(store.get("nothing", defaultValue: NSString(string: "d")), equals: "d")
        try check(store.get("missing", defaultValue: NSString(string: "d")), equals: "d")
        try store.put(NSString(string: "there"), forKey: "nothing")
        try check(store.get("nothing", defaultValue: NSString(string: "d")), equals: "there")
    }

    @Test func `a value of one kind cannot be read as another`() throws {
        try store.put(NSString(string: "object"), forKey: "object")
        try store.put("plain", forKey: "plain")
        try store.put(["json"], forKey: "json")
        for body in [
            { _ = try store.getString("object") }, { _ = try store.getInt("object") },
            { _ = try store.get("object", as: [String].self) },
            { let _: NSString? = try store.get("plain") },
            { let _: NSArray? = try store.get("json") },
        ] {
            check(storageError(body), equals: .typeConversionFailed)
        }
        // Replacing a value replaces its kind.
        try store.put(7, forKey: "object")
        try check(store.getInt("object"), equals: 7)
    }

    @Test func `an object of another class is an error`() throws {
        try store.put(NSMutableArray(array: ["a"]), forKey: "mutable")
        try store.put(NSArray(array: ["a"]), forKey: "fixed")
        try store.put(person("Ada"), forKey: "person")
        try check(store.get("mutable"), equals: NSArray(array: ["a"]))
        check(storageError { let _: NSMutableArray? = try store.get("fixed") } != nil)
        check(storageError { let _: NSString? = try store.get("person") } != nil)
        check(storageError { let _: Person? = try store.get("fixed") } != nil)
    }

    @Test func `getData reads bytes that were put as Data and as NSData`() throws {
        let bytes = Data([0, 1, 255])
        try store.put(bytes, forKey: "plain")
        try store.put(NSData(data: bytes), forKey: "object")
        try check(store.getData("plain"), equals: NSData(data: bytes))
        try check(store.getData("object"), equals: NSData(data: bytes))
        try check(store.getData("missing", defaultValue: NSData()), equals: NSData())
        try store.put(NSString(string: "text"), forKey: "object")
        check(storageError { _ = try store.getData("object") }, equals: .typeConversionFailed)
    }

    @Test func `putAll stores all or nothing`() throws {
        try store.put("before", forKey: "b")
        try store.putAll([
            "a": NSString(string: "x"), "b": NSNumber(value: 1), "c": nil, "d": person("Ada"),
        ])
        try check(store.keys(), equals: ["a", "b", "c", "d"])
        try check(store.get("b"), equals: NSNumber(value: 1))
        try check(store.hasKey("c"))
        try check(store.get("d"), equals: person("Ada"))

        // Nothing is stored when an object cannot be archived …
        let loop = Note("itself")
        loop.next = loop
        defer { loop.next = nil }
        check(
            storageError { try store.putAll(["e": NSString(string: "x"), "f": loop]) },
            equals: .typeConversionFailed)
        try check(store.count(), equals: 4)
        // … or when a row cannot be written.
        try store.db.executeUpdate(
            """
            CREATE TRIGGER t BEFORE INSERT ON securestorage_kv_1 WHEN new.key = 'h'
            BEGIN SELECT RAISE(ABORT, 'no'); END
            """)
        check(
            storageError {
                try store.putAll(["g": NSString(string: "x"), "h": NSString(string: "y")])
            }?.code, equals: 19)
        try check(store.keys(), equals: ["a", "b", "c", "d"])
    }

    @Test func `an object expires`() throws {
        try store.put(NSString(string: "x"), forKey: "short", expiresIn: .zero)
        try store.put(NSString(string: "y"), forKey: "long", expiresIn: .seconds(3600))
        try check(store.get("short"), equals: NSString?.none)
        try check(store.get("long"), equals: NSString(string: "y"))
        try check(store.count(), equals: 1)
    }

    @Test(arguments: ArchiveFixture.names("bad-") + ["good-person.plist"])
    func `an archive that another program wrote into the file is checked`(_ name: String) throws {
        try store.db.executeUpdate(
            "INSERT INTO securestorage_kv_1 (key, kind, value) VALUES ('x', 2, ?)",
            values: [try ArchiveFixture.data(name)])
        check(storageError { let _: NSSet? = try store.get("x") }, equals: .typeConversionFailed)
    }

    @Test func `a closed store throws closed for objects too`() throws {
        store.close()
        check(storageError { try store.put(NSString(string: "x"), forKey: "a") }, equals: .closed)
        check(storageError { let _: NSString? = try store.get("a") }, equals: .closed)
        check(storageError { try store.putAll(["a": NSString(string: "x")]) }, equals: .closed)
        check(storageError { _ = try store.getData("a") }, equals: .closed)
    }
}
