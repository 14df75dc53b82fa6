import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// The reference's snippets, verbatim except for the names of databases and the checks at the end.
struct ReferenceSnippetTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore
    let logger = ReferenceLogger()

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
    }

    // MARK: - Creating and opening

    @Test func `creating a store in the document directory`() {
        // for example if you want to store your file in the document directory:
        let fileURL = FileManager.default.urls(for: .documentDirectory, in: .userDomainMask)[0]
        let fullPath = fileURL.appendingPathComponent("myDatabase.db").path

        // or let fullPath: String = "<#/path/to/database/directory/database.db#>"

        let db = SecureDatabaseStore(fullDatabasePath: fullPath)

        check(db.databaseURL.path, equals: fullPath)
        check(!db.isOpen())
    }

    @Test func `opening a store`() throws {
        let other = try TemporaryDatabase()
        let db = SecureDatabaseStore(fullDatabasePath: other.path)
        do {
            try db.open(with: "encryptionKey")
        } catch let error {
            // log the error using Logger
            logger.error("An error occurred while opening the database.", error: error)
        }
        check(db.isOpen())
        check(logger.errors.isEmpty)
    }

    @Test func `opening a default store`() async {
        await #expect(processExitsWith: .success) {
            let directory = NSTemporaryDirectory() + "SecureStorageTests-\(UUID().uuidString)"
            setenv("XDG_DATA_HOME", directory, 1)
            defer { try? FileManager.default.removeItem(atPath: directory) }

            var secureDatabaseStore = SecureDatabaseStore()

            try secureDatabaseStore.open(with: "your_encryption_key")

            check(secureDatabaseStore.isOpen())
            let url = secureDatabaseStore.databaseURL
            check(url.lastPathComponent, equals: "SAPcpSDKDefaultSecureDatabaseStore.db")
            #if os(Linux)
                check(url.path.hasPrefix(directory + "/"))
            #endif
            secureDatabaseStore = SecureDatabaseStore(databaseFileName: "other.db")
            check(
                secureDatabaseStore.databaseURL.deletingLastPathComponent(),
                equals: url.deletingLastPathComponent())
        }
    }

    @Test func `opening a store at a custom location`() throws {
        let other = try TemporaryDatabase(name: "your_custom_dir/your_custom_name.db")
        let customDatabasePath = other.path
        var secureDatabaseStore = SecureDatabaseStore(fullDatabasePath: customDatabasePath)

        try secureDatabaseStore.open(with: "your_encryption_key")

        check(FileManager.default.fileExists(atPath: customDatabasePath))
        secureDatabaseStore = db
    }

    // MARK: - Updates and queries

    @Test func `executing updates`() throws {
        try db.executeUpdate("CREATE TABLE myTable (column)")
        do {
            try db.executeUpdate("INSERT INTO myTable VALUES (?)", values: [1])
            try db.executeUpdate(
                "UPDATE myTable SET column=:value", parameterDictionary: [":value": 2])
        } catch let error {
            logger.error(
                "An error occurred while executing an update or an insert on the database.",
                error: error)
        }
        check(logger.errors.isEmpty)
        try check(db.int("SELECT column FROM myTable"), equals: 2)
    }

    @Test func `executing queries`() throws {
        try db.executeStatements(
            "CREATE TABLE myTable (columnName); INSERT INTO myTable VALUES ('a'), ('b')")
        var rows = 0
        do {
            let rs = try db.executeQuery("SELECT * FROM myTable")
            defer {
                rs.close()
            }

            while try rs.next() {
                // retrieve values for each record
                rows += 1
            }
        } catch let error {
            logger.error(
                "An error occurred while executing a query on the database.", error: error)
        }
        check(rows, equals: 2)
        do {
            let rs = try db.executeQuery("SELECT COUNT(*) FROM myTable")
            defer {
                rs.close()
            }

            if try rs.next() {
                let totalCount = rs.int(forColumnIndex: 0)
                check(totalCount, equals: 2)
            }
        } catch let error {
            logger.error(
                "An error occurred while executing a query on the database.", error: error)
        }
        let named = try db.executeQuery(
            "SELECT * FROM myTable WHERE columnName=:value", parameterDictionary: ["value": "a"])
        try check(named.next())
        let positional = try db.executeQuery(
            "SELECT * FROM myTable WHERE columnName=?", values: ["MyValue"])
        try check(!positional.next())
        check(logger.errors.isEmpty)
        db.close()
        check(!db.isOpen())
    }

    @Test func `multiple statements and batch commands`() throws {
        let sql =
            "CREATE TABLE bulktest1 (id INTEGER PRIMARY KEY AUTOINCREMENT, x TEXT);"
            + "CREATE TABLE bulktest2 (id INTEGER PRIMARY KEY AUTOINCREMENT, y TEXT);"
            + "CREATE TABLE bulktest3 (id INTEGER PRIMARY KEY AUTOINCREMENT, z TEXT);"
            + "INSERT INTO bulktest1 (x) VALUES ('XXX');"
            + "INSERT INTO bulktest2 (y) VALUES ('YYY');"
            + "INSERT INTO bulktest3 (z) VALUES ('ZZZ');"

        do {
            try db.executeStatements(sql)
        } catch let error {
            logger.error(
                "An error occurred while executing a statements on the database.", error: error)
        }
        let counts =
            "SELECT COUNT(*) AS count FROM bulktest1;"
            + "SELECT COUNT(*) AS count FROM bulktest2;"
            + "SELECT COUNT(*) AS count FROM bulktest3;"

        do {
            try db.executeStatements(counts) { resultDictionary in
                guard let count = resultDictionary["count"] else {
                    self.logger.info(
                        "Something went wrong. Stop executing all following statements.")
                    return false
                }
                self.logger.info("bulktest1 contains \(count) rows")
                return true
            }
        } catch let error {
            logger.error(
                "An error occurred while executing statements on the database.", error: error)
        }
        check(logger.errors.isEmpty)
        check(logger.infos, equals: Array(repeating: "bulktest1 contains 1 rows", count: 3))
    }

    @Test func `data sanitization`() throws {
        try db.executeUpdate("CREATE TABLE myTable (id, name, value)")
        do {
            let sql = "INSERT INTO myTable VALUES (?, ?, ?)"
            let argsArray = ["MyId", "MyName", "MyValue"]
            try db.executeUpdate(sql, values: argsArray)
        }
        do {
            let sql = "INSERT INTO myTable VALUES (:id, :name, :value)"
            let argsDict = ["id": "MyId", "name": "MyName", "value": "MyValue"]
            try db.executeUpdate(sql, parameterDictionary: argsDict)
        }
        try check(
            db.strings("SELECT id || name || value FROM myTable"),
            equals: ["MyIdMyNameMyValue", "MyIdMyNameMyValue"])
    }

    // MARK: - Thread safety

    @Test func `calls on a database queue`() throws {
        try db.executeUpdate("CREATE TABLE myTable (a)")
        let queue = SecureDatabaseQueue(databaseStore: db)
        var rows = 0
        do {
            try queue.inDatabase { db in
                try db.executeUpdate("INSERT INTO myTable VALUES (?)", values: [1])
                try db.executeUpdate("INSERT INTO myTable VALUES (?)", values: [2])

                let rs = try db.executeQuery("SELECT * from myTable")
                defer {
                    rs.close()
                }

                while try rs.next() {
                    // ...
                    rows += 1
                }
            }
        } catch let error {
            logger.error(
                "An error occurred while executing a updates on a database queue.", error: error)
        }
        check(rows, equals: 2)
        do {
            try queue.inExclusiveTransaction { db in
                do {
                    try db.executeUpdate("INSERT INTO myTable VALUES (?)", values: [1])
                    try db.executeUpdate("INSERT INTO myTable VALUES (?)", values: [2])
                } catch {
                    return true  // perform a rollback
                }
                return false
            }
        } catch let error {
            logger.error(
                "An error occurred while executing a updates on a database queue.", error: error)
        }
        check(logger.errors.isEmpty)
        try check(queue.inDatabase { try $0.int("SELECT count(*) FROM myTable") }, equals: 4)
    }
}

/// The part of the reference's logger that its snippets use.
final class ReferenceLogger {
    private(set) var errors: [String] = []
    private(set) var infos: [String] = []

    func error(_ message: String, error: any Error) { errors.append("\(message) \(error)") }

    func info(_ message: Message) { infos.append(message.text) }

    /// A message that can interpolate an optional value without a warning.
    struct Message: ExpressibleByStringInterpolation {
        var text: String

        init(stringLiteral text: String) { self.text = text }

        init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

        struct Interpolation: StringInterpolationProtocol {
            var text = ""

            init(literalCapacity: Int, interpolationCount: Int) {}

            mutating func appendLiteral(_ literal: String) { text += literal }

            mutating func appendInterpolation(_ value: String?) { text += value ?? "nil" }
        }
    }
}
