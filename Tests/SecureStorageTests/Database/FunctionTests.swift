import Foundation
import SecureStorage
import Testing
import TestSupport

struct FunctionTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
    }

    private func echo(isInnocuous: Bool = false) throws {
        try db.makeFunction(
            named: "echo", argumentCount: 1, isDeterministic: true, isInnocuous: isInnocuous
        ) { Echo($0[0]) }
    }

    @Test func `FMDB makeFunctionNamed:arguments:block: is makeFunction`() throws {
        try db.makeFunction(named: "repeated", argumentCount: 2) { arguments in
            guard let text = String(sqliteValue: arguments[0]),
                let count = Int(sqliteValue: arguments[1])
            else { return nil }
            return String(repeating: text, count: count)
        }
        try check(
            db.strings("SELECT REPEATED('ab', 3) UNION ALL SELECT repeated(NULL, 3)"),
            equals: ["ababab", nil])
        check(storageError { _ = try db.strings("SELECT repeated('ab')") }?.code, equals: 1)
    }

    @Test func `a function with any number of arguments receives all of them`() throws {
        try db.makeFunction(named: "number_of") { $0.count }
        try check(db.int("SELECT number_of()"), equals: 0)
        try check(db.int("SELECT number_of(1, NULL, x'')"), equals: 3)
    }

    @Test func `an exact number of arguments takes precedence over any number`() throws {
        try db.makeFunction(named: "f") { _ in "any" }
        try db.makeFunction(named: "F", argumentCount: 1) { _ in "one" }
        try check(db.strings("SELECT f(1) UNION ALL SELECT f(1, 2)"), equals: ["one", "any"])
        try db.removeFunction(named: "f", argumentCount: 1)
        try check(db.int("SELECT f(1, 2) = 'any'"), equals: 1)
    }

    @Test(arguments: [
        "NULL", "9223372036854775807", "-9223372036854775808", "0.1", "9e999", "''", "x''",
        "CAST(x'610062' AS TEXT)", "'é𝄞'", "x'00ff'", "zeroblob(100000)",
    ])
    func `a value passes through a function unchanged`(_ literal: String) throws {
        try echo()
        let sql =
            "SELECT typeof(echo(v)) = typeof(v) AND echo(v) IS v "
            + "AND hex(echo(v)) = hex(v) FROM (SELECT \(literal) AS v)"
        try check(db.int(sql), equals: 1)
    }

    @Test func `text that is not UTF-8 is an error of the function`() throws {
        try echo()
        let error = storageError { _ = try db.strings("SELECT echo(CAST(x'ff' AS TEXT))") }
        check(error?.code, equals: 1)
        check(error?.description.contains("the function echo"), equals: true)
    }

    @Test func `a result that SQLite cannot hold is an error`() throws {
        try db.makeFunction(named: "huge") { _ in UInt64(Int64.max) + 1 }
        let error = storageError { _ = try db.strings("SELECT huge()") }
        check(error?.code, equals: 1)
        check(error?.description.contains("the function huge returned"), equals: true)
    }

    @Test func `a result over a billion bytes is an error`() throws {
        try db.makeFunction(named: "blob") { _ in Data(count: 1_000_000_001) }
        check(storageError { _ = try db.int("SELECT length(blob())") }?.code, equals: 18)
        try db.setLimit(.length, to: 1000)
        try db.makeFunction(named: "text") { _ in String(repeating: "a", count: 1001) }
        check(storageError { _ = try db.int("SELECT length(text())") }?.code, equals: 18)
    }

    @Test func `an error names the function and its own type but no value`() throws {
        struct Refused: Error, CustomStringConvertible { let description: String }
        try db.makeFunction(named: "check_it") {
            throw Refused(description: String(sqliteValue: $0[0]) ?? "")
        }
        for sql in ["SELECT check_it(?)", "INSERT INTO t VALUES (check_it(?))"] {
            try db.executeUpdate("CREATE TABLE IF NOT EXISTS t (x)")
            let error = storageError { try db.executeUpdate(sql, values: ["hush"]) }
            check(error?.code, equals: 1)
            let text = error?.description ?? ""
            check(text.contains("the function check_it failed: Refused"), "\(text)")
            check(!text.contains("hush"))
        }
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test(arguments: ["", "a\0b", String(repeating: "é", count: 128)])
    func `an invalid name is an error`(_ name: String) throws {
        check(storageError { try db.makeFunction(named: name) { _ in 1 } }?.code, equals: 21)
        check(
            storageError { try db.makeCollation(named: name) { $0.compare($1) } }?.code, equals: 21)
    }

    @Test(arguments: [-1, 128, Int.max])
    func `an invalid number of arguments is an error`(_ count: Int) throws {
        let error = storageError {
            try db.makeFunction(named: "f", argumentCount: count) { _ in 1 }
        }
        check(error?.code, equals: 25)
    }

    @Test func `a name of 255 bytes and 127 arguments are allowed`() throws {
        let name = String(repeating: "f", count: 255)
        try db.makeFunction(named: name, argumentCount: 127) { $0.count }
        let arguments = Array(repeating: "1", count: 127).joined(separator: ",")
        try check(db.int("SELECT \(name)(\(arguments))"), equals: 127)
    }

    // MARK: - Schemas

    @Test(arguments: [
        "CREATE VIEW v AS SELECT echo(x) FROM t; SELECT * FROM v",
        "CREATE INDEX i ON t (echo(x))",
        "CREATE TABLE u (x CHECK (echo(x) = x)); INSERT INTO u VALUES (1)",
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT echo(new.x); END; INSERT INTO t VALUES (2)",
    ])
    func `the schema can use only an innocuous function`(_ sql: String) throws {
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        try echo()
        let error = storageError { try db.executeStatements(sql) }
        check(error?.code, equals: 1, "\(error?.description ?? "no error")")
        try db.executeStatements(
            "DROP VIEW IF EXISTS v; DROP TABLE IF EXISTS u; DROP TRIGGER IF EXISTS r")
        try echo(isInnocuous: true)
        try db.executeStatements(sql)
    }

    // MARK: - Life

    @Test func `functions and collations survive closing and reopening`() throws {
        db.close()
        try echo(isInnocuous: true)
        try db.makeCollation(named: "backwards") { $1.compare($0) }
        for _ in 1...2 {
            try db.open(with: TemporaryDatabase.key)
            try check(
                db.strings(
                    "SELECT echo(column1) FROM (VALUES ('a'), ('b')) "
                        + "ORDER BY column1 COLLATE backwards"), equals: ["b", "a"])
            db.close()
        }
    }

    @Test func `the initialization handler can use the functions`() throws {
        let other = try TemporaryDatabase()
        let store = other.store()
        try store.makeFunction(named: "f", isDeterministic: true, isInnocuous: true) { _ in 7 }
        try store.open(with: TemporaryDatabase.key) { db in
            do {
                try db.executeStatements(
                    "CREATE TABLE t (x); CREATE INDEX i ON t (f(x)); INSERT INTO t VALUES (1)")
                return nil
            } catch { return error }
        }
        try check(store.int("SELECT count(*) FROM t WHERE f(x) = 7"), equals: 1)
    }

    @Test func `what a function holds is freed with its store or when the function is replaced`()
        throws
    {
        final class Witness: Sendable {}
        weak var first: Witness?
        weak var second: Witness?
        do {
            let store = database.store()
            try store.open(with: TemporaryDatabase.key)
            func make() throws -> Witness {
                let witness = Witness()
                try store.makeFunction(named: "f") { _ in withExtendedLifetime(witness) { 1 } }
                try store.makeCollation(named: "c") { left, right in
                    withExtendedLifetime(witness) { left.compare(right) }
                }
                return witness
            }
            first = try make()
            check(first != nil)
            second = try make()
            check(first == nil)
            try check(store.int("SELECT f()"), equals: 1)
            try store.removeFunction(named: "f")
            check(second != nil)
        }
        check(second == nil)
    }

    #if os(Linux)
        @Test(.enabled(if: SmallDisk.isAvailable, "needs a right to mount a tmpfs"))
        func `functions, collations and limits survive a failed change of key`() async throws {
            let disk = try SmallDisk(kilobytes: 2048)
            await #expect(processExitsWith: .success) {
                [disk = disk.directory.path as String] in
                let db = SecureDatabaseStore(fullDatabasePath: disk + "/test.db")
                try db.makeFunction(named: "f") { $0.count }
                try db.makeCollation(named: "backwards") { $1.compare($0) }
                try db.open(with: TemporaryDatabase.key)
                try db.setLimit(.triggerDepth, to: 3)
                try db.executeStatements("CREATE TABLE t (x); CREATE TEMP TABLE witness (x)")
                for _ in 1...10 {
                    try db.executeUpdate("INSERT INTO t VALUES (zeroblob(50000))")
                }
                let prepared = try db.prepare("SELECT 1")
                try Ballast(directory: disk).fill(leaving: 100 * 1024)
                let newKey = Data(repeating: 1, count: 32)

                let error = storageError { try db.changeEncryptionKey(with: newKey) }

                check(error?.kind, equals: .encryptionKeyChangeFailed)
                // The store has a new connection.
                check(storageError { _ = try db.int("SELECT 1 FROM witness") }?.code, equals: 1)
                check(storageError { _ = try prepared.executeQuery() }, equals: .closed)
                try check(db.int("SELECT f(1, 2)"), equals: 2)
                try check(
                    db.strings(
                        "SELECT column1 FROM (VALUES (1), ('a'), ('b')) "
                            + "ORDER BY column1 COLLATE backwards"), equals: ["1", "b", "a"])
                try check(db.limit(.triggerDepth), equals: 3)
                // The new connection can be interrupted too.
                let rows = try db.executeQuery("SELECT x FROM t")
                try check(rows.next())
                db.interrupt()
                check(storageError { _ = try rows.next() }?.code, equals: 9)
            }
        }
    #endif

    @Test func `a built-in function that was replaced is back after closing and reopening`() throws
    {
        try db.makeFunction(named: "upper", argumentCount: 1) { _ in "mine" }
        try check(db.strings("SELECT upper('a')"), equals: ["mine"])
        try db.removeFunction(named: "upper", argumentCount: 1)
        check(storageError { _ = try db.strings("SELECT upper('a')") }?.code, equals: 1)
        db.close()
        try db.open(with: TemporaryDatabase.key)
        try check(db.strings("SELECT upper('a')"), equals: ["A"])
    }

    @Test func `a removed function is unknown, and removing it twice is an error`() throws {
        try echo()
        try db.removeFunction(named: "ECHO", argumentCount: 1)
        check(storageError { _ = try db.int("SELECT echo(1)") }?.code, equals: 1)
        check(
            storageError { try db.removeFunction(named: "echo", argumentCount: 1) }?.code, equals: 1
        )
        check(storageError { try db.removeCollation(named: "nocase") }?.code, equals: 1)
    }
}

/// Any value, unchanged.
struct Echo: SQLiteDatatypeBridgeable {
    let sqliteValue: SQLiteValue

    init(_ value: SQLiteValue) { sqliteValue = value }

    init?(sqliteValue: SQLiteValue) { self.sqliteValue = sqliteValue }
}
