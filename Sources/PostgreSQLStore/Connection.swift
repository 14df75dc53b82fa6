#if PostgreSQL
    internal import CPostgreSQL
    internal import Foundation
    internal import SecureStoragePlatform
    internal import ObjectStores

    /// A connection of libpq, whose calls block only in a `poll(2)` that ``wake`` ends.
    ///
    /// One thread at a time uses it. After it has been woken it is of no more use: a request to
    /// cancel may still be on its way, and would hit the next statement.
    final class Connection: @unchecked Sendable {
        // @unchecked: whoever has acquired the connection is the only one to use `handle`.
        private var handle: OpaquePointer?
        let wake: Wake
        private var largest = 0

        /// The largest value of a connection that is used again.
        ///
        /// libpq keeps the memory of the largest message for the connection's life.
        static let largestKept = 16 << 20

        init(wake: Wake? = nil) throws { self.wake = try wake ?? Wake() }

        deinit { PQfinish(handle) }

        /// Whether another statement may be sent.
        var isReusable: Bool {
            handle != nil && !wake.isOn && PQstatus(handle) == CONNECTION_OK
                && PQtransactionStatus(handle) == PQTRANS_IDLE && largest <= Self.largestKept
        }

        // MARK: - Opening

        /// Connects, with `PQconnectStartParams` and `PQconnectPoll`.
        ///
        /// - Throws: ``/ObjectStores/StoreError``; `CancellationError` when woken.
        func open(_ options: ConnectionOptions, atMost limit: Duration) throws {
            let end = ContinuousClock.now + limit
            let pairs = options.values.map { (strdup($0.key), strdup($0.value)) }
            defer {
                for (keyword, value) in pairs {
                    free(keyword)
                    free(value)
                }
            }
            let keywords = pairs.map { UnsafePointer($0.0) } + [nil]
            let values = pairs.map { UnsafePointer($0.1) } + [nil]
            handle = PQconnectStartParams(keywords, values, 0)
            // So that the message has the SQLSTATE.
            PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
            // By default they are printed.
            PQsetNoticeReceiver(handle, { _, _ in }, nil)
            var next = PGRES_POLLING_WRITING
            polling: while PQstatus(handle) != CONNECTION_BAD {
                switch next {
                case PGRES_POLLING_OK:
                    PQsetnonblocking(handle, 1)
                    return
                case PGRES_POLLING_READING: try wait(POLLIN, until: end)
                case PGRES_POLLING_WRITING: try wait(POLLOUT, until: end)
                default: break polling
                }
                next = PQconnectPoll(handle)
            }
            throw Failures.connection(
                options.redacted(message), needsPassword: PQconnectionNeedsPassword(handle) == 1)
        }

        /// libpq's text for its last failure.
        private var message: String {
            PQerrorMessage(handle).map { String(cString: $0) } ?? ""
        }

        // MARK: - Waiting

        /// Waits until the socket is ready for one of `events`.
        ///
        /// - Returns: What it is ready for.
        @discardableResult
        private func wait(_ events: Int32, until end: ContinuousClock.Instant) throws -> Int32 {
            var polled = [
                pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0),
                pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            while true {
                if wake.isOn { throw CancellationError() }
                let rest = end - .now
                guard rest > .zero else { throw Failures.silence }
                let count = poll(&polled, 2, rest.wholeMilliseconds)
                guard count >= 0 || errno == EINTR else { throw Failures.system("wait", errno) }
                if count > 0, polled[0].revents != 0, polled[1].revents == 0 {
                    return Int32(polled[0].revents)
                }
            }
        }

        // MARK: - Statements

        /// Runs a statement.
        ///
        /// - Parameters:
        ///   - statement: The statement.
        ///   - silence: How long the server may neither take nor send a byte.
        /// - Returns: The rows of the result.
        /// - Throws: ``/ObjectStores/StoreError``; `CancellationError` when woken, after which the
        ///   server is asked to end the statement, on a thread of its own.
        func run(_ statement: Statement, silence: Duration) throws -> Rows {
            let parameters = statement.parameters.map(\.binary)
            largest = max(largest, parameters.reduce(0) { $0 + $1.count })
            let isSent = withPointers(to: parameters[...]) { pointers in
                PQsendQueryParams(
                    handle, "\(statement.sql)", Int32(parameters.count),
                    statement.parameters.map(\.type), pointers,
                    parameters.map { Int32(clamping: $0.count) },
                    parameters.map { _ in 1 }, 1)
            }
            return try answer(isSent == 1, silence)
        }

        /// Runs several statements without parameters, in one transaction if they do not say
        /// otherwise.
        func run(script: String, silence: Duration) throws {
            _ = try answer(PQsendQuery(handle, script) == 1, silence)
        }

        /// Calls `body` with pointers that are all valid at the same time.
        private func withPointers<R>(
            to parameters: ArraySlice<Data>, _ pointers: [UnsafePointer<CChar>?] = [],
            _ body: ([UnsafePointer<CChar>?]) -> R
        ) -> R {
            guard let first = parameters.first else { return body(pointers) }
            return first.withUnsafeBytes { bytes in
                // A null pointer would be NULL, not an empty value.
                withUnsafeBytes(of: CChar(0)) { nothing in
                    let start = bytes.baseAddress ?? nothing.baseAddress
                    return withPointers(
                        to: parameters.dropFirst(),
                        pointers + [start?.assumingMemoryBound(to: CChar.self)], body)
                }
            }
        }

        /// Sends what is left of a statement, and receives its results.
        private func answer(_ isSent: Bool, _ silence: Duration) throws -> Rows {
            do {
                guard isSent else { throw Failures.statement(nil, message) }
                try flush(silence)
                var rows = Rows()
                var failure: StoreError?
                while let result = try nextResult(silence) {
                    defer { PQclear(result) }
                    switch PQresultStatus(result) {
                    case PGRES_TUPLES_OK: rows = copy(result)
                    case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
                    default: failure = failure ?? self.failure(of: result)
                    }
                    // Otherwise libpq returns the same failure again and again.
                    if PQstatus(handle) == CONNECTION_BAD { break }
                }
                if let failure { throw failure }
                return rows
            } catch let error as CancellationError {
                cancel()
                throw error
            }
        }

        private func flush(_ silence: Duration) throws {
            while true {
                switch PQflush(handle) {
                case 0: return
                case 1:
                    let ready = try wait(POLLIN | POLLOUT, until: .now + silence)
                    // The server may send before it has received all, such as an error.
                    if ready & POLLIN != 0 { try consume() }
                default: throw Failures.statement(nil, message)
                }
            }
        }

        private func consume() throws {
            guard PQconsumeInput(handle) == 1 else { throw Failures.statement(nil, message) }
        }

        private func nextResult(_ silence: Duration) throws -> OpaquePointer? {
            while PQisBusy(handle) == 1 {
                try wait(POLLIN, until: .now + silence)
                try consume()
            }
            return PQgetResult(handle)
        }

        private func failure(of result: OpaquePointer) -> StoreError {
            // From postgres_ext.h, whose macros are characters.
            func field(_ letter: Unicode.Scalar) -> String? {
                PQresultErrorField(result, Int32(letter.value)).map { String(cString: $0) }
            }
            return Failures.statement(field("C"), field("M") ?? message)
        }

        private func copy(_ result: OpaquePointer) -> Rows {
            var rows = Rows()
            for row in 0..<PQntuples(result) {
                var values: [Data?] = []
                for column in 0..<PQnfields(result) {
                    let count = Int(PQgetlength(result, row, column))
                    largest = max(largest, count)
                    let isNull = PQgetisnull(result, row, column) == 1
                    values.append(
                        isNull
                            ? nil
                            : PQgetvalue(result, row, column).map { Data(bytes: $0, count: count) })
                }
                rows.values.append(values)
            }
            return rows
        }

        /// Asks the server to end the statement that runs.
        private func cancel() {
            guard let request = cpostgresql_cancel_create(handle) else { return }
            // It connects once more, which may take as long as the network wants.
            nonisolated(unsafe) let owned = request
            Thread.detachNewThread { cpostgresql_cancel_send(owned) }
        }

        // MARK: - Notifications

        /// Waits for notifications, and returns their payloads.
        func notifications(atMost limit: Duration) throws -> [String] {
            do {
                try wait(POLLIN, until: .now + limit)
            } catch let error as StoreError where error == Failures.silence {
                return []
            }
            try consume()
            var payloads: [String] = []
            while let notification = PQnotifies(handle) {
                payloads.append(String(cString: notification.pointee.extra))
                PQfreemem(notification)
            }
            return payloads
        }
    }
#endif
