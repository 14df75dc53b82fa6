import Foundation
import SecureStorage
import Testing
import TestSupport

@Suite struct KeyValueObjectTests {
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
        #expect(try store.get("author") == person("Ada"))
        let other = SecureKeyValueStore(fullDatabasePath: database.path)
        try other.open(with: TemporaryDatabase.key)
        #expect(try other.get("author") == person("Ada"))
    }

    @Test func `Foundation's objects are read back equal`() throws {
        try store.put(NSString(string: "a\0é𝄞"), forKey: "text")
        try store.put(NSArray(array: [1, "two", Date(timeIntervalSince1970: 3)]), forKey: "list")
        try store.put(NSDictionary(dictionary: ["a": NSNull(), "b": [true, 1]]), forKey: "map")
        try store.put(NSNumber(value: 2.5), forKey: "number")
        #expect(try store.get("text") == NSString(string: "a\0é𝄞"))
        #expect(
            try store.get("list") == NSArray(array: [1, "two", Date(timeIntervalSince1970: 3)]))
        #expect(
            try store.get("map") == NSDictionary(dictionary: ["a": NSNull(), "b": [true, 1]]))
        #expect(try store.get("number") == NSNumber(value: 2.5))
    }

    @Test func `an object is stored as its kind and a blob with an archive`() throws {
        try store.put(NSString(string: "text"), forKey: "a")
        let rs = try store.secureDatabaseStore.executeQuery(
            "SELECT kind, typeof(value), substr(value, 1, 8) FROM securestorage_kv_1")
        #expect(try rs.next())
        #expect(rs.int(forColumnIndex: 0) == 2)
        #expect(rs.string(forColumnIndex: 1) == "blob")
        #expect(rs.data(forColumnIndex: 2) == Data("bplist00".utf8))
    }

    @Test func `an explicit nil and a missing object give the default`() throws {
        try store.put(NSString?.none, forKey: "nothing")
        #expect(try store.hasKey("nothing"))
        #expect(try store.get("nothing") == NSString?.none)
        #expect(try store.get("nothing", defaultValue: NSString(string: "d")) == "d")
        #expect(try store.get("missing", defaultValue: NSString(string: "d")) == "d")
        try store.put(NSString(string: "there"), forKey: "nothing")
        #expect(try store.get("nothing", defaultValue: NSString(string: "d")) == "there")
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
            #expect(storageError(body) == .typeConversionFailed)
        }
        // Replacing a value replaces its kind.
        try store.put(7, forKey: "object")
        #expect(try store.getInt("object") == 7)
    }

    @Test func `an object of another class is an error`() throws {
        try store.put(NSMutableArray(array: ["a"]), forKey: "mutable")
        try store.put(NSArray(array: ["a"]), forKey: "fixed")
        try store.put(person("Ada"), forKey: "person")
        #expect(try store.get("mutable") == NSArray(array: ["a"]))
        #expect(storageError { let _: NSMutableArray? = try store.get("fixed") } != nil)
        #expect(storageError { let _: NSString? = try store.get("person") } != nil)
        #expect(storageError { let _: Person? = try store.get("fixed") } != nil)
    }

    @Test func `getData reads bytes that were put as Data and as NSData`() throws {
        let bytes = Data([0, 1, 255])
        try store.put(bytes, forKey: "plain")
        try store.put(NSData(data: bytes), forKey: "object")
        #expect(try store.getData("plain") == NSData(data: bytes))
        #expect(try store.getData("object") == NSData(data: bytes))
        #expect(try store.getData("missing", defaultValue: NSData()) == NSData())
        try store.put(NSString(string: "text"), forKey: "object")
        #expect(storageError { _ = try store.getData("object") } == .typeConversionFailed)
    }

    @Test func `putAll stores all or nothing`() throws {
        try store.put("before", forKey: "b")
        try store.putAll([
            "a": NSString(string: "x"), "b": NSNumber(value: 1), "c": nil, "d": person("Ada"),
        ])
        #expect(try store.keys() == ["a", "b", "c", "d"])
        #expect(try store.get("b") == NSNumber(value: 1))
        #expect(try store.hasKey("c"))
        #expect(try store.get("d") == person("Ada"))

        // Nothing is stored when an object cannot be archived …
        let loop = Note("itself")
        loop.next = loop
        defer { loop.next = nil }
        #expect(
            storageError { try store.putAll(["e": NSString(string: "x"), "f": loop]) }
                == .typeConversionFailed)
        #expect(try store.count() == 4)
        // … or when a row cannot be written.
        try store.secureDatabaseStore.executeUpdate(
            """
            CREATE TRIGGER t BEFORE INSERT ON securestorage_kv_1 WHEN new.key = 'h'
            BEGIN SELECT RAISE(ABORT, 'no'); END
            """)
        #expect(
            storageError {
                try store.putAll(["g": NSString(string: "x"), "h": NSString(string: "y")])
            }?.code == 19)
        #expect(try store.keys() == ["a", "b", "c", "d"])
    }

    @Test func `an object expires`() throws {
        try store.put(NSString(string: "x"), forKey: "short", expiresIn: .zero)
        try store.put(NSString(string: "y"), forKey: "long", expiresIn: .seconds(3600))
        #expect(try store.get("short") == NSString?.none)
        #expect(try store.get("long") == NSString(string: "y"))
        #expect(try store.count() == 1)
    }

    @Test(arguments: ArchiveFixture.names("bad-") + ["good-person.plist"])
    func `an archive that another program wrote into the file is checked`(_ name: String) throws {
        try store.secureDatabaseStore.executeUpdate(
            "INSERT INTO securestorage_kv_1 (key, kind, value) VALUES ('x', 2, ?)",
            values: [try ArchiveFixture.data(name)])
        #expect(storageError { let _: NSSet? = try store.get("x") } == .typeConversionFailed)
    }

    @Test func `a closed store throws closed for objects too`() throws {
        store.close()
        #expect(storageError { try store.put(NSString(string: "x"), forKey: "a") } == .closed)
        #expect(storageError { let _: NSString? = try store.get("a") } == .closed)
        #expect(storageError { try store.putAll(["a": NSString(string: "x")]) } == .closed)
        #expect(storageError { _ = try store.getData("a") } == .closed)
    }
}
