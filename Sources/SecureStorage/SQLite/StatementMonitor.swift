internal import CSQLCipher
internal import Logging
internal import SecureStoragePlatform

/// Reports a connection's statements to the observer, and logs the slow ones.
///
/// A connection without an observer and without a threshold has none. Not thread-safe, like its
/// connection.
final class StatementMonitor {
    private let observer: (@Sendable (StatementReport) -> Void)?
    /// In nanoseconds; nothing takes longer than `.max`.
    private let threshold: Int64
    private let logger: Logger
    private let instruments: Instruments?
    /// How long the present call waited for its turn, until its first statement has reported it.
    @exclusivity(unchecked) var turnWait: Int64 = 0
    /// Whether the observer is running; its own statements are not reported, or it would not end.
    @exclusivity(unchecked) fileprivate(set) var isReporting = false

    init?(_ configuration: SecureDatabaseConfiguration) {
        instruments = configuration.instrumentation.instruments
        guard
            configuration.statementObserver != nil || configuration.slowStatementThreshold != nil
                || instruments != nil
        else { return nil }
        observer = configuration.statementObserver
        threshold = configuration.slowStatementThreshold?.clampedNanoseconds ?? .max
        logger = configuration.logger
    }

    fileprivate func report(_ report: StatementReport, on connection: Connection) {
        observer?(report)
        if let instruments {
            instruments.statementEnded(report, in: connection.activity.call)
        }
        guard report.nanoseconds >= threshold else { return }
        logger.warning(
            "slow statement",
            metadata: [
                "sql": "\(report.sql)",
                "milliseconds": "\(StatementReport.milliseconds(report.nanoseconds))",
                "rows": "\(report.rowCount)", "changed": "\(report.changedRowCount)",
                "pages_read": "\(report.pagesRead)", "pages_written": "\(report.pagesWritten)",
                "lock_wait": "\(report.lockWait)", "turn_wait": "\(report.turnWait)",
            ])
    }
}

/// A run of a statement that is being measured.
struct MonitoredRun {
    fileprivate(set) var isRunning = false
    fileprivate var hasRunBefore = false
    fileprivate var start: Int64 = 0
    fileprivate var lockWaitTime: Int64 = 0
    fileprivate var rowCount = 0
    fileprivate var totalChanges: Int64 = 0
    fileprivate var cacheMisses: Int32 = 0
    fileprivate var cacheWrites: Int32 = 0
}

extension Statement {
    /// Advances as `step()` does, and reports the statement at its end.
    func monitoredStep(on connection: Connection, _ monitor: StatementMonitor) throws -> Bool {
        guard !monitor.isReporting else { return try step(on: connection) }
        if !monitored.isRunning { beginMonitoring(connection) }
        do {
            guard try step(on: connection) else {
                endMonitoring(connection, monitor, nil)
                // The observer has called `close()`.
                try connection.callbacks.reportRefusedClose()
                return false
            }
            monitored.rowCount += 1
            return true
        } catch {
            endMonitoring(connection, monitor, (error as? SecureStorageError)?.resultCode ?? .error)
            throw error
        }
    }

    private func beginMonitoring(_ connection: Connection) {
        monitored.isRunning = true
        monitored.rowCount = 0
        monitored.lockWaitTime = connection.activity.lockWaitTime
        // Asked for only after a preparation, which may read pages: each step has asked for them.
        monitored.cacheMisses =
            monitored.hasRunBefore
            ? connection.damage.knownCacheMisses : connection.status(SQLITE_DBSTATUS_CACHE_MISS)
        monitored.hasRunBefore = true
        if !isQuery, let handle = connection.handle {
            monitored.cacheWrites = connection.status(SQLITE_DBSTATUS_CACHE_WRITE)
            monitored.totalChanges = sqlite3_total_changes64(handle)
        }
        monitored.start = MonotonicTime.now
    }

    /// Reports a run that was not taken to its end.
    func endMonitoringEarly(_ connection: Connection) {
        guard let monitor = connection.monitor else { return }
        monitor._withUnsafeGuaranteedRef { endMonitoring(connection, $0, nil) }
    }

    private func endMonitoring(
        _ connection: Connection, _ monitor: StatementMonitor, _ failure: SQLiteResultCode?
    ) {
        guard monitored.isRunning else { return }
        monitored.isRunning = false
        // The counters of a connection that was closed in the meantime are gone.
        guard let handle = connection.handle else { return }
        let duration = MonotonicTime.now - monitored.start
        let turnWait = monitor.turnWait
        monitor.turnWait = 0
        // A step that succeeds has asked for them.
        let cacheMisses =
            failure == nil
            ? connection.damage.knownCacheMisses : connection.status(SQLITE_DBSTATUS_CACHE_MISS)
        let report = StatementReport(
            sql: textWithoutLiterals, nanoseconds: duration, turnNanoseconds: turnWait,
            lockNanoseconds: connection.activity.lockWaitTime - monitored.lockWaitTime,
            rowCount: monitored.rowCount,
            changedRowCount: isQuery
                ? 0 : Int(sqlite3_total_changes64(handle) - monitored.totalChanges),
            pagesRead: Int(cacheMisses &- monitored.cacheMisses),
            pagesWritten: isQuery
                ? 0
                : Int(connection.status(SQLITE_DBSTATUS_CACHE_WRITE) &- monitored.cacheWrites),
            failure: failure)
        // The observer must not close the connection, whose step has not returned yet.
        let wasReporting = connection.callbacks.isReporting
        connection.callbacks.isReporting = true
        monitor.isReporting = true
        defer {
            monitor.isReporting = false
            connection.callbacks.isReporting = wasReporting
        }
        monitor.report(report, on: connection)
    }
}

extension Connection {
    /// Notes how long a call has waited for its turn, for the report on its first statement.
    @inline(__always)
    func noteTurnWait(_ nanoseconds: Int64) {
        monitor?._withUnsafeGuaranteedRef { $0.turnWait = nanoseconds }
    }
}

extension Duration {
    /// Whole nanoseconds, at most those of an `Int64`.
    fileprivate var clampedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflows else { return seconds < 0 ? .min : .max }
        let (sum, exceeds) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return exceeds ? .max : sum
    }
}
