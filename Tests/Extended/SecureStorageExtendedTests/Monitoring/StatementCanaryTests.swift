import Foundation
import Logging
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Values, literals and keys that must not leave the process by a report or a log line.
struct StatementCanaryTests {
    private static let canary = "canary4711"
    private static let number = "4711471147114711"
    private static let key = "canary4711 is the passphrase"

    @Test func `no report and no log line has a value, a literal or a key`() throws {
        let database = try TemporaryDatabase()
        let log = LogRecorder()
        let recorder = ReportRecorder()
        let db = database.store {
            recorder.observe(&$0)
            $0.slowStatementThreshold = .zero
            $0.logger = Logger(label: "test") { _ in log }
        }
        let canary = Self.canary
        let number = Self.number
        try db.open(with: Self.key)
        try db.executeStatements(
            """
            CREATE TABLE t (a TEXT DEFAULT '\(canary)', b CHECK (b <> '\(canary)!'), c UNIQUE);
            CREATE VIRTUAL TABLE f USING fts5(text);
            INSERT INTO t (a, c) VALUES ('\(canary)', \(number)); /* \(canary) */
            SELECT '\(canary)' AS '\(canary)', x'\(number)', \(number).5e3 FROM t -- \(canary)
            """)
        try db.executeUpdate("INSERT INTO t (a) VALUES (?)", values: [canary])
        try db.executeUpdate("INSERT INTO f VALUES (:text)", named: ["text": canary])
        try db.beginTransaction()
        try db.executeUpdate("UPDATE t SET b = ? WHERE a = '\(canary)'", values: [number])
        try db.commit()
        try check(db.strings("SELECT a FROM t WHERE a LIKE '\(canary)%'").count, equals: 2)
        try check(db.strings("SELECT * FROM f WHERE f MATCH '\(canary)'").count, equals: 1)
        let other = database.directory.appendingPathComponent("\(canary).db").path
        let attached = SecureDatabaseStore(fullDatabasePath: other)
        try attached.open(with: Self.key)
        attached.close()
        try db.executeUpdate("ATTACH '\(other)' AS \(canary) KEY '\(Self.key)'")
        try db.executeUpdate("DETACH \(canary)")
        try db.executeUpdate("ATTACH ? AS x KEY ?", values: [other, Self.key])
        try db.executeUpdate("DETACH x")
        try db.executeUpdate("PRAGMA user_version = 47114711")
        for sql in [
            "INSERT INTO t (c) VALUES (\(number))", "INSERT INTO t (b) VALUES ('\(canary)!')",
            "SELECT abs(-9223372036854775808) FROM t WHERE a = '\(canary)'",
            "PRAGMA key = '\(Self.key)'", "PRAGMA rekey = \(canary)", "SELECT \(canary) FROM t",
        ] {
            #expect(throws: SecureStorageError.self) { _ = try db.strings(sql) }
        }
        try db.changeEncryptionKey(with: .passphrase("\(canary) again"))
        db.close()

        // Those that cannot be prepared do not run.
        check(recorder.reports.count, equals: 20)
        check(recorder.reports.contains { $0.failure != nil })
        let shown =
            recorder.reports.map { "\($0.sql) \($0.operation) \($0) \(String(reflecting: $0))" }
            + log.lines
        check(log.lines.count { $0.contains("slow statement") }, equals: recorder.reports.count)
        for line in shown {
            check(!line.contains("canary"))
            check(!line.contains("4711"))
        }
    }

    @Test func `only statements as slow as the threshold are logged`() throws {
        let database = try TemporaryDatabase()
        let log = LogRecorder()
        let db = try database.openStore {
            $0.slowStatementThreshold = .milliseconds(300)
            $0.logger = Logger(label: "test") { _ in log }
        }
        _ = try db.int(forQuery: "SELECT 1")
        check(log.warnings.filter { $0.contains("slow statement") }.isEmpty)
        try db.makeFunction(named: "pause", argumentCount: 0) { _ in
            Thread.sleep(forTimeInterval: 0.35)
            return nil
        }
        _ = try db.string(forQuery: "SELECT pause(), 42")
        let lines = log.warnings.filter { $0.contains("slow statement") }
        check(lines.count, equals: 1)
        check(lines.first?.contains("SELECT pause(), ?"), equals: true)
    }
}
