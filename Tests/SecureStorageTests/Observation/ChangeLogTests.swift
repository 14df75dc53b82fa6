import Foundation
import SecureStorage
import Testing
import TestSupport

/// Which tables the commits of other connections changed.
struct ChangeLogTests {
    private let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    private func openPool(keepsChangeLog: Bool = true) throws -> SecureDatabasePool {
        let pool = try database.openPool { $0.keepsChangeLog = keepsChangeLog }
        try pool.write {
            try $0.executeStatements(
                "CREATE TABLE IF NOT EXISTS a (x); CREATE TABLE IF NOT EXISTS b (x)")
        }
        return pool
    }

    private func rows(_ pool: SecureDatabasePool) async throws -> [String?] {
        try await pool.read {
            try $0.strings("SELECT tables FROM securestorage_changes ORDER BY id")
        }
    }

    @Test func `the tables of another connection's commits are known`() async throws {
        let (other, own) = (try openPool(), try openPool())
        var changes = own.changes().makeAsyncIterator()
        try await own.write { try $0.executeUpdate("INSERT INTO a VALUES (0)") }
        await check(changes.next()?.tables.keys.sorted(), equals: ["a"])
        try await other.write { db in
            try db.executeUpdate("INSERT INTO b VALUES (1)")
            try db.executeUpdate("UPDATE b SET x = 2")
        }
        let change = await changes.next()
        check(change?.includesForeign, equals: true)
        check(change?.hasUnknownTables, equals: false)
        check(change?.tables.keys.sorted(), equals: ["b"])
        check(change?.tables["b"]?.kinds, equals: [.insert, .update])
        check(change?.tables["b"]?.rowIDs == nil)
    }

    @Test func `an observer of one table stays idle while another connection changes another`()
        async throws
    {
        let (other, own) = (try openPool(), try openPool())
        var changes = own.changes(in: ["a"]).makeAsyncIterator()
        try await own.write { try $0.executeUpdate("INSERT INTO a VALUES (0)") }
        await check(changes.next()?.includesForeign, equals: false)
        for _ in 1...5 {
            try await other.write { try $0.executeUpdate("INSERT INTO b VALUES (1)") }
        }
        try await other.write { try $0.executeUpdate("DELETE FROM a") }
        let change = await changes.next()
        check(change?.tables.keys.sorted(), equals: ["a"])
        check(change?.tables["a"]?.kinds, equals: .delete)
    }

    @Test func `no commit of a busy writer is mistaken for one of unknown tables`() async throws {
        let (other, own) = (try openPool(), try openPool())
        var changes = own.changes(in: ["a"]).makeAsyncIterator()
        try await own.write { try $0.executeUpdate("INSERT INTO a VALUES (0)") }
        _ = await changes.next()
        // Each commit of `own` checks for foreign commits, while `other` is committing.
        onThreads(2) { thread in
            for _ in 1...1000 {
                let (pool, table) = thread == 0 ? (other, "b") : (own, "a")
                try? pool.write { try $0.executeUpdate("INSERT INTO \(table) VALUES (1)") }
            }
        }
        let change = await changes.next()
        check(change?.hasUnknownTables, equals: false)
        check(change?.tables.keys.sorted(), equals: ["a"])
    }

    @Test func `work that is rolled back or changes nothing leaves no row in the log`() async throws
    {
        let pool = try openPool()
        let before = try await rows(pool)
        try? await pool.write { db in
            try db.executeUpdate("INSERT INTO a VALUES (1)")
            throw CancellationError()
        }
        try await pool.write { try $0.executeUpdate("UPDATE a SET x = 2 WHERE x = 'none'") }
        try await check(rows(pool), equals: before)
        try await pool.write { try $0.executeUpdate("INSERT INTO a VALUES (1)") }
        try await check(rows(pool).dropFirst(before.count), equals: [#"{"a":1}"#])
    }

    @Test func `a statement that commits by itself is logged, too`() async throws {
        let queue = SecureDatabaseQueue(
            databaseStore: try database.openStore { $0.keepsChangeLog = true })
        try await queue.inDatabase { db in
            try db.executeStatements("CREATE TABLE a (id INTEGER PRIMARY KEY, x)")
            try db.executeUpdate("INSERT INTO a VALUES (7, 1), (8, 2)")
            // The caller gets the values of its own statement, not those of the log's.
            try check(db.lastInsertRowId(), equals: 8)
            try check(db.changedRowCount(), equals: 2)
            try db.beginExclusiveTransaction()
            try db.executeUpdate("INSERT INTO a VALUES (9, 1)")
            try db.commit()
            try check(db.lastInsertRowId(), equals: 9)
            try check(db.changedRowCount(), equals: 1)
            try db.inSavePoint { db in
                try db.executeUpdate("UPDATE a SET x = 3")
                return false
            }
            try check(db.changedRowCount(), equals: 3)
        }
        let rows = try await queue.inDatabase {
            try $0.strings("SELECT tables FROM securestorage_changes ORDER BY id")
        }
        check(rows.suffix(3), equals: [#"{"a":1}"#, #"{"a":1}"#, #"{"a":2}"#])
    }

    @Test func `a commit without a row in the log is one of unknown tables`() async throws {
        let (other, own) = (try openPool(keepsChangeLog: false), try openPool())
        var changes = own.changes(in: ["a"]).makeAsyncIterator()
        try await own.write { try $0.executeUpdate("INSERT INTO a VALUES (0)") }
        _ = await changes.next()
        try await other.write { try $0.executeUpdate("INSERT INTO b VALUES (1)") }
        let change = await changes.next()
        check(change?.hasUnknownTables, equals: true)
    }

    @Test func `the log is bounded, and an observer that missed rows learns of it`() async throws {
        let (other, own) = (try openPool(), try openPool())
        var changes = own.changes(in: ["a"]).makeAsyncIterator()
        try await own.write { try $0.executeUpdate("INSERT INTO a VALUES (0)") }
        _ = await changes.next()
        // While the writer of `own` is busy, the log is not read.
        try await own.writeWithoutTransaction { db in
            _ = try db.int("SELECT count(*) FROM a")
            onThreads(1) { _ in
                for _ in 1...1300 {
                    try? other.write { try $0.executeUpdate("INSERT INTO b VALUES (1)") }
                }
            }
        }
        let change = await changes.next()
        check(change?.hasUnknownTables, equals: true)
        let count = try await own.read { try $0.int("SELECT count(*) FROM securestorage_changes") }
        check(count ?? 0 <= 1100)
        try await check(own.read { try $0.int("SELECT count(*) FROM b") }, equals: 1300)
    }

    @Test func `the cost of the log is bounded`() throws {
        func time(_ keepsChangeLog: Bool) throws -> Double {
            let database = try TemporaryDatabase()
            let pool = try database.openPool { $0.keepsChangeLog = keepsChangeLog }
            try pool.write { try $0.executeUpdate("CREATE TABLE a (x)") }
            // Of the processor, which other programs do not change. A block runs on its caller's
            // thread.
            let start = ThreadTime.now
            for _ in 1...100 { try pool.write { try $0.executeUpdate("INSERT INTO a VALUES (1)") } }
            return (ThreadTime.now - start) / .seconds(1)
        }
        var ratios: [Double] = []
        for _ in 1...5 { ratios.append(try time(true) / time(false)) }
        // The overhead exceeds a tenth, so the log is off by default. With files in memory, a
        // commit costs only its statements, and those of the log are several times as many; on a
        // disk the ratio is far lower.
        print("a commit with a change log takes \(ratios.sorted()[2]) times one without")
        check(ratios.sorted()[0] < 15)
    }
}
