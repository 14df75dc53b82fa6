#if S3 && !canImport(Darwin)
    internal import AsyncHTTPClient
    internal import Foundation
    internal import NIOCore
    internal import NIOHTTP1
    internal import NIOPosix
    internal import SecureStoragePlatform

    /// Requests by AsyncHTTPClient, where Foundation's networking ends the process if a server cuts
    /// the head of an answer (swift-corelibs-foundation, issue 5285).
    final class AsyncHTTPTransport: S3Transport {
        private let client: HTTPClient
        private let times: S3Times

        init(_ times: S3Times) {
            let idle = TimeAmount.nanoseconds(Int64(times.idle / .nanoseconds(1)))
            self.times = times
            var configuration = HTTPClient.Configuration(
                redirectConfiguration: .disallow,
                // Of the rest `TransferClock` is the judge.
                timeout: .init(connect: idle),
                connectionPool: .init(
                    idleTimeout: .seconds(60), concurrentHTTP1ConnectionsPerHostSoftLimit: 16),
                decompression: .disabled)
            // The client repeats what may be repeated, and says why it failed.
            configuration.connectionPool.retryConnectionEstablishment = false
            configuration.httpVersion = .http1Only
            client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        }

        deinit { client.shutdown { _ in } }

        func send(_ request: S3HTTPRequest, limit: Int) async throws -> S3Answer {
            try Task.checkCancellation()
            let clock = TransferClock(times)
            var message = HTTPClientRequest(url: request.url.absoluteString)
            message.method = HTTPMethod(rawValue: request.method)
            message.headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
            if let body = request.body {
                message.body = .stream(
                    BodyParts(body: body, clock: clock), length: .known(Int64(body.count)))
            }
            do {
                return try await withThrowingTaskGroup(of: S3Answer.self) { [message] tasks in
                    defer { tasks.cancelAll() }
                    tasks.addTask { try await self.answer(to: message, limit: limit, clock) }
                    tasks.addTask {
                        try await clock.waitForEnd()
                        throw Self.timedOut
                    }
                    guard let answer = try await tasks.next() else { throw CancellationError() }
                    return answer
                }
            } catch let error as S3TransferError {
                throw error
            } catch {
                // Its own error for it has another type.
                try Task.checkCancellation()
                throw Self.failure(error)
            }
        }

        private func answer(
            to message: HTTPClientRequest, limit: Int, _ clock: TransferClock
        ) async throws -> S3Answer {
            let response = try await client.execute(message, deadline: .distantFuture)
            clock.noteReceived()
            var headers: [String: String] = [:]
            for header in response.headers { headers[header.name.lowercased()] = header.value }
            let expected = headers["content-length"].flatMap { Int($0) } ?? 0
            guard expected <= limit || response.status == .notModified else {
                throw S3TransferError.tooLong
            }
            var body = Data()
            body.reserveCapacity(expected)
            for try await part in response.body {
                guard body.count + part.readableBytes <= limit else {
                    throw S3TransferError.tooLong
                }
                clock.noteReceived()
                body.append(contentsOf: part.readableBytesView)
            }
            return S3Answer(status: Int(response.status.code), headers: headers, body: body)
        }

        // MARK: - Errors

        private static let timedOut = S3TransferError(
            code: "timedOut", message: "the transfer has taken too long", isTransient: true)

        private static let timeouts: [HTTPClientError] = [
            .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded,
            .getConnectionFromPoolTimeout,
        ]

        private static func failure(_ error: any Error) -> S3TransferError {
            switch error {
            case let error as HTTPClientError where timeouts.contains(error): return timedOut
            case let error as HTTPClientError where error == .remoteConnectionClosed: return .cut
            case HTTPParserError.invalidEOFState, ChannelError.inputClosed, ChannelError.eof,
                is IOError:
                return .cut
            case let error as NIOConnectionError:
                let isFound = !error.connectionErrors.isEmpty
                return S3TransferError(
                    code: isFound ? "cannotConnectToHost" : "cannotFindHost",
                    message: isFound
                        ? "the host does not accept a connection" : "the host is not found",
                    isTransient: true)
            case is HTTPParserError:
                return S3TransferError(
                    code: "InvalidAnswer", message: "the server did not answer with HTTP",
                    isTransient: true)
            default: break
            }
            let text = String(describing: error)
            // Of BoringSSL, which is not imported here.
            if text.contains("CERTIFICATE") || text.contains("failedToValidateHostname") {
                return S3TransferError(
                    code: "serverCertificateUntrusted",
                    message: "the server's certificate is not one that this machine trusts for its "
                        + "name",
                    isTransient: false)
            }
            return S3TransferError(
                code: "networkFailure", message: S3Failure.clean(text, limit: 200),
                isTransient: true)
        }
    }

    /// A body in parts, which are written as the server takes them.
    private struct BodyParts: AsyncSequence, Sendable {
        let body: Data
        let clock: TransferClock

        struct AsyncIterator: AsyncIteratorProtocol {
            var rest: Data
            let clock: TransferClock

            mutating func next() -> ByteBuffer? {
                guard !rest.isEmpty else { return nil }
                defer { rest = rest.dropFirst(64 << 10) }
                clock.noteSent(Swift.min(rest.count, 64 << 10))
                return ByteBuffer(bytes: rest.prefix(64 << 10))
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: body, clock: clock) }
    }

    /// When a transfer has taken too long.
    ///
    /// What was written may wait in the system's buffers, up to some megabytes, and how much does
    /// not show. So an upload that continues with 64 KiB a second is not idle.
    private final class TransferClock: Sendable {
        private let times: S3Times
        private let whole: ContinuousClock.Instant
        private let state: Locked<(sent: Int, end: ContinuousClock.Instant)>

        init(_ times: S3Times) {
            self.times = times
            whole = .now + times.whole
            state = Locked((0, .now + times.idle))
        }

        func noteSent(_ count: Int) {
            state.withLock {
                $0.sent += count
                $0.end = .now + times.idle + .seconds(min($0.sent, 4 << 20) / (64 << 10))
            }
        }

        func noteReceived() { state.withLock { $0.end = .now + times.idle } }

        func waitForEnd() async throws {
            while true {
                let end = min(state.withLock { $0.end }, whole)
                guard end > .now else { return }
                try await Task.sleep(until: end, clock: .continuous)
            }
        }
    }
#endif
