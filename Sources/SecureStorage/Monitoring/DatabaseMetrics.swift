#if Metrics
    internal import CoreMetrics
    internal import SecureStoragePlatform

    /// The metrics of a database, with the names of OpenTelemetry's conventions where it has one.
    ///
    /// Thread-safe. Durations are those of `Timer`, which a backend exports in its base unit,
    /// seconds.
    final class DatabaseMetrics: Sendable {
        private let factory: any MetricsFactory
        private let dimensions: [(String, String)]
        private let poolDimensions: [(String, String)]
        private let timers = Locked(Timers())
        private let reported = Locked(SecureDatabaseStatistics())

        private let waitTime: Timer
        private let useTime: Timer
        private let createTime: Timer
        private let pendingRequests: Meter

        /// Timers of `db.client.operation.duration`.
        private struct Timers {
            /// By the statement's text, so that most statements are not summarised again.
            var byText: [Text: Timer] = [:]
            var bySummary: [Summary: Timer] = [:]
            var summaries: Set<String> = []

            /// Returns the timer of a summary, which is made at its first use.
            mutating func timer(
                _ summary: String, _ failure: SQLiteResultCode?,
                _ make: (String, SQLiteResultCode?) -> Timer
            ) -> Timer {
                var summary = summary
                if !summaries.contains(summary), summaries.count >= summaryLimit {
                    summary = otherSummary
                } else {
                    summaries.insert(summary)
                }
                let key = Summary(summary: summary, code: failure?.rawValue)
                if let timer = bySummary[key] { return timer }
                let timer = make(summary, failure)
                bySummary[key] = timer
                return timer
            }
        }

        private struct Text: Hashable {
            let sql: String
            let code: Int?
        }

        private struct Summary: Hashable {
            let summary: String
            let code: Int?
        }

        /// An app that makes up names of tables would otherwise have a time series for each.
        static let summaryLimit = 200
        static let otherSummary = "_OTHER"
        private static let textLimit = 1000

        init(name: String, _ factory: any MetricsFactory) {
            self.factory = factory
            dimensions = [("db.system.name", "sqlite"), ("db.namespace", name)]
            let pool = [("db.client.connection.pool.name", name)]
            poolDimensions = pool
            func timer(_ label: String) -> Timer {
                Timer(label: "db.client.connection." + label, dimensions: pool, factory: factory)
            }
            waitTime = timer("wait_time")
            useTime = timer("use_time")
            createTime = timer("create_time")
            pendingRequests = Meter(
                label: "db.client.connection.pending_requests", dimensions: pool, factory: factory)
        }

        // MARK: - Calls and statements

        func callArrives() { pendingRequests.increment() }

        func callLeaves() { pendingRequests.decrement() }

        func callBegins(after nanoseconds: Int64) {
            pendingRequests.decrement()
            waitTime.recordNanoseconds(nanoseconds)
        }

        func callRan(for nanoseconds: Int64) { useTime.recordNanoseconds(nanoseconds) }

        func connectionOpened(in nanoseconds: Int64) { createTime.recordNanoseconds(nanoseconds) }

        func statementEnded(_ report: StatementReport) {
            let text = Text(sql: report.sql, code: report.failure?.rawValue)
            let timer = timers.withLock { timers in
                if let timer = timers.byText[text] { return timer }
                let timer = timers.timer(report.summary, report.failure, make)
                if timers.byText.count < Self.textLimit { timers.byText[text] = timer }
                return timer
            }
            timer.recordNanoseconds(report.nanoseconds)
        }

        private func make(_ summary: String, _ failure: SQLiteResultCode?) -> Timer {
            var dimensions = dimensions + [("db.query.summary", summary)]
            if let failure = failure.map(FailureKind.init) {
                dimensions += [
                    ("error.type", failure.type), ("db.response.status_code", failure.type),
                ]
            }
            return Timer(
                label: "db.client.operation.duration", dimensions: dimensions, factory: factory)
        }

        // MARK: - Counts

        /// Records what has changed since the last call.
        func record(_ now: SecureDatabaseStatistics, maximumReaderCount: Int?) {
            let before = reported.withLock { reported in
                defer { reported = now }
                return reported
            }
            func count(_ label: String, _ property: KeyPath<SecureDatabaseStatistics, Int>) {
                Counter(label: label, dimensions: dimensions, factory: factory)
                    // A reader that was closed meanwhile may take a few of its counts along.
                    .increment(by: max(0, now[keyPath: property] - before[keyPath: property]))
            }
            count("securestorage.transaction.commits", \.commits)
            count("securestorage.transaction.rollbacks", \.rollbacks)
            count("securestorage.lock.waits", \.busyWaits)
            count("securestorage.cache.hits", \.cacheHits)
            count("securestorage.cache.misses", \.cacheMisses)
            count("securestorage.page.writes", \.pagesWritten)
            FloatingPointCounter(
                label: "securestorage.lock.wait_time", dimensions: dimensions, factory: factory
            ).increment(by: max(0, (now.busyWaitTime - before.busyWaitTime) / .seconds(1)))
            func set(_ label: String, _ value: Double, _ dimensions: [(String, String)]) {
                Meter(label: label, dimensions: dimensions, factory: factory).set(value)
            }
            set("securestorage.log.size", Double(now.logSize), dimensions)
            if let age = now.checkpointAge {
                set("securestorage.checkpoint.age", age / .seconds(1), dimensions)
            }
            guard let maximumReaderCount else { return }
            let idle = now.openReaderCount - now.readersInUse
            for (state, number) in [("used", now.readersInUse), ("idle", idle)] {
                set(
                    "db.client.connection.count", Double(number),
                    poolDimensions + [("db.client.connection.state", state)])
            }
            set("db.client.connection.max", Double(maximumReaderCount), poolDimensions)
        }
    }
#endif
