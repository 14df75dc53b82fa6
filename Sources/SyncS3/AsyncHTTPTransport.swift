#if S3 && !canImport(Darwin)
    internal import AsyncHTTPClient
    internal import Foundation
    internal import NIOCore
    internal import NIOHTTP1
    internal import NIOPosix

    /// Requests by AsyncHTTPClient, where Foundation's networking ends the process if a server cuts
    /// the head of an answer (swift-corelibs-foundation, issue 5285).
    final class AsyncHTTPTransport: S3Transport {
        private let client: HTTPClient
        private let whole: Duration

        init(_ times: S3Times) {
            let idle = TimeAmount.nanoseconds(Int64(times.idle / .nanoseconds(1)))
            whole = times.whole
            var configuration = HTTPClient.Configuration(
                redirectConfiguration: .disallow,
                timeout: .init(connect: idle, read: idle, write: idle),
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
            var message = HTTPClientRequest(url: request.url.absoluteString)
            message.method = HTTPMethod(rawValue: request.method)
            message.headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
            if let body = request.body {
                message.body = .stream(BodyParts(body: body), length: .known(Int64(body.count)))
            }
            do {
                return try await answer(to: message, limit: limit)
            } catch let error as S3TransferError {
                throw error
            } catch {
                // Its own error for it has another type.
                try Task.checkCancellation()
                throw Self.failure(error)
            }
        }

        private func answer(
            to message: HTTPClientRequest, limit: Int
        ) async throws -> S3Answer {
            let end = ContinuousClock.now + whole
            let response = try await client.execute(
                message, deadline: .now() + .nanoseconds(Int64(whole / .nanoseconds(1))))
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
                guard ContinuousClock.now < end else { throw Self.timedOut }
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

    /// A body in parts, which are written as the server takes them: so the wait for the answer
    /// begins when all is sent but what the system's buffers have.
    private struct BodyParts: AsyncSequence, Sendable {
        let body: Data

        struct AsyncIterator: AsyncIteratorProtocol {
            var rest: Data

            mutating func next() -> ByteBuffer? {
                guard !rest.isEmpty else { return nil }
                defer { rest = rest.dropFirst(64 << 10) }
                return ByteBuffer(bytes: rest.prefix(64 << 10))
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: body) }
    }
#endif
