import Foundation
import SecureStorage

// Compiled copies of the snippets of Docs/FromRealm.md.

func realmFirstLines(
    path: String, key32: SecretBytes, migrations: SchemaMigrations, dog: FromRealmTests.Dog,
    limit: Date,
    update: ([FromRealmTests.Dog]) -> Void
) async throws {
    typealias Dog = FromRealmTests.Dog
    let kennel = SecureDatabaseQueue(fullDatabasePath: path)
    try await kennel.open(with: .raw(key32))
    try await kennel.migrate(migrations)

    try await kennel.write { db in _ = try db.insert(dog, into: "dog") }
    let old = kennel.values { db in
        try db.fetchAll(Dog.self, "SELECT * FROM dog WHERE born < ? ORDER BY name", values: [limit])
    }
    for await dogs in old { update(try dogs.get()) }
}

/// The export of Realm Studio 13 and later: objects by class, as they refer to each other.
struct RealmStudioExport {
    private let values: [Any]
    private let classes: [String: Any]

    struct Unreadable: Error {}

    init(_ json: Data) throws {
        guard let values = try JSONSerialization.jsonObject(with: json) as? [Any],
            let classes = values.first as? [String: Any]
        else { throw Unreadable() }
        self.values = values
        self.classes = classes
    }

    /// Returns the objects of a class; none if the file had no such class.
    func objects(_ name: String) throws -> [RealmObject] {
        guard let reference = classes[name] else { return [] }
        guard let objects = try resolve(reference) as? [Any] else { throw Unreadable() }
        return try objects.map { object in
            guard let object = try resolve(object) as? [String: Any] else { throw Unreadable() }
            return RealmObject(properties: object, export: self)
        }
    }

    /// A string is the index of a value; anything else is the value.
    fileprivate func resolve(_ value: Any) throws -> Any {
        guard let index = value as? String else { return value }
        guard let index = Int(index), values.indices.contains(index) else { throw Unreadable() }
        return values[index]
    }
}

struct RealmObject {
    fileprivate let properties: [String: Any]
    fileprivate let export: RealmStudioExport

    /// Returns a string, a number, a dictionary or a list; nil for null.
    subscript(name: String) -> Any? {
        get throws {
            guard let value = properties[name], !(value is NSNull) else { return nil }
            return try export.resolve(value)
        }
    }

    /// Returns the object that a link or an embedded object refers to.
    func link(_ name: String) throws -> RealmObject? {
        guard let object = try self[name] as? [String: Any] else { return nil }
        return RealmObject(properties: object, export: export)
    }

    /// Returns the objects of a list.
    func list(_ name: String) throws -> [RealmObject] {
        guard let objects = try self[name] as? [Any] else { return [] }
        return try objects.compactMap {
            guard let object = try export.resolve($0) as? [String: Any] else { return nil }
            return RealmObject(properties: object, export: export)
        }
    }

    /// Returns a date: Realm Studio writes `2023-11-14T22:13:20.123Z`.
    func date(_ name: String) throws -> Date? {
        guard let text = try self[name] as? String else { return nil }
        return try Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

func importKennel(_ export: RealmStudioExport, to url: URL, key: DatabaseKey) throws {
    let new = SecureDatabaseQueue(url: url)
    try new.open(with: key) { db in
        do {
            try kennelMigrations().apply(to: db)
            try db.inSavePoint { db in
                for person in try export.objects("Person") {
                    try db.insert(
                        [
                            "id": person["_id"] as? Int64, "name": person["name"] as? String,
                            "city": person.link("address")?["city"] as? String,
                        ], into: "person")
                }
                for dog in try export.objects("Dog") {
                    try db.insert(
                        [
                            "id": dog["_id"] as? String, "name": dog["name"] as? String,
                            "born": dog.date("born")?.timeIntervalSince1970,
                            "weight": dog["weight"] as? Double,
                            "isVaccinated": dog["isVaccinated"] as? Bool,
                            "chip": dog["chip"] as? String,
                            "owner": dog.link("owner")?["_id"] as? Int64,
                        ], into: "dog")
                }
                for person in try export.objects("Person") {
                    for (position, dog) in try person.list("dogs").enumerated() {
                        try db.update(
                            ["position": position], in: "dog", key: ["id": dog["_id"] as? String])
                    }
                }
                return false
            }
            return nil
        } catch {
            return error
        }
    }
    new.close()
}

struct KennelExport: Codable {
    struct Dog: Codable {
        var _id: String
        var name: String
        var born: Date
        var weight: Double
        var isVaccinated: Bool
        var chip: UUID?
        var owner: Int64?
        var photo: Data?
    }
    struct Person: Codable {
        struct Address: Codable {
            var city: String
            var zip: String
        }
        var _id: Int64
        var name: String
        var address: Address?
        var dogs: [String]
    }
    var Person: [Person]
    var Dog: [Dog]
}

func readKennelExport(_ json: URL) throws -> KennelExport {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    let export = try decoder.decode(KennelExport.self, from: Data(contentsOf: json))
    return export
}

/// The tables that `importKennel` fills.
func kennelMigrations() -> SchemaMigrations {
    var migrations = SchemaMigrations()
    migrations.add(
        "kennel",
        sql: """
            CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
            CREATE TABLE dog (
                id TEXT PRIMARY KEY, name TEXT NOT NULL, born REAL, weight REAL,
                isVaccinated INTEGER, chip TEXT, owner INTEGER REFERENCES person (id),
                position INTEGER);
            """)
    return migrations
}
