import Foundation
import SecureStoragePlatform
import Testing
import TestSupport

@testable import SecureStorage

/// Keeps the reports of one or more connections.
final class ReportRecorder: Sendable {
    private let kept = Locked<[StatementReport]>([])

    var reports: [StatementReport] { kept.withLock { $0 } }

    func clear() { kept.withLock { $0 = [] } }

    func observe(_ configuration: inout SecureDatabaseConfiguration) {
        configuration.statementObserver = { report in self.kept.withLock { $0.append(report) } }
    }

    func last(_ operation: String) throws -> StatementReport {
        try require(reports.last { $0.operation == operation })
    }
}

struct StatementReportTests {
    let database: TemporaryDatabase
    let recorder = ReportRecorder()
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore(configure: recorder.observe)
        try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
        recorder.clear()
    }

    private func fill(_ count: Int) throws {
        try db.executeUpdate(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
            INSERT INTO t (a) SELECT printf('%0500d', i) FROM n
            """, values: [count])
    }

    @Test func `each run of a statement is reported once, in order`() throws {
        try db.executeUpdate("INSERT INTO t (a) VALUES (?)", values: ["x"])
        try db.executeUpdate("INSERT INTO t (a) VALUES (?)", values: ["y"])
        _ = try db.strings("SELECT a FROM t")
        try db.executeStatements("DELETE FROM t; VACUUM")
        check(
            recorder.reports.map(\.sql),
            equals: [
                "INSERT INTO t (a) VALUES (?)", "INSERT INTO t (a) VALUES (?)", "SELECT a FROM t",
                "DELETE FROM t;", "VACUUM",
            ])
        check(
            recorder.reports.map(\.operation),
            equals: ["INSERT", "INSERT", "SELECT", "DELETE", "VACUUM"])
    }

    @Test func `the statements of opening are not reported`() throws {
        db.close()
        try db.open(with: TemporaryDatabase.key)
        check(recorder.reports.isEmpty)
    }

    @Test func `rows that were returned and rows that were changed are counted`() throws {
        try fill(10)
        try check(recorder.last("WITH").changedRowCount, equals: 10)
        _ = try db.strings("SELECT a FROM t WHERE id > 3")
        try check(recorder.last("SELECT").rowCount, equals: 7)
        try check(recorder.last("SELECT").changedRowCount, equals: 0)
        _ = try db.strings("DELETE FROM t WHERE id > 4 RETURNING id")
        try check(recorder.last("DELETE").rowCount, equals: 6)
        try check(recorder.last("DELETE").changedRowCount, equals: 6)
        // Keeps no count of an earlier statement.
        try db.beginTransaction()
        try check(recorder.last("BEGIN").changedRowCount, equals: 0)
        try db.rollback()
    }

    @Test func `a query that is closed early is reported with the rows that it returned`() throws {
        try fill(10)
        let rs = try db.executeQuery("SELECT a FROM t")
        try check(rs.next())
        try check(rs.next())
        let isReportedBefore = recorder.reports.contains { $0.operation == "SELECT" }
        check(!isReportedBefore)
        rs.close()
        try check(recorder.last("SELECT").rowCount, equals: 2)
        try check(recorder.last("SELECT").failure == nil)
        _ = try db.int(forQuery: "SELECT count(*) FROM t")
        try check(recorder.last("SELECT").rowCount, equals: 1)
    }

    @Test func `pages that are read and written are counted`() throws {
        try fill(1000)
        let written = try recorder.last("WITH").pagesWritten
        check(written > 100)
        // Pages in the cache need not be read.
        _ = try db.strings("SELECT a FROM t")
        try check(recorder.last("SELECT").pagesRead, equals: 0)
        db.close()
        try db.open(with: TemporaryDatabase.key)
        _ = try db.strings("SELECT a FROM t")
        let read = try recorder.last("SELECT").pagesRead
        check(read > 100 && read < 1000)
        try check(recorder.last("SELECT").pagesWritten, equals: 0)
    }

    @Test func `in a transaction the commit writes the pages`() throws {
        try db.beginTransaction()
        try fill(200)
        try db.commit()
        try check(recorder.last("WITH").pagesWritten, equals: 0)
        try check(recorder.last("COMMIT").pagesWritten > 20)
    }

    @Test func `a failure is reported with its extended code`() throws {
        try db.executeUpdate("INSERT INTO t (id) VALUES (1)")
        #expect(throws: SecureStorageError.self) {
            try db.executeUpdate("INSERT INTO t (id) VALUES (1)")
        }
        check(recorder.reports.map(\.failure), equals: [nil, .constraintPrimaryKey])
    }

    @Test func `the duration is the statement's time`() throws {
        let start = ContinuousClock.now
        _ = try db.int(
            forQuery: """
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
                SELECT count(*) FROM n
                """)
        let whole = ContinuousClock.now - start
        let duration = try recorder.last("WITH").duration
        check(duration > .milliseconds(2))
        check(duration <= whole)
    }

    @Test func `the wait for another connection's lock is reported`() throws {
        // Used by one thread after the other.
        nonisolated(unsafe) let other = try database.openStore()
        try other.executeUpdate("BEGIN IMMEDIATE")
        let holder = Thread {
            Thread.sleep(forTimeInterval: 0.1)
            try? other.executeUpdate("COMMIT")
        }
        holder.start()
        try db.executeUpdate("INSERT INTO t (a) VALUES ('x')")
        let report = try recorder.last("INSERT")
        check(report.lockWait > .milliseconds(50))
        check(report.duration >= report.lockWait)
        check(report.turnWait, equals: .zero)
        try check(db.statistics().busyWaits, equals: 1)
        try check(db.statistics().busyWaitTime, equals: report.lockWait)
    }

    @Test func `an observer that uses the database is not called for its own statements`() throws {
        let database = try TemporaryDatabase()
        let queue = Locked<SecureDatabaseQueue?>(nil)
        let calls = Locked(0)
        let store = database.store {
            $0.statementObserver = { _ in
                calls.withLock { $0 += 1 }
                let queue = queue.withLock { $0 }
                _ = try? queue?.inDatabase { try $0.int(forQuery: "SELECT 1") }
            }
        }
        try store.open(with: TemporaryDatabase.key)
        queue.withLock { $0 = SecureDatabaseQueue(databaseStore: store) }
        let own = try require(queue.withLock { $0 })
        calls.withLock { $0 = 0 }
        try check(own.inDatabase { try $0.int(forQuery: "SELECT 2") }, equals: 2)
        check(calls.withLock { $0 }, equals: 1)
        queue.withLock { $0 = nil }
    }

    @Test func `an observer that closes the database is refused`() throws {
        let database = try TemporaryDatabase()
        let queue = Locked<SecureDatabaseQueue?>(nil)
        let store = database.store {
            $0.statementObserver = { _ in queue.withLock { $0 }?.close() }
        }
        try store.open(with: TemporaryDatabase.key)
        let own = SecureDatabaseQueue(databaseStore: store)
        queue.withLock { $0 = own }
        let error = storageError {
            try own.inDatabase { try $0.executeUpdate("CREATE TABLE t (a)") }
        }
        check(error?.code, equals: 21)
        queue.withLock { $0 = nil }
        check(own.isOpen())
        try check(own.inDatabase { try $0.int(forQuery: "SELECT count(*) FROM t") }, equals: 0)
    }

    @Test func `a description is one line`() throws {
        try db.executeUpdate("INSERT INTO t (a)\n    VALUES ('secret')")
        let text = try recorder.last("INSERT").description
        check(text.hasSuffix(": INSERT INTO t (a) VALUES (?)"))
        check(text.contains(" ms, changed 1, "))
    }

    @Test(
        arguments: [
            (0, "0.000"), (499, "0.000"), (500, "0.001"), (1_234_567, "1.235"),
            (2_000_000, "2.000"), (61_007_000_499, "61007.000"),
        ] as [(Int64, String)])
    func `a time is written in milliseconds, rounded to microseconds`(
        _ nanoseconds: Int64, _ text: String
    ) {
        check(StatementReport.milliseconds(nanoseconds), equals: text)
    }
}
