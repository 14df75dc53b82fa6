import Foundation
import SecureStorage
import Testing
import TestSupport

#if Metrics && Tracing
    import CoreMetrics
    import Tracing
#endif

/// The snippets of `Docs/Monitoring.md`, compiled and run; see `DocumentationTests`.
struct MonitoringSnippets {
    let database: TemporaryDatabase
    var path: String { database.path }

    init() throws {
        database = try TemporaryDatabase()
        let db = SecureDatabaseStore(fullDatabasePath: path)
        try db.open(with: "correct horse battery staple")
        try db.executeUpdate("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, at INTEGER)")
    }

    @Test func `statements and counts`() throws {
        // begin
        var configuration = SecureDatabaseConfiguration()
        configuration.statementObserver = { report in print(report) }
        let queue = SecureDatabaseQueue(fullDatabasePath: path, configuration: configuration)
        // end
        try queue.open(with: .passphrase("correct horse battery staple"))
        // begin
        configuration.slowStatementThreshold = .milliseconds(100)
        // end
        // begin
        let statistics = try queue.statistics()
        print(statistics.commits, statistics.busyWaits, statistics.logSize)
        // end
        check(statistics.commits, equals: 0)
    }

    @Test func `a plan`() throws {
        let db = SecureDatabaseStore(fullDatabasePath: path)
        try db.open(with: "correct horse battery staple")
        // begin
        print(try db.explain("SELECT * FROM note WHERE at > ? ORDER BY text"))
        // end
        try check(db.explain("SELECT * FROM note").children.count, equals: 1)
    }

    #if Metrics && Tracing
        @Test func `metrics and traces`() async throws {
            // begin
            var configuration = SecureDatabaseConfiguration()
            configuration.metricsFactory = MetricsSystem.factory
            configuration.tracer = InstrumentationSystem.tracer
            let pool = SecureDatabasePool(fullDatabasePath: path, configuration: configuration)
            // end
            try await pool.open(with: .passphrase("correct horse battery staple"))
            let records = Task {
                // begin
                try await pool.recordMetrics(every: .seconds(15))
                // end
            }
            records.cancel()
            try await records.value
            await pool.close()
        }
    #endif
}
