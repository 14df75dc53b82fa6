import Foundation
import SecureStorage
import TestSupport
import Testing

extension FromRealmTests {
    // MARK: - Observing

    @Test
    func `row 21: a query's result arrives again, and its differences are computed`() async throws {
        let kennel = kennel
        let names = kennel.values { db in
            try db.strings("SELECT name FROM dog ORDER BY id").compactMap { $0 }
        }
        var iterator = names.makeAsyncIterator()
        let before = try await require(iterator.next()).get()
        try await kennel.write { db in try db.executeUpdate("DELETE FROM dog WHERE id = 'a'") }
        let after = try await require(iterator.next()).get()
        let difference = after.difference(from: before)
        check(difference.removals.count == 1 && difference.insertions.isEmpty)
    }

    @Test
    func `row 22: changes of a row are observed by its id`() async throws {
        let kennel = kennel
        var changes = kennel.changes(in: ["person"], rowIDs: true).makeAsyncIterator()
        try await kennel.write { db in
            try db.executeUpdate("UPDATE person SET name = 'x' WHERE id = 2")
        }
        await check(changes.next()?.tables["person"]?.rowIDs, equals: [2])
    }

    @Test
    func `row 23: an observation ends with its task`() async throws {
        let kennel = kennel
        let began = AsyncStream<Void>.makeStream()
        let task = Task {
            var count = 0
            for await _ in kennel.values(of: { db in try db.int("SELECT count(*) FROM dog") }) {
                count += 1
                began.continuation.yield()
            }
            return count
        }
        for await _ in began.stream { break }
        task.cancel()
        await check(task.value, equals: 1)
    }

    @Test
    func `row 24: an app's own change comes back as a value that it can compare`() async throws {
        let kennel = kennel
        let names = kennel.values { db in
            try db.strings("SELECT name FROM dog ORDER BY id").compactMap { $0 }
        }
        var iterator = names.makeAsyncIterator()
        try await check(iterator.next()?.get(), equals: ["Rex", "Bello"])
        let shown = ["King", "Bello"]
        try await kennel.write { db in
            _ = try db.update(["name": "King"], in: "dog", key: ["id": "a"])
        }
        try await check(iterator.next()?.get(), equals: shown)
    }

    // MARK: - Tasks and threads

    @Test func `row 25: any task writes`() async throws {
        let kennel = kennel
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<10 {
                group.addTask {
                    try await kennel.write { db in
                        _ = try db.insert(Dog(id: "\(number)", name: "x"), into: "dog")
                    }
                }
            }
            try await group.waitForAll()
        }
        try check(names().count, equals: 12)
    }

    @Test func `row 26: values go to another thread, and stay as they are`() throws {
        let dogs = try kennel.read { db in
            try db.fetchAll(Dog.self, "SELECT * FROM dog ORDER BY id")
        }
        try kennel.write { db in try db.executeUpdate("DELETE FROM dog") }
        try check(onOtherThread { dogs.map(\.name) }, equals: ["Rex", "Bello"])
    }

    @Test func `row 27: throwing in a write cancels it`() throws {
        #expect(throws: Failed.self) {
            try kennel.write { db in
                try db.executeUpdate("DELETE FROM dog")
                throw Failed()
            }
        }
        try check(names().count, equals: 2)
    }

    @Test func `row 28: a step migrates the schema and the rows`() throws {
        var migrations = SchemaMigrations()
        migrations.add("one name") { db in
            try db.executeUpdate("ALTER TABLE dog ADD COLUMN shout TEXT")
            let dogs = try db.fetchAll("SELECT id, name FROM dog") { (id: String, name: String) in
                (id, name)
            }
            for (id, name) in dogs {
                try db.update(["shout": name.uppercased()], in: "dog", key: ["id": id])
            }
        }
        try kennel.migrate(migrations)
        try check(
            kennel.read { db in try db.strings("SELECT shout FROM dog ORDER BY id") },
            equals: ["REX", "BELLO"])
    }

    @Test func `row 29: a file is removed by the app`() throws {
        kennel.close()
        try check(SecureDatabaseStore.remove(at: database.url))
        try check(database.fileNames(), equals: [])
    }

    @Test func `row 30: a copy has any key`() throws {
        let copy = database.directory.appendingPathComponent("copy.db")
        try kennel.backup(to: copy, key: .passphrase("other"))
        let store = SecureDatabaseStore(url: copy)
        try store.open(with: "other")
        try check(store.int("SELECT count(*) FROM dog"), equals: 2)
    }

    @Test func `row 31: vacuum compacts the file`() throws {
        try kennel.writeWithoutTransaction { db in
            try db.executeStatements(
                "CREATE TABLE large (a); INSERT INTO large VALUES (zeroblob(500000)); DROP TABLE large"
            )
            let before = try db.int("PRAGMA page_count") ?? 0
            try db.vacuum()
            try check(db.int("PRAGMA page_count") ?? 0 < before / 2)
        }
    }

    @Test func `row 32: a mistake is an error, and the program continues`() {
        check(
            storageError { try kennel.read { db in _ = try db.int("SELECT x FROM nowhere") } }?
                .resultCode, equals: .error)
        kennel.close()
        check(storageError { try kennel.write { _ in } }, equals: .closed)
    }

    @Test
    func `row 33: a commit through another connection is observed`() async throws {
        let counts = kennel.values { db in try db.int("SELECT count(*) FROM dog") }
        var iterator = counts.makeAsyncIterator()
        try await check(iterator.next()?.get(), equals: 2)
        let other = try database.openStore()
        try other.executeUpdate("DELETE FROM dog")
        try await check(iterator.next()?.get(), equals: 0)
    }

    // MARK: - Exports; see Fixtures/README.md

    @Test func `an export of Realm Studio becomes tables`() throws {
        let json = try Data(
            contentsOf: ForeignFile.folder.appendingPathComponent("realm-studio.json"))
        let export = try RealmStudioExport(json)
        let walk = try require(export.objects("Walk").first)
        try check(walk.date("at")?.timeIntervalSince1970.rounded(), equals: 1_700_000_000)
        try check(walk.link("dog")?.link("owner")?["name"] as? String, equals: "Ada")
        try check(export.objects("Cat").isEmpty)
        // Binary properties are lost, as the guide says.
        try check(export.objects("Dog")[0]["photo"] as? [String: Int], equals: [:])

        let url = database.directory.appendingPathComponent("new.db")
        let key = DatabaseKey.raw(TemporaryDatabase.key)
        try importKennel(export, to: url, key: key)
        let db = SecureDatabaseStore(url: url)
        try db.open(with: key)
        try check(db.strings("SELECT name FROM person ORDER BY id"), equals: ["Ada", "Bob \"1\""])
        try check(db.strings("SELECT city FROM person ORDER BY id"), equals: ["London", nil])
        try check(
            db.strings("SELECT name FROM dog WHERE owner = 1 ORDER BY position"),
            equals: ["Rex", "Bello"])
        try check(
            db.double(forQuery: "SELECT born FROM dog WHERE name = 'Rex'"), equals: 1_600_000_000.5)
        try check(db.double(forQuery: "SELECT born FROM dog WHERE name = 'Bello'"), equals: -1)
        try check(
            db.strings("SELECT chip FROM dog ORDER BY position"),
            equals: [
                nil, "0F8FAD5B-D9CB-469F-A165-70867728950E",
            ])
        try check(db.int("SELECT sum(isVaccinated) FROM dog"), equals: 1)
    }

    @Test(arguments: [
        "{}", "[]", "[1]", "[{\"Dog\":\"7\"}]", "[{\"Dog\":\"x\"}]", "[{\"Dog\":\"1\"},[1]]",
    ])
    func `anything but an export is an error, and leaves no file`(_ json: String) throws {
        let url = database.directory.appendingPathComponent("new.db")
        #expect(throws: RealmStudioExport.Unreadable.self) {
            let export = try RealmStudioExport(Data(json.utf8))
            try importKennel(export, to: url, key: .raw(TemporaryDatabase.key))
        }
        check(!SecureDatabaseStore.exists(at: url))
    }

    @Test func `an export that the app wrote is decoded, with its binary properties`() throws {
        let json = try ForeignFile.folder.appendingPathComponent("realm-plain.json")
        let export = try readKennelExport(json)
        check(export.Person.map(\.name), equals: ["Ada", "Bob \"1\""])
        check(export.Person[0].dogs, equals: export.Dog.map(\._id))
        let rex = export.Dog[0]
        check(rex.photo, equals: Data([0xFF, 0xD8, 0x00, 0x01]))
        check(rex.born.timeIntervalSince1970, equals: 1_600_000_000.5)
        try kennel.write { db in
            try db.executeStatements(
                """
                CREATE TABLE exported (
                    _id TEXT PRIMARY KEY, name, born, weight, isVaccinated, chip, owner, photo)
                """)
            try db.insert(contentsOf: export.Dog, into: "exported")
            let read = try db.fetchAll(KennelExport.Dog.self, "SELECT * FROM exported ORDER BY _id")
            check(read.map(\.photo), equals: export.Dog.map(\.photo))
            check(read.map(\.chip), equals: export.Dog.map(\.chip))
        }
    }

    @Test
    func `the guide's first lines do what they say`() async throws {
        let other = try TemporaryDatabase()
        var migrations = SchemaMigrations()
        migrations.add("kennel", sql: Self.schema)
        let shown = AsyncStream<[Dog]>.makeStream()
        let dog = Dog(id: "a", name: "Rex", born: Date(timeIntervalSince1970: 1))
        let task = Task { [migrations] in
            try await realmFirstLines(
                path: other.path, key32: SecretBytes.random(count: 32), migrations: migrations,
                dog: dog, limit: Date(timeIntervalSince1970: 2)
            ) { shown.continuation.yield($0) }
        }
        for await dogs in shown.stream {
            check(dogs, equals: [dog])
            break
        }
        task.cancel()
        _ = try? await task.value
    }
}
