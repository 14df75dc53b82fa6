#if Metrics
    internal import SecureStoragePlatform

    extension SecureDatabaseReader {
        /// Records the counts of `statistics()` as metrics of
        /// ``SecureDatabaseConfiguration/metricsFactory``: now, and then at regular times.
        ///
        /// Returns when the task is cancelled or the database is closed; for a task beside the
        /// service's others. Exists only with the package trait `Metrics`. See
        /// `Docs/Monitoring.md`.
        ///
        /// - Parameter interval: The time between two records. Each waits for its turn, in a pool
        ///   for the writer's.
        /// - Throws: As `statistics()`; nothing for `.closed` and for a cancelled task.
        public func recordMetrics(every interval: Duration) async throws {
            while !Task.isCancelled {
                do {
                    try await recordMetrics()
                    try await Task.sleep(for: interval)
                } catch is CancellationError {
                    return
                } catch SecureStorageError.closed {
                    return
                }
            }
        }

        /// Records the counts of `statistics()` once, as metrics of
        /// ``SecureDatabaseConfiguration/metricsFactory``.
        ///
        /// Does nothing without a factory. Exists only with the package trait `Metrics`.
        ///
        /// - Throws: As `statistics()`.
        public func recordMetrics() async throws {
            guard let metrics = configuration.instrumentation.instruments?.metrics else { return }
            try await metrics.record(
                statistics(),
                maximumReaderCount: self is SecureDatabasePool
                    ? configuration.maximumReaderCount : nil)
        }
    }
#endif
