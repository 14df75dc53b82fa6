import Foundation
import Testing
import TestSupport

@testable import SecureStorage

struct StatementCacheTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore
    let connection: Connection

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        connection = try db.openConnection()
    }

    @Test func `a returned statement is handed out again`() throws {
        let first = try connection.statement(for: "SELECT 1")
        first.giveBack()
        let second = try connection.statement(for: "SELECT 1")
        check(first === second)
    }

    @Test func `a statement in use is never handed out twice`() throws {
        let first = try connection.statement(for: "SELECT 1")
        let second = try connection.statement(for: "SELECT 1")
        let third = try connection.statement(for: "SELECT 1")
        check(first !== second && second !== third && first !== third)
        second.giveBack()
        first.giveBack()
        try check(connection.statement(for: "SELECT 1") === first)
    }

    @Test func `the least recently used statement is evicted first`() throws {
        let cache = StatementCache(capacity: 3)
        func use(_ sql: String) throws -> Statement {
            let statement =
                try cache.checkOut(sql) ?? Statement(sql, on: connection, persistent: true)
            cache.insertCheckedOut(statement)
            statement.giveBack()
            return statement
        }
        let one = try use("SELECT 1")
        let two = try use("SELECT 2")
        _ = try use("SELECT 3")
        _ = try use("SELECT 1")
        _ = try use("SELECT 4")
        check(cache.count, equals: 3)
        check(cache.checkOut("SELECT 1") === one)
        check(cache.checkOut("SELECT 2") == nil)
        check(two.sql, equals: "SELECT 2")
    }

    @Test func `a statement in use is not evicted`() throws {
        let busy = try connection.statement(for: "SELECT 0")
        for number in 1...200 { try connection.execute("SELECT \(number)") }
        check(connection.statements.count <= 64)
        busy.giveBack()
        try check(connection.statement(for: "SELECT 0") === busy)
    }

    @Test func `clearing the cache leaves a running result set alone`() throws {
        let rs = try db.executeQuery("SELECT 1 UNION SELECT 2")
        try check(rs.next())
        db.clearCachedStatements()
        db.shouldCacheStatements = false
        try check(rs.next())
        check(rs.int(forColumnIndex: 0), equals: 2)
        check(connection.statements.count, equals: 0)
    }

    @Test func `without caching, each call prepares its statement and keeps nothing`() throws {
        db.shouldCacheStatements = false
        for _ in 1...3 { try check(db.int("SELECT 5"), equals: 5) }
        try db.executeUpdate("PRAGMA user_version = 1")
        check(connection.statements.count, equals: 0)
        db.shouldCacheStatements = true
        try check(db.int("SELECT 5"), equals: 5)
        check(connection.statements.count, equals: 1)
    }

    @Test func `a statement is prepared once however often it runs`() throws {
        try db.executeUpdate("CREATE TABLE t (a)")
        for number in 1...50 {
            try db.executeUpdate("INSERT INTO t VALUES (?)", values: [number])
        }
        let statement = try require(
            connection.statements.checkOut("INSERT INTO t VALUES (?)"))
        check(statement.runCount, equals: 50)
    }

    @Test func `the statements of transactions are prepared once`() throws {
        for _ in 1...50 {
            try db.beginTransaction()
            try db.commit()
        }
        let statement = try require(connection.statements.checkOut("COMMIT"))
        check(statement.runCount, equals: 50)
    }

    @Test func `values are cleared when a statement is returned`() throws {
        let statement = try connection.statement(for: "SELECT ?")
        try statement.bind([String(repeating: "secret", count: 100)])
        try check(statement.step())
        statement.giveBack()
        let again = try connection.statement(for: "SELECT ?")
        try check(again.step())
        check(again.storageClass(at: 0), equals: .null)
    }

    @Test func `a thousand open result sets leave no more statements than the cache holds`() throws
    {
        let open = try (1...1000).map { try db.executeQuery("SELECT \($0)") }
        check(connection.statements.count, equals: 1000)
        for rs in open { rs.close() }
        try db.executeUpdate("SELECT 'one more'")
        check(connection.statements.count, equals: 64)
    }
}
