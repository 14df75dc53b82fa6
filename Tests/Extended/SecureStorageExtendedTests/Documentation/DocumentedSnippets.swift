import Foundation
import Logging
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Every snippet of the documentation, compiled and run.
///
/// `DocumentationTests` compares the text with the documentation.
struct DocumentedSnippets {
    let database: TemporaryDatabase
    var path: String { database.path }

    init() throws { database = try TemporaryDatabase() }

    @Test func `open, write, read`() throws {
        // begin
        let db = SecureDatabaseStore(fullDatabasePath: path)
        try db.open(with: "correct horse battery staple")

        try db.executeUpdate(
            "CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, text TEXT, at INTEGER)")
        try db.executeUpdate(
            "INSERT INTO note (text, at) VALUES (?, ?)", values: ["buy milk", Date()])

        let notes = try db.fetchAll("SELECT id, text FROM note WHERE text LIKE ?", "%milk%") {
            (id: Int64, text: String) in "\(id): \(text)"
        }
        print(notes)
        db.close()
        // end
        check(!db.isOpen())
    }

    @Test func `the engine's weaknesses`() throws {
        // begin
        let engine = try SecureDatabaseStore.engine
        for weakness in engine.weaknesses where !weakness.isAvoided { print(weakness) }
        // end
        check(!engine.options.isEmpty)
    }

    @Test func `a pool reads and writes`() throws {
        // begin
        let pool = SecureDatabasePool(fullDatabasePath: path)
        try pool.open(with: .passphrase("correct horse battery staple"))

        try pool.write { db in
            try db.executeUpdate("CREATE TABLE IF NOT EXISTS note (text TEXT)")
            try db.executeUpdate("INSERT INTO note VALUES (?)", values: ["buy milk"])
        }
        let count = try pool.read { db in try db.int(forQuery: "SELECT count(*) FROM note") }
        // end
        check(count, equals: 1)
    }

    @Test func `the schema in the initialization handler`() throws {
        // begin
        let db = SecureDatabaseStore(fullDatabasePath: path)
        try db.open(with: "correct horse battery staple") { db in
            do {
                try db.executeStatements(
                    """
                    CREATE TABLE account (name TEXT PRIMARY KEY, balance INTEGER NOT NULL);
                    INSERT INTO account VALUES ('savings', 100), ('purse', 0);
                    """)
                return nil
            } catch {
                return error  // `open` throws it, and no file is left
            }
        }
        // end
        try check(db.int("SELECT count(*) FROM account"), equals: 2)
    }

    @Test func `a queue for many threads`() throws {
        let db = try database.openStore()
        try db.executeStatements(
            """
            CREATE TABLE account (name TEXT PRIMARY KEY, balance INTEGER NOT NULL);
            INSERT INTO account VALUES ('savings', 100), ('purse', 0);
            """)
        // begin
        let queue = SecureDatabaseQueue(databaseStore: db)

        @Sendable func transfer(_ amount: Int, from: String, to: String) throws {
            try queue.inExclusiveTransaction { db in
                let change = "UPDATE account SET balance = balance + :by WHERE name = :name"
                try db.executeUpdate(change, parameterDictionary: ["by": -amount, "name": from])
                guard try db.changedRowCount() == 1 else { return true }  // roll back
                try db.executeUpdate(change, parameterDictionary: ["by": amount, "name": to])
                return try db.changedRowCount() != 1
            }
        }

        DispatchQueue.concurrentPerform(iterations: 10) { _ in
            try? transfer(5, from: "savings", to: "purse")
        }
        let balance = try queue.inDatabase { db in
            let rs = try db.executeQuery("SELECT balance FROM account WHERE name = 'purse'")
            return try rs.next() ? rs.int(forColumnIndex: 0) : nil
        }
        // end
        check(balance, equals: 50)
        try transfer(5, from: "savings", to: "nobody")
        try check(queue.inDatabase { try $0.int("SELECT sum(balance) FROM account") }, equals: 100)
    }

    @Test func `a raw key and settings`() throws {
        // begin
        var configuration = SecureDatabaseConfiguration()
        configuration.synchronous = .normal  // faster; a power cut may take back the last commits
        configuration.cacheSize = 64 * 1024 * 1024
        configuration.busyTimeout = .seconds(10)

        let key = SecretBytes.random(count: 32)  // keep it safe
        let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
        try db.open(with: .raw(key))
        // end
        check(db.isOpen())
    }

    // begin
    struct ISODate: SQLiteDatatypeBridgeable, Codable, Equatable {
        var date: Date

        init(_ date: Date) { self.date = date }

        init?(sqliteValue: SQLiteValue) {
            guard case .text(let text) = sqliteValue,
                let date = try? Date(text, strategy: .iso8601)
            else { return nil }
            self.date = date
        }

        var sqliteValue: SQLiteValue { .text(date.formatted(.iso8601)) }
    }
    // end

    @Test func `FMDB setDateFormat: dateFromString: stringFromDate: are a type of the app's own`()
        throws
    {
        let db = try database.openStore()
        try db.executeUpdate("CREATE TABLE event (name TEXT PRIMARY KEY, at TEXT)")
        let launch = Date(timeIntervalSince1970: 1_234_567_890)
        // begin
        try db.executeUpdate("INSERT INTO event VALUES (?, ?)", "launch", ISODate(launch))

        let at: ISODate? = try db.object(
            forQuery: "SELECT at FROM event WHERE name = ?", values: ["launch"])
        // end
        check(at, equals: ISODate(launch))
        try check(db.strings("SELECT at FROM event"), equals: ["2009-02-13T23:31:30Z"])
        struct Event: Decodable {
            var name: String
            var at: ISODate
        }
        try check(
            db.fetchAll(Event.self, "SELECT * FROM event").map(\.at), equals: [ISODate(launch)])
    }

    @Test func `a deadline`() throws {
        let db = try database.openStore()
        try db.executeStatements("CREATE TABLE note (text); INSERT INTO note VALUES ('milk')")
        // begin
        let hits = try db.withDeadline(.seconds(2)) {
            try db.int(forQuery: "SELECT count(*) FROM note WHERE text LIKE '%milk%'")
        }
        // end
        check(hits, equals: 1)
    }

    @Test func `an attached file`() throws {
        let archive = try TemporaryDatabase()
        let made = archive.store()
        try made.open(with: "the archive's passphrase")
        try made.executeStatements("CREATE TABLE old (a); INSERT INTO old VALUES (1)")
        made.close()
        let archivePath = archive.path
        let db = try database.openStore()
        // begin
        try db.executeUpdate(
            "ATTACH ? AS archive KEY ?", values: [archivePath, "the archive's passphrase"])
        // end
        try check(db.int("SELECT a FROM archive.old"), equals: 1)
    }

    @Test func `a passphrase that leaves nothing behind`() throws {
        let db = database.store()
        // begin
        var typed = Data("correct horse battery staple".utf8)  // as a terminal gives it
        try db.open(with: .passphrase(SecretBytes(erasing: &typed)))
        // end
        check(typed.isEmpty && db.isOpen())
    }

    @Test func `errors and a key change`() throws {
        do {
            let made = database.store()
            try made.open(with: "the old key")
            made.close()
        }
        let logger = Logger(label: "test") { _ in LogRecorder() }
        // begin
        let db = SecureDatabaseStore(fullDatabasePath: path)
        do {
            try db.open(with: "the old key")
            try db.changeEncryptionKey(with: "the new key")
        } catch SecureStorageError.authenticationFailed {
            logger.notice("wrong passphrase, ask again")
        } catch SecureStorageError.encryptionKeyChangeFailed(_, let message) {
            logger.error("the old key is still in force: \(message)")
        } catch SecureStorageError.encryptionKeyChangeUnknown(_, let message) {
            logger.error("keep both keys, and try again: \(message)")
        } catch let error as SecureStorageError where error.isBusy {
            logger.notice("busy, try again: \(error)")
        }
        // end
        db.close()
        #expect(throws: SecureStorageError.self) { try db.open(with: "the old key") }
        try db.open(with: "the new key")
    }

    // begin
    enum Priority: Int, SQLiteDatatypeBridgeable {
        case low, normal, high
    }

    struct Version: SQLiteDatatypeBridgeable {
        var major: Int
        var minor: Int

        init(_ major: Int, _ minor: Int) { (self.major, self.minor) = (major, minor) }

        init?(sqliteValue: SQLiteValue) {
            guard case .text(let text) = sqliteValue else { return nil }
            let parts = text.split(separator: ".").compactMap { Int($0) }
            guard parts.count == 2 else { return nil }
            self.init(parts[0], parts[1])
        }

        var sqliteValue: SQLiteValue { .text("\(major).\(minor)") }
    }
    // end

    @Test func `types of your own`() throws {
        let db = try database.openStore()
        // begin
        try db.executeUpdate("CREATE TABLE task (version TEXT, priority INTEGER)")
        try db.executeUpdate(
            "INSERT INTO task VALUES (?, ?)", values: [Version(1, 2), Priority.high])

        let tasks = try db.fetchAll("SELECT version, priority FROM task") {
            (version: Version, priority: Priority) in "\(version.major): \(priority)"
        }
        // end
        check(tasks, equals: ["1: high"])
    }

    private enum Rows {
        // begin
        struct Note: Codable, Sendable {
            var id: Int64?
            var folder: UUID?
            var text: String
            var at: Date
        }
        // end
    }

    @Test func `rows as your types`() async throws {
        typealias Note = Rows.Note
        let pool = try database.openPool()
        try await pool.write { db in
            try db.executeUpdate(
                "CREATE TABLE note (id INTEGER PRIMARY KEY, folder TEXT, text TEXT, at REAL)")
        }
        // begin
        let folder = UUID()
        let id = try await pool.write { db in
            try db.insert(
                Note(id: nil, folder: folder, text: "buy milk", at: Date()), into: "note")
        }

        let found = try await pool.find(Note.self, in: "note", key: ["id": id])
        let notes = try await pool.fetchAll(
            Note.self, "SELECT * FROM note WHERE folder = \(folder) ORDER BY at DESC")
        let count = try await pool.count(in: "note", key: ["folder": folder])
        // end
        check(found?.text, equals: "buy milk")
        check(notes.map(\.id), equals: [id])
        check(count, equals: 1)
        // begin
        try await pool.write { db in
            guard let note = found else { return }
            var edited = note
            edited.text = "buy oat milk"
            try db.update(edited, changedFrom: note, in: "note", key: "id")  // what differs

            try db.update(["folder": nil], in: "note", key: ["id": id])  // named columns
            try db.upsert(edited, into: "note", key: "id")  // inserts, or sets all columns
            try db.delete(from: "note", key: ["id": id])
        }
        // end
        try await check(pool.count(in: "note"), equals: 0)
    }

    // begin
    struct Note: Codable {
        var id: Int64
        var text: String
        var at: Date?
    }
    // end

    @Test func `moving from FMDB`() throws {
        // begin
        let queue = SecureDatabaseQueue(fullDatabasePath: path)
        try queue.open(with: .passphrase("correct horse battery staple"))  // a wrong key fails here

        try queue.inTransaction { db in
            try db.executeStatements("CREATE TABLE note (id INTEGER PRIMARY KEY, text, at)")
            try db.executeUpdate("INSERT INTO note (text, at) VALUES (?, ?)", "milk", Date())
            return false  // true rolls back; so does an error, which is passed on to the caller
        }
        let notes = try queue.inDatabase { db in
            try db.fetchAll(Note.self, "SELECT * FROM note WHERE text LIKE ?", values: ["%milk%"])
        }
        // end
        check(notes.map(\.text), equals: ["milk"])
        try queue.inDatabase { db in
            // begin
            try db.executeUpdate(
                "INSERT INTO note (text, at) VALUES (:text, :at)",
                named: ["text": "milk", "at": Date()])
            // end
            try db.executeUpdate("DELETE FROM note WHERE id > 1")
            // begin
            let count = try db.int(forQuery: "SELECT count(*) FROM note WHERE id > ?", 0) ?? 0

            let rs = try db.executeQuery("SELECT id, text, at FROM note")
            while try rs.next() {
                let id = try rs.value(forColumnName: "id", as: Int64.self)
                let text = try rs.value(forColumnName: "text", as: String.self)
                print(id ?? 0, text ?? "", rs["at"] ?? .null)
            }
            // end
            check(count, equals: 1)
        }
    }

    @Test func `a pool with tasks`() async throws {
        // begin
        let pool = SecureDatabasePool(fullDatabasePath: path)
        try await pool.open(with: .passphrase("correct horse battery staple"))

        try await pool.write { db in
            try db.executeUpdate("CREATE TABLE note (id INTEGER PRIMARY KEY, text, at)")
            try db.executeUpdate("INSERT INTO note (text, at) VALUES (?, ?)", "buy milk", Date())
        }
        let count = try await pool.read { db in try db.int(forQuery: "SELECT count(*) FROM note") }
        // end
        check(count, equals: 1)
        // begin
        let notes = pool.rows(as: Note.self) { try $0.executeQuery("SELECT * FROM note") }
        for try await note in notes {
            print(note.text)
        }
        // end
        // begin
        let hits = try await pool.read { db in
            try db.withDeadline(.seconds(2)) {
                try db.int(forQuery: "SELECT count(*) FROM note WHERE text LIKE '%milk%'")
            }
        }
        // end
        check(hits, equals: 1)
        await pool.close()
    }

    @Test func `a list of migrations`() throws {
        let db = try database.openStore()
        // begin
        var migrations = SchemaMigrations()
        migrations.add(
            "notes",
            sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
        migrations.add("index of texts", sql: "CREATE INDEX note_text ON note (text)")

        try migrations.apply(to: db)
        // end
        try db.executeUpdate("INSERT INTO note (text) VALUES (' milk'), ('milk '), ('bread')")
        // begin
        migrations.add("texts without blanks", revision: 1) { db in
            let notes = try db.fetchAll("SELECT id, text FROM note") {
                (id: Int64, text: String) in (id, text.trimmingCharacters(in: .whitespaces))
            }
            for (id, text) in notes {
                try db.execute("UPDATE note SET text = \(text) WHERE id = \(id)")
            }
        }
        // end
        // begin
        migrations.add(
            "texts are unique",
            sql: """
                CREATE TABLE new_note (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
                INSERT INTO new_note SELECT min(id), text FROM note GROUP BY text;
                DROP TABLE note;
                ALTER TABLE new_note RENAME TO note;
                """)
        // end
        try check(
            migrations.rehearse(on: db), equals: ["texts without blanks", "texts are unique"])
        // begin
        do {
            try migrations.apply(to: db)
        } catch SecureStorageError.backingStoreError(17, _) {
            print("this file needs a newer version of the program")
        }
        // end
        try check(db.strings("SELECT text FROM note ORDER BY id"), equals: ["milk", "bread"])
    }

    @Test func `a compact copy, and moving and removing a closed file`() throws {
        let db = try database.openStore()
        try db.executeUpdate("CREATE TABLE note (text)")
        let directory = database.directory
        // begin
        let copy = directory.appendingPathComponent("copy.db")
        try db.vacuum(into: copy, replacing: true)
        db.close()

        let archive = directory.appendingPathComponent("archive.db")
        try SecureDatabaseStore.move(at: db.databaseURL, to: archive)
        try SecureDatabaseStore.remove(at: copy)
        // end
        try check(database.fileNames(), equals: ["archive.db"])
    }

    @Test func `settings in a key-value store`() throws {
        // begin
        let settings = SecureKeyValueStore(fullDatabasePath: path)
        try settings.open(with: "correct horse battery staple")

        try settings.put("dark", forKey: "theme")
        try settings.put(3, forKey: "launches")
        let launches = try settings.get("launches", default: 0)
        // end
        check(launches, equals: 3)
        try settings.put(["a"], for: .recentFiles)
        try check(settings.get(.recentFiles), equals: ["a"])
    }

    @Test func `observing changes`() async throws {
        let pool = try database.openPool()
        try await pool.write { try $0.executeStatements("CREATE TABLE note (text TEXT)") }
        let queue = SecureDatabaseQueue(databaseStore: try database.openStore())
        let settings = try SecureKeyValueStore(databaseStore: database.openStore(), name: "a")
        func changes() async throws {
            // begin
            for await change in queue.changes(in: ["note"]) {
                print("notes have changed", change.includesForeign ? "elsewhere" : "here")
            }
            // end
        }
        func missingNone() async throws {
            // begin
            var changes = queue.changes(in: ["note"]).makeAsyncIterator()
            while let change = await changes.next() { print(change.tables) }
            // end
        }
        func values() async throws {
            // begin
            let counts = pool.values { db in
                try db.int(forQuery: "SELECT count(*) FROM note") ?? 0
            }
            for await count in counts {
                print(try count.get(), "notes")
            }
            // end
        }
        func themes() async throws {
            // begin
            for await theme in settings.values(forKey: "theme", as: String.self) {
                print(try theme.get() ?? "no theme")
            }
            // end
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await changes() }
            group.addTask { try await missingNone() }
            group.addTask { try await values() }
            group.addTask { try await themes() }
            try await pool.write { try $0.executeStatements("INSERT INTO note VALUES ('milk')") }
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    @Test func `the life of a file`() throws {
        let passphrase = "correct horse battery staple"
        let recoveryPassphrase = "for the backup"
        let url = URL(fileURLWithPath: path)
        let backupURL = URL(fileURLWithPath: path + ".backup")
        let (damagedURL, freshURL) = (url, URL(fileURLWithPath: path + ".fresh"))
        let db = SecureDatabaseStore(fullDatabasePath: path)
        try db.open(with: passphrase)
        func verify() throws {
            // begin
            let report = try db.verifyIntegrity { print("\(Int($0.fraction * 100)) %") }
            guard report.isSound else { return print(report) }
            // end
        }
        try verify()
        // begin
        try db.backup(to: backupURL, key: .passphrase(recoveryPassphrase)) {
            print("\($0.completed) of \($0.total) pages")
        }
        // end
        // begin
        let diagnosis = try SecureDatabaseStore.diagnose(at: url, key: .passphrase(passphrase))
        if case .legacyFormat(let version) = diagnosis.finding {
            print("written by SQLCipher \(version)")
        }
        print(diagnosis)  // the reasons, a line each
        // end
        check(diagnosis.finding, equals: .ok)
        // begin
        let report = try SecureDatabaseStore.salvage(
            at: damagedURL, key: .passphrase(passphrase), to: freshURL)
        print(report)  // what was saved and what was lost, a line for each table
        // end
        check(report.isWhole)
    }

    @Test func `errors with a code, a reason and a function's message`() throws {
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        try db.executeStatements(
            """
            CREATE TABLE account (name UNIQUE); INSERT INTO account VALUES ('savings');
            CREATE TABLE note (at);
            """)
        let name = "savings"
        // begin
        do {
            try db.executeUpdate("INSERT INTO account (name) VALUES (?)", name)
        } catch let error as SecureStorageError where error.resultCode == .constraintUnique {
            print("there is an account of this name already")
        }
        // end
        // begin
        try db.makeFunction(named: "checked_age", argumentCount: 1) { arguments in
            guard let age = Int(sqliteValue: arguments[0]), (0...150).contains(age) else {
                throw SecureDatabaseFunctionError(
                    "an age is from 0 to 150", code: .constraintFunction)
            }
            return age
        }
        // end
        check(
            storageError { _ = try db.int("SELECT checked_age(200)") }?.resultCode,
            equals: .constraintFunction)
        db.close()
        let pool = try database.openPool()
        let limit = 0
        var isRepeated = false
        func repeatAfterResume() { isRepeated = true }
        pool.suspend()
        // begin
        do {
            try pool.write { try $0.executeUpdate("DELETE FROM note WHERE at < ?", limit) }
        } catch {
            switch SecureDatabaseInterruption(error) {
            case .suspension: repeatAfterResume()
            case .deadline, .cancellation, .request: break
            case nil: throw error
            }
        }
        // end
        check(isRepeated)
    }

    @Test func `a file of an older format`() throws {
        let database = try TemporaryDatabase()
        try Fixture.copy("sqlcipher-3-passphrase.db", to: database)
        let db = database.store()
        let passphrase = Fixture.passphrase
        // begin
        do {
            try db.open(with: passphrase)
        } catch SecureStorageError.legacyFormat {
            let old = try SecureDatabaseStore.migrate(
                at: db.databaseURL, key: .passphrase(passphrase))
            try db.open(with: passphrase)
            if let old { try FileManager.default.removeItem(at: old) }
        }
        // end
        try check(database.fileNames().contains("test.db"))
    }
}

// begin
extension KeyValueKey where Value == [String] {
    static var recentFiles: KeyValueKey { KeyValueKey("recent files") }
}
// end
