#if Metrics
    import CoreMetrics
    import Foundation
    import MetricsTestKit
    import Testing
    import TestSupport

    @testable import SecureStorage

    struct MetricsTests {
        let database: TemporaryDatabase
        let metrics = TestMetrics()

        init() throws {
            database = try TemporaryDatabase()
            let db = try database.openStore()
            try db.executeUpdate("CREATE TABLE t (a INTEGER UNIQUE)")
            db.close()
        }

        private func configure(_ configuration: inout SecureDatabaseConfiguration) {
            configuration.metricsFactory = metrics
            configuration.instrumentName = "notes"
        }

        private func makeQueue() throws -> SecureDatabaseQueue {
            SecureDatabaseQueue(databaseStore: try database.openStore(configure: configure))
        }

        /// The durations of the statements with a summary, and the labels of the first.
        private func statements(_ summary: String) -> (count: Int, labels: [String: String]) {
            let timers = metrics.timers(label: "db.client.operation.duration").filter {
                $0.dimensions.contains { $0 == ("db.query.summary", summary) }
            }
            let labels = timers.first?.dimensions ?? []
            return (
                timers.map(\.values.count).reduce(0, +),
                Dictionary(labels, uniquingKeysWith: { first, _ in first })
            )
        }

        private func values(_ label: String) -> [Int64] {
            metrics.timers(label: "db.client.connection." + label)
                .filter { $0.dimensions.map(\.1) == ["notes"] }.flatMap(\.values)
        }

        private var pending: Double? {
            metrics.meters(label: "db.client.connection.pending_requests").first?.lastValue
        }

        @Test func `a statement's duration has the labels of its operation and tables`() throws {
            let queue = try makeQueue()
            try queue.write { db in
                for number in 1...3 {
                    try db.executeUpdate("INSERT INTO t VALUES (?)", values: [number])
                }
            }
            try check(queue.read { try $0.int(forQuery: "SELECT count(*) FROM t") }, equals: 3)
            check(statements("INSERT t VALUES").count, equals: 3)
            check(statements("SELECT t").count, equals: 1)
            check(statements("COMMIT").count, equals: 1)
            check(
                statements("SELECT t").labels,
                equals: [
                    "db.system.name": "sqlite", "db.namespace": "notes",
                    "db.query.summary": "SELECT t",
                ])
            let timer = metrics.timers(label: "db.client.operation.duration").first
            try check(require(timer).values.allSatisfy { $0 > 0 && $0 < 60_000_000_000 })
        }

        @Test func `a failed statement has SQLite's extended code`() throws {
            let db = try database.openStore(configure: configure)
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            #expect(throws: SecureStorageError.self) {
                try db.executeUpdate("INSERT INTO t VALUES (1)")
            }
            let failed = metrics.timers(label: "db.client.operation.duration").filter {
                $0.dimensions.contains { $0.0 == "error.type" }
            }
            check(failed.count, equals: 1)
            check(failed.first?.values.count, equals: 1)
            let labels = try Dictionary(
                uniqueKeysWithValues: require(failed.first).dimensions)
            check(labels["error.type"], equals: "2067")
            check(labels["db.response.status_code"], equals: "2067")
        }

        @Test func `the name is the file's unless another is set`() throws {
            let db = try database.openStore { $0.metricsFactory = metrics }
            _ = try db.int(forQuery: "SELECT 1")
            check(
                statements("SELECT").labels["db.namespace"],
                equals: URL(fileURLWithPath: database.path).lastPathComponent)
        }

        @Test func `a call's wait and its run are durations of their own`() throws {
            let queue = try makeQueue()
            let hasBegun = DispatchSemaphore(value: 0)
            let holder = Thread {
                try? queue.inDatabase { db in
                    hasBegun.signal()
                    while !db.turn.hasWaiters { Thread.sleep(forTimeInterval: 0.001) }
                    Thread.sleep(forTimeInterval: 0.1)
                }
            }
            holder.start()
            hasBegun.wait()
            try queue.read { _ in }
            let waits = values("wait_time")
            check(waits.count, equals: 2)
            check(waits.filter { $0 > 50_000_000 }.count, equals: 1)
            let runs = values("use_time")
            check(runs.count, equals: 2)
            check(runs.filter { $0 > 50_000_000 }.count, equals: 1)
            check(pending, equals: 0)
        }

        @Test func `a cancelled call is no longer pending, and has no run`() async throws {
            let queue = try makeQueue()
            let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
            let isFree = DispatchSemaphore(value: 0)
            async let first: Void = queue.inDatabase { _ in
                beginning.finish()
                isFree.wait()
            }
            for await _ in begun {}
            let second = Task { try await queue.read { _ in } }
            while !queue.store.turn.hasWaiters { try await Task.sleep(for: .milliseconds(1)) }
            check(pending, equals: 1)
            second.cancel()
            await #expect(throws: CancellationError.self) { try await second.value }
            check(pending, equals: 0)
            isFree.signal()
            try await first
            check(values("use_time").count, equals: 1)
        }

        /// The synchronous form.
        private static func read(_ pool: SecureDatabasePool) throws { try pool.read { _ in } }

        @Test func `a pool's readers are counted, and the time that opening them took`()
            async throws
        {
            let pool = try database.openPool { configuration in
                configure(&configuration)
                configuration.maximumReaderCount = 3
            }
            try await pool.read { _ in }
            try Self.read(pool)
            check(values("create_time").count, equals: 1)
            check(values("wait_time").count, equals: 2)
            try await pool.recordMetrics()
            func count(_ state: String) throws -> Double? {
                try metrics.expectMeter(
                    "db.client.connection.count",
                    [
                        ("db.client.connection.pool.name", "notes"),
                        ("db.client.connection.state", state),
                    ]
                ).lastValue
            }
            try check(count("idle"), equals: 1)
            try check(count("used"), equals: 0)
            check(metrics.meters(label: "db.client.connection.max").first?.lastValue, equals: 3)
        }

        @Test func `counts are recorded once each`() async throws {
            let queue = try makeQueue()
            try await queue.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
            try await queue.recordMetrics()
            try await queue.recordMetrics()
            try await queue.write { try $0.executeUpdate("INSERT INTO t VALUES (2)") }
            try? await queue.write { db in
                try db.executeUpdate("INSERT INTO t VALUES (3)")
                throw CancellationError()
            }
            try await queue.recordMetrics()
            check(metrics.counterTotal(label: "securestorage.transaction.commits"), equals: 2)
            check(metrics.counterTotal(label: "securestorage.transaction.rollbacks"), equals: 1)
            let statistics = try await queue.statistics()
            check(
                metrics.counterTotal(label: "securestorage.page.writes"),
                equals: Int64(statistics.pagesWritten))
            check(metrics.counterTotal(label: "securestorage.cache.hits") > 0)
            let size = metrics.meters(label: "securestorage.log.size").first
            check(size?.lastValue, equals: Double(statistics.logSize))
            check(metrics.meters(label: "securestorage.checkpoint.age").first != nil)
        }

        @Test func `regular records end with the database or the task`() async throws {
            let queue = try makeQueue()
            let records = Task { try await queue.recordMetrics(every: .milliseconds(1)) }
            while metrics.counters(label: "securestorage.cache.hits").isEmpty {
                try await Task.sleep(for: .milliseconds(1))
            }
            await queue.close()
            try await records.value
            let cancelled = Task { try await queue.recordMetrics(every: .seconds(3600)) }
            cancelled.cancel()
            try await cancelled.value
        }

        @Test func `an app that makes up names of tables has few labels`() throws {
            let db = try database.openStore(configure: configure)
            for number in 0..<300 {
                try db.executeUpdate("CREATE TABLE made_\(number) (a)")
            }
            let summaries = Set(
                metrics.timers(label: "db.client.operation.duration")
                    .compactMap { $0.dimensions.first { $0.0 == "db.query.summary" }?.1 })
            check(summaries.count, equals: 201)
            check(statements("_OTHER").count, equals: 100)
        }
    }
#endif
