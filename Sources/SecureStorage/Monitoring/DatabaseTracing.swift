#if Tracing
    internal import SecureStoragePlatform
    internal import Tracing

    /// The spans of a database's calls and statements, with the names of OpenTelemetry's
    /// conventions where it has one.
    ///
    /// Thread-safe. No error is recorded in a span, since exporters add its text: only its kind is.
    struct DatabaseTracing: Sendable {
        /// The number of statements of a call that get spans of their own: a transaction with a
        /// million of them would otherwise fill the backend.
        static let statementLimit = 100

        private let name: String
        private let tracer: any Tracer

        init(name: String, _ tracer: any Tracer) {
            self.name = name
            self.tracer = tracer
        }

        /// Begins the span of a call, as a child of the present context's.
        func begin(_ kind: CallKind) -> CallSpan {
            let span = tracer.startAnySpan("\(kind.rawValue) \(name)", ofKind: .internal)
            if span.isRecording {
                span.updateAttributes { attributes in
                    setDatabase(&attributes)
                    attributes["db.operation.name"] = kind.rawValue
                }
            }
            return CallSpan(span)
        }

        /// Makes the span of a statement that has just ended.
        ///
        /// - Parameters:
        ///   - report: The statement.
        ///   - number: Its number in the call, from 0.
        ///   - call: The span of its call; nil for a store without a queue, whose statements belong
        ///     to the present context.
        func statementEnded(_ report: StatementReport, number: Int, in call: CallSpan?) {
            guard number < Self.statementLimit, call?.isRecording != false else { return }
            let end = DefaultTracerClock.now.nanosecondsSinceEpoch
            // The clock may have been set while the statement ran.
            let duration = min(UInt64(max(0, report.nanoseconds)), end)
            let summary = report.summary
            let span = tracer.startStatementSpan(
                summary.isEmpty ? "sqlite" : summary,
                context: call?.context ?? .current ?? .topLevel,
                at: .init(nanosecondsSinceEpoch: end - duration))
            defer { span.end(at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: end)) }
            guard span.isRecording else { return }
            span.updateAttributes { attributes in
                setDatabase(&attributes)
                attributes["db.query.summary"] = summary
                attributes["db.query.text"] = report.sql
                attributes["db.response.returned_rows"] = report.rowCount
                attributes["securestorage.rows.changed"] = report.changedRowCount
                attributes["securestorage.page.reads"] = report.pagesRead
                attributes["securestorage.page.writes"] = report.pagesWritten
                attributes["securestorage.lock.wait_time"] = report.lockWait / .seconds(1)
            }
            if let failure = report.failure { span.fail(FailureKind(failure)) }
        }

        private func setDatabase(_ attributes: inout SpanAttributes) {
            attributes["db.system.name"] = "sqlite"
            attributes["db.namespace"] = name
        }
    }

    /// The span of a call.
    struct CallSpan: Sendable {
        private let span: any Span

        init(_ span: any Span) { self.span = span }

        var context: ServiceContext { span.context }

        var isRecording: Bool { span.isRecording }

        /// Marks the moment between waiting and running.
        func beginRunning() {
            if span.isRecording { span.addEvent("securestorage.call.begins") }
        }

        func run<T>(_ body: () throws -> sending T) rethrows -> sending T {
            nonisolated(unsafe) var value: T?
            try ServiceContext.withValue(span.context) { value = try body() }
            guard let value else { preconditionFailure("withValue did not run its operation") }
            nonisolated(unsafe) let result = value
            return result
        }

        func end(_ progress: CallProgress, _ error: (any Error)?) {
            defer { span.end() }
            guard span.isRecording else { return }
            span.updateAttributes { attributes in
                attributes["securestorage.call.wait_time"] = Double(progress.waited) / 1e9
                attributes["securestorage.call.run_time"] = Double(progress.ran ?? 0) / 1e9
                attributes["securestorage.lock.wait_time"] = progress.lockWait / .seconds(1)
                attributes["securestorage.statement.count"] = progress.statementCount
            }
            if let error { span.fail(FailureKind(error)) }
        }
    }

    extension Span {
        /// Sets the status of a failure, without a text.
        fileprivate func fail(_ failure: FailureKind) {
            updateAttributes { attributes in
                attributes["error.type"] = failure.type
                if let code = failure.code {
                    attributes["db.response.status_code"] = String(code)
                }
            }
            setStatus(SpanStatus(code: .error))
        }
    }

    extension Tracer {
        /// Begins the span of a statement in the past; the tracer's type is known here.
        fileprivate func startStatementSpan(
            _ name: String, context: ServiceContext, at start: DefaultTracerClock.Timestamp
        ) -> any Tracing.Span {
            startSpan(
                name, context: context, ofKind: .client, at: start, function: #function,
                file: #fileID, line: #line)
        }
    }
#endif
