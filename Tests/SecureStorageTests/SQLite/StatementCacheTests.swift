import Foundation
import Testing
import TestSupport

@testable import SecureStorage

@Suite struct StatementCacheTests {
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
        #expect(first === second)
    }

    @Test func `a statement in use is never handed out twice`() throws {
        let first = try connection.statement(for: "SELECT 1")
        let second = try connection.statement(for: "SELECT 1")
        let third = try connection.statement(for: "SELECT 1")
        #expect(first !== second && second !== third && first !== third)
        second.giveBack()
        first.giveBack()
        #expect(try connection.statement(for: "SELECT 1") === first)
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
        #expect(cache.count == 3)
        #expect(cache.checkOut("SELECT 1") === one)
        #expect(cache.checkOut("SELECT 2") == nil)
        #expect(two.sql == "SELECT 2")
    }

    @Test func `a statement in use is not evicted`() throws {
        let busy = try connection.statement(for: "SELECT 0")
        for number in 1...200 { try connection.execute("SELECT \(number)") }
        #expect(connection.statements.count <= 64)
        busy.giveBack()
        #expect(try connection.statement(for: "SELECT 0") === busy)
    }

    @Test func `clearing the cache leaves a running result set alone`() throws {
        let rs = try db.executeQuery("SELECT 1 UNION SELECT 2")
        #expect(try rs.next())
        db.clearCachedStatements()
        db.shouldCacheStatements = false
        #expect(try rs.next())
        #expect(rs.int(forColumnIndex: 0) == 2)
        #expect(connection.statements.count == 0)
    }

    @Test func `without caching, each call prepares its statement and keeps nothing`() throws {
        db.shouldCacheStatements = false
        for _ in 1...3 { #expect(try db.int("SELECT 5") == 5) }
        try db.executeUpdate("PRAGMA user_version = 1")
        #expect(connection.statements.count == 0)
        db.shouldCacheStatements = true
        #expect(try db.int("SELECT 5") == 5)
        #expect(connection.statements.count == 1)
    }

    @Test func `a statement is prepared once however often it runs`() throws {
        try db.executeUpdate("CREATE TABLE t (a)")
        for number in 1...50 {
            try db.executeUpdate("INSERT INTO t VALUES (?)", values: [number])
        }
        let statement = try #require(
            connection.statements.checkOut("INSERT INTO t VALUES (?)"))
        #expect(statement.runCount == 50)
    }

    @Test func `values are cleared when a statement is returned`() throws {
        let statement = try connection.statement(for: "SELECT ?")
        try statement.bind([String(repeating: "secret", count: 100)])
        #expect(try statement.step())
        statement.giveBack()
        let again = try connection.statement(for: "SELECT ?")
        #expect(try again.step())
        #expect(again.storageClass(at: 0) == .null)
    }

    @Test func `a thousand open result sets leave no more statements than the cache holds`() throws
    {
        let open = try (1...1000).map { try db.executeQuery("SELECT \($0)") }
        #expect(connection.statements.count == 1000)
        for rs in open { rs.close() }
        try db.executeUpdate("SELECT 'one more'")
        #expect(connection.statements.count == 64)
    }
}
