#if Metrics
    public import CoreMetrics
#endif
#if Tracing
    public import Tracing
#endif
internal import Foundation

#if Metrics
    extension SecureDatabaseConfiguration {
        /// Where the metrics of statements, calls and connections go; for all of them
        /// `MetricsSystem.factory`, after its bootstrap.
        ///
        /// Default: nil: there are none. Exists only with the package trait `Metrics`. Names and
        /// units are those of OpenTelemetry's conventions for databases; no metric has a value, a
        /// literal or a key. See `Docs/Monitoring.md`.
        public var metricsFactory: (any MetricsFactory)? {
            get { instrumentation.metricsFactory }
            set { instrumentation.metricsFactory = newValue }
        }
    }
#endif

#if Tracing
    extension SecureDatabaseConfiguration {
        /// Where the spans of calls and statements go; mostly `InstrumentationSystem.tracer`, after
        /// its bootstrap.
        ///
        /// Default: nil: there are none. Exists only with the package trait `Tracing`. A call's
        /// span is a child of the caller's, and the context of the call's block, also of an
        /// asynchronous one. No span has a value, a literal, a key or the text of an error. See
        /// `Docs/Monitoring.md`.
        public var tracer: (any Tracer)? {
            get { instrumentation.tracer }
            set { instrumentation.tracer = newValue }
        }
    }
#endif

#if Metrics || Tracing
    extension SecureDatabaseConfiguration {
        /// The name of the database in metrics and spans: `db.namespace` and
        /// `db.client.connection.pool.name`.
        ///
        /// Default: nil, which stands for the file's name without its folders. Choose one if the
        /// name of the file tells too much, or if each of many files would have series of its own.
        public var instrumentName: String? {
            get { instrumentation.name }
            set { instrumentation.name = newValue }
        }
    }
#endif

extension SecureDatabaseConfiguration {
    /// Returns the configuration with the instruments of the store of a file.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - instruments: Those to use; nil makes them.
    /// - Returns: The configuration of the store.
    func instrumented(forFileAt path: String, _ instruments: Instruments?) -> Self {
        var configuration = self
        configuration.instrumentation.instruments =
            instruments
            ?? Instruments(instrumentation, fileName: (path as NSString).lastPathComponent)
        return configuration
    }
}
