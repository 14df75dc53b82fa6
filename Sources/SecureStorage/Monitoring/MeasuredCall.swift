internal import SecureStoragePlatform

#if Tracing
    internal import Tracing
#endif

/// What a call of a queue or a pool asks for.
enum CallKind: String {
    case read
    case write
    /// Without a transaction, or in one that the caller chooses.
    case access
}

/// A call of a queue or a pool, from its arrival to its end, for metrics and traces.
///
/// It begins on the caller's thread or task, runs on the thread that has the connection, and ends
/// on the caller's again.
final class MeasuredCall: Sendable {
    private let instruments: Instruments
    private let arrival = MonotonicTime.now
    private let progress = Locked(CallProgress())
    #if Tracing
        let span: CallSpan?
    #endif

    init(_ kind: CallKind, _ instruments: Instruments) {
        self.instruments = instruments
        #if Tracing
            span = instruments.tracing?.begin(kind)
        #endif
        instruments.callArrived()
    }

    /// Notes that the wait for the turn or for a connection has ended.
    func beginRunning() {
        let waited = MonotonicTime.now - arrival
        progress.withLock { $0.waited = waited }
        #if Tracing
            span?.beginRunning()
        #endif
        instruments.callBegan(after: waited)
    }

    /// Notes that the connection is free again.
    func endRunning() {
        let elapsed = MonotonicTime.now - arrival
        let ran = progress.withLock { progress in
            let ran = elapsed - progress.waited
            progress.ran = ran
            return ran
        }
        instruments.callRan(for: ran)
    }

    /// Notes a statement of the call; returns how many there were before.
    func note(_ report: StatementReport) -> Int {
        progress.withLock { progress in
            progress.lockWait += report.lockWait
            progress.statementCount += 1
            return progress.statementCount - 1
        }
    }

    /// Ends the call.
    func end(_ error: (any Error)?) {
        var progress = progress.withLock { $0 }
        // One that was cancelled or refused before it began has only waited.
        if progress.ran == nil {
            progress.waited = MonotonicTime.now - arrival
            instruments.callLeft()
        }
        endSpan(progress, error)
    }

    private func endSpan(_ progress: CallProgress, _ error: (any Error)?) {
        #if Tracing
            span?.end(progress, error)
        #endif
    }

    /// Runs `body` in the context of the call's span.
    func inContext<T>(_ body: () throws -> sending T) rethrows -> sending T {
        #if Tracing
            if let span { return try span.run(body) }
        #endif
        return try body()
    }

    /// Runs the whole of a call, and ends it.
    func measure<T>(_ body: () throws -> sending T) throws -> sending T {
        nonisolated(unsafe) let value: T
        do {
            value = try body()
        } catch {
            end(error)
            throw error
        }
        end(nil)
        return value
    }

    /// Runs the whole of an asynchronous call, and ends it.
    func measure<T: Sendable>(_ body: () async throws -> T) async throws -> T {
        let value: T
        do {
            value = try await body()
        } catch {
            end(error)
            throw error
        }
        end(nil)
        return value
    }
}

/// The tracing context of the caller, for work on another thread that is not a call of its own.
struct CallerContext: Sendable {
    #if Tracing
        private let context = ServiceContext.current

        func run(_ body: () throws -> Void) rethrows {
            try ServiceContext.withValue(context, operation: body)
        }
    #else
        func run(_ body: () throws -> Void) rethrows { try body() }
    #endif
}

/// The times of a call, in nanoseconds.
struct CallProgress {
    /// From its arrival to its beginning.
    var waited: Int64 = 0
    /// From its beginning to the moment when its connection was free again; nil before that.
    var ran: Int64?
    /// For locks of other connections, a part of the run.
    var lockWait = Duration.zero
    var statementCount = 0
}
