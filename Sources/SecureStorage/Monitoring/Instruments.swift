#if Metrics
    internal import CoreMetrics
#endif
#if Tracing
    internal import Tracing
#endif

/// Where the metrics and spans of a database go: the part of a configuration.
struct Instrumentation: Sendable {
    /// nil: the file's name.
    var name: String?
    #if Metrics
        var metricsFactory: (any MetricsFactory)?
    #endif
    #if Tracing
        var tracer: (any Tracer)?
    #endif
    /// Those of the queue, pool or store that has the configuration, and of its connections.
    var instruments: Instruments?
}

/// What of a database goes to swift-metrics and to swift-distributed-tracing; nil where neither is
/// set, and with both traits off.
///
/// Thread-safe.
final class Instruments: Sendable {
    /// The name of the database in metrics and spans.
    let name: String
    #if Metrics
        let metrics: DatabaseMetrics?
    #endif
    #if Tracing
        let tracing: DatabaseTracing?
    #endif

    init?(_ settings: Instrumentation, fileName: String) {
        name = settings.name ?? fileName
        #if Metrics
            metrics = settings.metricsFactory.map { [name] in DatabaseMetrics(name: name, $0) }
        #endif
        #if Tracing
            tracing = settings.tracer.map { [name] in DatabaseTracing(name: name, $0) }
        #endif
        guard isUsed else { return nil }
    }

    private var isUsed: Bool {
        #if Metrics
            if metrics != nil { return true }
        #endif
        #if Tracing
            if tracing != nil { return true }
        #endif
        return false
    }

    /// Notes the arrival of a call.
    func begin(_ kind: CallKind) -> MeasuredCall { MeasuredCall(kind, self) }

    /// Notes a statement that has ended.
    ///
    /// - Parameters:
    ///   - report: The statement.
    ///   - call: The call that it is a part of; nil for one of a store without a queue.
    func statementEnded(_ report: StatementReport, in call: MeasuredCall?) {
        #if Metrics
            metrics?.statementEnded(report)
        #endif
        #if Tracing
            tracing?.statementEnded(report, number: call?.note(report) ?? 0, in: call?.span)
        #endif
    }

    /// Notes that a call waits.
    func callArrived() {
        #if Metrics
            metrics?.callArrives()
        #endif
    }

    /// Notes that a call has ended without having run.
    func callLeft() {
        #if Metrics
            metrics?.callLeaves()
        #endif
    }

    /// Notes that a call no longer waits.
    func callBegan(after nanoseconds: Int64) {
        #if Metrics
            metrics?.callBegins(after: nanoseconds)
        #endif
    }

    /// Notes that a call no longer has its connection.
    func callRan(for nanoseconds: Int64) {
        #if Metrics
            metrics?.callRan(for: nanoseconds)
        #endif
    }

    /// Notes that a connection was opened.
    func connectionOpened(in nanoseconds: Int64) {
        #if Metrics
            metrics?.connectionOpened(in: nanoseconds)
        #endif
    }
}

/// The kind of an error for metrics and spans: no part of it is a text of the error.
struct FailureKind: Hashable {
    /// SQLite's extended code; nil for an error of another origin.
    let code: Int?
    /// The code as text, or else the error's case or type.
    let type: String

    init(_ code: SQLiteResultCode) {
        self.code = code.rawValue
        type = String(code.rawValue)
    }

    init(_ error: any Error) {
        guard let error = error as? SecureStorageError else {
            code = nil
            type = String(describing: Swift.type(of: error))
            return
        }
        code = error.resultCode?.rawValue
        type = code.map { String($0) } ?? error.caseName
    }
}

extension SecureStorageError {
    fileprivate var caseName: String {
        switch self {
        case .openFailed: "openFailed"
        case .closed: "closed"
        case .suspended: "suspended"
        case .authenticationFailed: "authenticationFailed"
        case .notEncrypted: "notEncrypted"
        case .legacyFormat: "legacyFormat"
        case .encryptionKeyChangeFailed: "encryptionKeyChangeFailed"
        case .encryptionKeyChangeUnknown: "encryptionKeyChangeUnknown"
        case .typeConversionFailed: "typeConversionFailed"
        case .backingStoreError: "backingStoreError"
        }
    }
}
