#if canImport(Darwin)
    internal import Foundation
    internal import SecureStoragePlatform

    /// Requests by Foundation's `URLSession`, on Apple's platforms.
    final class URLSessionTransport: S3Transport {
        private let session: URLSession
        private let exchanges = S3Exchanges()

        init(_ times: S3Times) {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.urlCache = nil
            configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.urlCredentialStorage = nil
            configuration.httpMaximumConnectionsPerHost = 16
            configuration.timeoutIntervalForRequest = times.idle / .seconds(1)
            configuration.timeoutIntervalForResource = times.whole / .seconds(1)
            session = URLSession(
                configuration: configuration, delegate: exchanges, delegateQueue: nil)
        }

        // The session refers to its delegate, and both to threads, until it is told that it may
        // end.
        deinit { session.finishTasksAndInvalidate() }

        func send(_ request: S3HTTPRequest, limit: Int) async throws -> S3Answer {
            try Task.checkCancellation()
            var message = URLRequest(url: request.url)
            message.httpMethod = request.method
            for header in request.headers {
                message.setValue(header.value, forHTTPHeaderField: header.name)
            }
            let task =
                request.body.map { session.uploadTask(with: message, from: $0) }
                ?? session.dataTask(with: message)
            let exchanges = exchanges
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    exchanges.begin(task, limit: limit, continuation)
                }
            } onCancel: {
                exchanges.end(task, .failure(CancellationError()))
            }
        }
    }

    /// The transfers under way: what the session tells about them, and who waits for them.
    private final class S3Exchanges: NSObject, URLSessionDataDelegate, Sendable {
        // A class, so that nothing copies a body that grows.
        private final class Exchange {
            let continuation: CheckedContinuation<S3Answer, any Error>
            let limit: Int
            var body = Data()

            init(_ continuation: CheckedContinuation<S3Answer, any Error>, limit: Int) {
                self.continuation = continuation
                self.limit = limit
            }
        }

        private struct State {
            var exchanges: [Int: Exchange] = [:]
            /// Those that were cancelled before they began.
            var cancelled: Set<Int> = []
        }

        private let state = Locked(State())

        func begin(
            _ task: URLSessionTask, limit: Int,
            _ continuation: CheckedContinuation<S3Answer, any Error>
        ) {
            let isWanted = state.withLock { state in
                guard state.cancelled.remove(task.taskIdentifier) == nil else { return false }
                state.exchanges[task.taskIdentifier] = Exchange(continuation, limit: limit)
                return true
            }
            guard isWanted else { return continuation.resume(throwing: CancellationError()) }
            task.resume()
        }

        /// Answers the caller, once, and ends the transfer if it is still running.
        func end(_ task: URLSessionTask, _ result: Result<S3Answer, any Error>) {
            let continuation = state.withLock { state in
                let exchange = state.exchanges.removeValue(forKey: task.taskIdentifier)
                if exchange == nil, task.state == .suspended {
                    state.cancelled.insert(task.taskIdentifier)
                }
                return exchange?.continuation
            }
            if task.state == .running { task.cancel() }
            continuation?.resume(with: result)
        }

        // MARK: - The session's calls

        func urlSession(
            _ session: URLSession, dataTask task: URLSessionDataTask,
            didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            state.withLock {
                guard let exchange = $0.exchanges[task.taskIdentifier] else { return }
                let expected = Int(min(response.expectedContentLength, Int64(exchange.limit)))
                if expected > 0 { exchange.body.reserveCapacity(expected) }
            }
            completionHandler(.allow)
        }

        func urlSession(
            _ session: URLSession, dataTask task: URLSessionDataTask, didReceive data: Data
        ) {
            let isTooLong = state.withLock {
                guard let exchange = $0.exchanges[task.taskIdentifier] else { return false }
                guard exchange.body.count + data.count <= exchange.limit else { return true }
                exchange.body.append(data)
                return false
            }
            guard isTooLong else { return }
            end(task, .failure(S3TransferError.tooLong))
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
        ) {
            guard error == nil, let response = task.response as? HTTPURLResponse else {
                return end(task, .failure(Self.failure(error)))
            }
            let body = state.withLock { $0.exchanges[task.taskIdentifier]?.body } ?? Data()
            var headers: [String: String] = [:]
            for case (let name as String, let value as String) in response.allHeaderFields {
                headers[name.lowercased()] = value
            }
            // The connection may have been cut; not every version of the session tells.
            if let length = headers["content-length"].flatMap({ Int($0) }), length != body.count,
                response.statusCode != 304, headers["content-encoding"] == nil
            {
                return end(task, .failure(S3TransferError.cut))
            }
            end(
                task,
                .success(S3Answer(status: response.statusCode, headers: headers, body: body)))
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask,
            willPerformHTTPRedirection response: HTTPURLResponse, newRequest: URLRequest,
            completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            // The redirect is the answer.
            completionHandler(nil)
        }

        private static func failure(_ error: (any Error)?) -> S3TransferError {
            guard let error = error as? URLError else {
                return S3TransferError(
                    code: "InvalidAnswer", message: "the server did not answer with HTTP",
                    isTransient: true)
            }
            let names: [URLError.Code: String] = [
                .timedOut: "timedOut", .cannotFindHost: "cannotFindHost",
                .cannotConnectToHost: "cannotConnectToHost",
                .networkConnectionLost: "networkConnectionLost",
                .dnsLookupFailed: "dnsLookupFailed",
                .notConnectedToInternet: "notConnectedToInternet",
            ]
            // The rest is a matter of the network, and may be better in a moment.
            let permanent: [URLError.Code] = [
                .badURL, .unsupportedURL, .appTransportSecurityRequiresSecureConnection,
                .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
                .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
                .clientCertificateRejected, .clientCertificateRequired, .userAuthenticationRequired,
            ]
            return S3TransferError(
                code: names[error.code] ?? "URLError \(error.code.rawValue)",
                message: error.localizedDescription,
                isTransient: !permanent.contains(error.code))
        }
    }
#endif
