#if Metrics && Tracing
    import CoreMetrics
    import Foundation
    import InMemoryTracing
    import MetricsTestKit
    import SecureStorage
    import Testing
    import TestSupport
    import Tracing

    /// Values, literals, keys and names of values that must not leave the process by a metric or a
    /// span.
    struct InstrumentCanaryTests {
        private static let canary = "canary4711"
        private static let key = "canary4711 is the passphrase"

        /// The synchronous form.
        private static func put(
            _ value: String, _ key: String, _ values: SecureKeyValueStore
        ) throws { try values.put(value, forKey: key) }

        @Test func `no metric and no span has a value, a literal, a key or a name of a value`()
            async throws
        {
            let database = try TemporaryDatabase()
            let metrics = TestMetrics()
            let tracer = InMemoryTracer()
            var configuration = SecureDatabaseConfiguration()
            configuration.metricsFactory = metrics
            configuration.tracer = tracer
            configuration.cipher.kdfIterations = 1000
            let canary = Self.canary
            let key = DatabaseKey.passphrase(Self.key)

            let pool = SecureDatabasePool(
                fullDatabasePath: database.path, configuration: configuration)
            try await pool.open(with: key)
            try await pool.write { db in
                try db.executeStatements(
                    """
                    CREATE TABLE t (a TEXT DEFAULT '\(canary)' UNIQUE, b CHECK (b <> '\(canary)'));
                    INSERT INTO t (a, b) VALUES ('\(canary)', 47114711); -- \(canary)
                    SELECT '\(canary)' AS '\(canary)', x'4711', 4711.5e3 FROM t /* \(canary) */
                    """)
                try db.executeUpdate("SAVEPOINT \(canary)")
                try db.executeUpdate("RELEASE \(canary)")
            }
            for sql in [
                "INSERT INTO t (a) VALUES ('\(canary)')", "INSERT INTO t (b) VALUES ('\(canary)')",
                "SELECT abs(-9223372036854775808) FROM t WHERE a = '\(canary)'",
                "PRAGMA key = '\(Self.key)'", "SELECT json('\(canary)')",
            ] {
                await #expect(throws: SecureStorageError.self) {
                    try await pool.writeWithoutTransaction { _ = try $0.strings(sql) }
                }
                #expect(throws: SecureStorageError.self) {
                    try pool.read { _ = try $0.strings(sql) }
                }
            }
            let isFound = try await pool.read { db in
                try db.int(forQuery: "SELECT count(*) FROM t WHERE a = ?", values: [canary]) == 1
            }
            check(isFound)
            try await pool.recordMetrics()
            try await pool.changeEncryptionKey(with: .passphrase("\(canary) again"))
            await pool.close()
            await #expect(throws: SecureStorageError.self) {
                try await pool.open(with: .passphrase("\(canary), but wrong"))
            }

            let store = SecureDatabaseStore(
                fullDatabasePath: database.directory.appendingPathComponent("kv.db").path,
                configuration: configuration)
            try store.open(with: key)
            let values = try SecureKeyValueStore(databaseStore: store, name: canary)
            try Self.put(canary, "\(canary) of a value", values)
            try await values.put(canary, forKey: "\(canary) of another")
            try await check(values.get("\(canary) of a value"), equals: canary)
            try await check(values.keys().count, equals: 2)
            try await values.remove("\(canary) of a value")
            store.close()

            var shown: [String] = []
            for span in tracer.finishedSpans {
                shown.append(span.operationName)
                span.attributes.forEach { name, value in
                    // A measured time may have any digits.
                    if case .double = value { return }
                    shown.append("\(name) \(value)")
                }
                shown += span.events.map { "\($0.name) \($0.attributes)" }
                shown.append("\(span.status as Any) \(span.errors)")
            }
            func note(_ label: String, _ dimensions: [(String, String)]) {
                shown.append("\(label) \(dimensions)")
            }
            for metric in metrics.counters { note(metric.label, metric.dimensions) }
            for metric in metrics.meters { note(metric.label, metric.dimensions) }
            for metric in metrics.recorders { note(metric.label, metric.dimensions) }
            for metric in metrics.timers { note(metric.label, metric.dimensions) }
            check(tracer.activeSpans.isEmpty)
            check(tracer.finishedSpans.count > 60)
            check(tracer.finishedSpans.contains { $0.status?.code == .error })
            check(metrics.timers.count > 20)
            for line in shown {
                check(!line.contains("canary"))
                check(!line.contains("4711"))
            }
        }
    }
#endif
