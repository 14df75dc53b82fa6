import Foundation
import SecureStorage
import TestSupport
import Testing

extension FromRealmTests {
    // MARK: - Observing

    @Test(.timeLimit(.minutes(5)))
    func `row 21: a query's result arrives again, and its differences are computed`() async throws {
        let kennel = kennel
        let names = kennel.values { db in
            try db.strings("SELECT name FROM dog ORDER BY id").compactMap { $0 }
        }
        var iterator = names.makeAsyncIterator()
        let before = try #require(await iterator.next()).get()
        try await kennel.write { db in try db.executeUpdate("DELETE FROM dog WHERE id = 'a'") }
        let after = try #require(await iterator.next()).get()
        let difference = after.difference(from: before)
        #expect(difference.removals.count == 1 && difference.insertions.isEmpty)
    }

    @Test(.timeLimit(.minutes(5)))
    func `row 22: changes of a row are observed by its id`() async throws {
        let kennel = kennel
        var changes = kennel.changes(in: ["person"], rowIDs: true).makeAsyncIterator()
        try await kennel.write { db in
            try db.executeUpdate("UPDATE person SET name = 'x' WHERE id = 2")
        }
        #expect(await changes.next()?.tables["person"]?.rowIDs == [2])
    }

    @Test(.timeLimit(.minutes(5)))
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
        #expect(await task.value == 1)
    }

    @Test(.timeLimit(.minutes(5)))
    func `row 24: an app's own change comes back as a value that it can compare`() async throws {
        let kennel = kennel
        let names = kennel.values { db in
            try db.strings("SELECT name FROM dog ORDER BY id").compactMap { $0 }
        }
        var iterator = names.makeAsyncIterator()
        #expect(try await iterator.next()?.get() == ["Rex", "Bello"])
        let shown = ["King", "Bello"]
        try await kennel.write { db in
            _ = try db.update("dog", ["name": "King"], where: ["id": "a"])
        }
        #expect(try await iterator.next()?.get() == shown)
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
        #expect(try names().count == 12)
    }

    @Test func `row 26: values go to another thread, and stay as they are`() throws {
        let dogs = try kennel.read { db in
            try db.fetchAll(Dog.self, "SELECT * FROM dog ORDER BY id")
        }
        try kennel.write { db in try db.executeUpdate("DELETE FROM dog") }
        #expect(try onOtherThread { dogs.map(\.name) } == ["Rex", "Bello"])
    }

    @Test func `row 27: throwing in a write cancels it`() throws {
        #expect(throws: Failed.self) {
            try kennel.write { db in
                try db.executeUpdate("DELETE FROM dog")
                throw Failed()
            }
        }
        #expect(try names().count == 2)
    }

    @Test func `row 28: a step migrates the schema and the rows`() throws {
        var migrations = SchemaMigrations()
        migrations.add("one name") { db in
            try db.executeUpdate("ALTER TABLE dog ADD COLUMN shout TEXT")
            let dogs = try db.fetchAll("SELECT id, name FROM dog") { (id: String, name: String) in
                (id, name)
            }
            for (id, name) in dogs {
                try db.update("dog", ["shout": name.uppercased()], where: ["id": id])
            }
        }
        try kennel.migrate(migrations)
        #expect(
            try kennel.read { db in try db.strings("SELECT shout FROM dog ORDER BY id") }
                == ["REX", "BELLO"])
    }

    @Test func `row 29: a file is removed by the app`() throws {
        kennel.close()
        #expect(try SecureDatabaseStore.remove(at: database.url))
        #expect(try database.fileNames() == [])
    }

    @Test func `row 30: a copy has any key`() throws {
        let copy = database.directory.appendingPathComponent("copy.db")
        try kennel.backup(to: copy, key: .passphrase("other"))
        let store = SecureDatabaseStore(url: copy)
        try store.open(with: "other")
        #expect(try store.int("SELECT count(*) FROM dog") == 2)
    }

    @Test func `row 31: vacuum compacts the file`() throws {
        try kennel.writeWithoutTransaction { db in
            try db.executeStatements(
                "CREATE TABLE large (a); INSERT INTO large VALUES (zeroblob(500000)); DROP TABLE large"
            )
            let before = try db.int("PRAGMA page_count") ?? 0
            try db.vacuum()
            #expect(try db.int("PRAGMA page_count") ?? 0 < before / 2)
        }
    }

    @Test func `row 32: a mistake is an error, and the program goes on`() {
        #expect(
            storageError { try kennel.read { db in _ = try db.int("SELECT x FROM nowhere") } }?
                .resultCode == .error)
        kennel.close()
        #expect(storageError { try kennel.write { _ in } } == .closed)
    }

    @Test(.timeLimit(.minutes(5)))
    func `row 33: a commit through another connection is observed`() async throws {
        let counts = kennel.values { db in try db.int("SELECT count(*) FROM dog") }
        var iterator = counts.makeAsyncIterator()
        #expect(try await iterator.next()?.get() == 2)
        let other = try database.openStore()
        try other.executeUpdate("DELETE FROM dog")
        #expect(try await iterator.next()?.get() == 0)
    }

    // MARK: - Exports; see Fixtures/README.md

    @Test func `an export of Realm Studio becomes tables`() throws {
        let json = try Data(
            contentsOf: ForeignFile.folder.appendingPathComponent("realm-studio.json"))
        let export = try RealmStudioExport(json)
        let walk = try #require(try export.objects("Walk").first)
        #expect(try walk.date("at")?.timeIntervalSince1970.rounded() == 1_700_000_000)
        #expect(try walk.link("dog")?.link("owner")?["name"] as? String == "Ada")
        #expect(try export.objects("Cat").isEmpty)
        // Binary properties are lost, as the guide says.
        #expect(try export.objects("Dog")[0]["photo"] as? [String: Int] == [:])

        let url = database.directory.appendingPathComponent("new.db")
        let key = DatabaseKey.raw(TemporaryDatabase.key)
        try importKennel(export, to: url, key: key)
        let db = SecureDatabaseStore(url: url)
        try db.open(with: key)
        #expect(try db.strings("SELECT name FROM person ORDER BY id") == ["Ada", "Bob \"1\""])
        #expect(try db.strings("SELECT city FROM person ORDER BY id") == ["London", nil])
        #expect(
            try db.strings("SELECT name FROM dog WHERE owner = 1 ORDER BY position")
                == ["Rex", "Bello"])
        #expect(
            try db.double(forQuery: "SELECT born FROM dog WHERE name = 'Rex'") == 1_600_000_000.5)
        #expect(try db.double(forQuery: "SELECT born FROM dog WHERE name = 'Bello'") == -1)
        #expect(
            try db.strings("SELECT chip FROM dog ORDER BY position") == [
                nil, "0F8FAD5B-D9CB-469F-A165-70867728950E",
            ])
        #expect(try db.int("SELECT sum(isVaccinated) FROM dog") == 1)
    }

    @Test(arguments: [
        "{}", "[]", "[1]", "[{\"Dog\":\"7\"}]", "[{\"Dog\":\"x\"}]", "[{\"Dog\":\"1\"},[1]]",
    ])
    func `what is no export is an error, and leaves no file`(_ json: String) throws {
        let url = database.directory.appendingPathComponent("new.db")
        #expect(throws: RealmStudioExport.Unreadable.self) {
            let export = try RealmStudioExport(Data(json.utf8))
            try importKennel(export, to: url, key: .raw(TemporaryDatabase.key))
        }
        #expect(!SecureDatabaseStore.exists(at: url))
    }

    @Test func `an export that the app wrote is decoded, with its binary properties`() throws {
        let json = try ForeignFile.folder.appendingPathComponent("realm-plain.json")
        let export = try readKennelExport(json)
        #expect(export.Person.map(\.name) == ["Ada", "Bob \"1\""])
        #expect(export.Person[0].dogs == export.Dog.map(\._id))
        let rex = export.Dog[0]
        #expect(rex.photo == Data([0xFF, 0xD8, 0x00, 0x01]))
        #expect(rex.born.timeIntervalSince1970 == 1_600_000_000.5)
        try kennel.write { db in
            try db.executeStatements(
                """
                CREATE TABLE exported (
                    _id TEXT PRIMARY KEY, name, born, weight, isVaccinated, chip, owner, photo)
                """)
            try db.insert(contentsOf: export.Dog, into: "exported")
            let read = try db.fetchAll(KennelExport.Dog.self, "SELECT * FROM exported ORDER BY _id")
            #expect(read.map(\.photo) == export.Dog.map(\.photo))
            #expect(read.map(\.chip) == export.Dog.map(\.chip))
        }
    }

    @Test(.timeLimit(.minutes(5)))
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
            #expect(dogs == [dog])
            break
        }
        task.cancel()
        _ = try? await task.value
    }
}
