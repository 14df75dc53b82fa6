import Foundation
import Testing
import TestSupport

@testable import SecureStorage
@testable import SecureStorageTests

/// Commits of other connections and processes.
@Suite(.serialized) struct ForeignObservationTests {
    private static let modes: [SecureDatabaseConfiguration.JournalMode] = [.wal, .delete]

    /// Commits on a separate connection.
    private func commitElsewhere(
        _ observed: ObservedDatabase, mode: SecureDatabaseConfiguration.JournalMode = .wal,
        _ sql: String = "INSERT INTO t (a) VALUES (1)"
    ) throws {
        let other = try observed.database.openStore { $0.journalMode = mode }
        try other.executeStatements(sql)
        other.close()
    }

    /// Makes many commits on another connection inside one block of the queue.
    private func writeWhileBusy(
        _ observed: ObservedDatabase, _ other: SecureDatabaseStore
    ) throws {
        try observed.queue.inDatabase { _ in
            for _ in 1...200 { try other.executeUpdate("INSERT INTO t (a) VALUES (1)") }
            usleep(100_000)
        }
    }

    /// Returns an iterator whose observation has begun.
    private func observe(
        _ observed: ObservedDatabase, in tables: [String]? = nil
    ) throws -> DatabaseChanges.Iterator {
        let iterator = observed.queue.changes(in: tables).makeAsyncIterator()
        try observed.queue.inDatabase { _ in }
        return iterator
    }

    @Test(arguments: modes)
    func `another connection's commit is reported without its tables`(
        _ mode: SecureDatabaseConfiguration.JournalMode
    ) async throws {
        let observed = try ObservedDatabase { $0.journalMode = mode }
        var changes = try observe(observed, in: ["u"])
        for _ in 1...3 {
            try commitElsewhere(observed, mode: mode)
            let change = await changes.next()
            check(change, equals: .foreign)
        }
    }

    @Test func `the connection's own commit is reported once and not as foreign`() async throws {
        let observed = try ObservedDatabase()
        var changes = try observe(observed)
        for number in 1...5 {
            try observed.run("INSERT INTO t VALUES (\(number), 1)")
            let change = await changes.next()
            check(change?.tables.kinds, equals: ["t": .insert])
            check(change?.includesForeign, equals: false)
            // Time for wake-ups caused by this write.
            try await Task.sleep(for: .milliseconds(number == 5 ? 2500 : 100))
        }
        try observed.run("INSERT INTO u VALUES (1)")
        let last = await changes.next()
        check(last?.tables.kinds, equals: ["u": .insert])
        check(last?.hasUnknownTables, equals: false)
    }

    @Test func `another connection's commit is reported with or before the own one after it`()
        async throws
    {
        let observed = try ObservedDatabase()
        for number in 1...20 {
            var changes = try observe(observed)
            try commitElsewhere(observed)
            try observed.run("INSERT INTO u VALUES (\(number))")
            var first = await changes.next()
            check(first?.includesForeign, equals: true)
            if first?.tables["u"] == nil { first = await changes.next() }
            check(first?.tables["u"] != nil)
        }
    }

    @Test func `reads and rollbacks elsewhere are not reported`() async throws {
        let observed = try ObservedDatabase()
        var changes = try observe(observed)
        try commitElsewhere(
            observed, "SELECT * FROM t; BEGIN; INSERT INTO t VALUES (1, 1); ROLLBACK")
        try await Task.sleep(for: .milliseconds(200))
        try observed.run("INSERT INTO u VALUES (1)")
        await check(changes.next()?.includesForeign, equals: false)
    }

    @Test func `commits made while the writer is busy are reported as one change`() async throws {
        let observed = try ObservedDatabase()
        var changes = try observe(observed)
        let other = try observed.database.openStore()
        try writeWhileBusy(observed, other)
        await check(changes.next(), equals: .foreign)
        try await Task.sleep(for: .milliseconds(100))
        try observed.run("INSERT INTO u VALUES (1)")
        await check(changes.next()?.includesForeign, equals: false)
    }

    @Test func `values are queried again after another connection's commit`() async throws {
        let observed = try ObservedDatabase()
        var counts = observed.queue.values { try $0.int(forQuery: "SELECT count(*) FROM t") }
            .makeAsyncIterator()
        try await check(counts.next()?.get(), equals: 0)
        try commitElsewhere(observed)
        try await check(counts.next()?.get(), equals: 1)
    }

    @Test func `a commit hidden by an open result set is reported when it closes`() async throws {
        let observed = try ObservedDatabase()
        try observed.run("INSERT INTO t VALUES (1, 1), (2, 1)")
        var changes = try observe(observed)
        // Opened on the store itself, so no block of the queue closes it.
        let rs = try observed.queue.databaseStore.executeQuery("SELECT * FROM t")
        try check(rs.next())
        try commitElsewhere(observed)
        try await Task.sleep(for: .milliseconds(300))
        rs.close()
        await check(changes.next(), equals: .foreign)
    }

    @Test func `a read-only queue reports changes`() async throws {
        let observed = try ObservedDatabase()
        let reader = SecureDatabaseQueue(
            databaseStore: try observed.database.openStore { $0.isReadOnly = true })
        var changes = reader.changes().makeAsyncIterator()
        try await reader.inDatabase { _ in }
        try observed.run("INSERT INTO t VALUES (1, 1)")
        await check(changes.next(), equals: .foreign)
    }

    @Test func `a long transaction elsewhere is reported when it commits`() async throws {
        let observed = try ObservedDatabase()
        var changes = try observe(observed)
        let other = try observed.database.openStore { $0.cacheSize = 0 }
        // Large enough for pages to be written before the commit.
        try other.executeStatements(
            """
            PRAGMA cache_size = 10; BEGIN IMMEDIATE;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
            INSERT INTO t (a) SELECT randomblob(500) FROM n
            """)
        try await Task.sleep(for: .milliseconds(3500))
        let committed = ContinuousClock.now
        try other.executeStatements("COMMIT")
        await check(changes.next(), equals: .foreign)
        print("after a long transaction: \(ContinuousClock.now - committed)")
    }
}
