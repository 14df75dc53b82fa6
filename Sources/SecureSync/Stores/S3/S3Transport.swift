internal import Foundation
internal import SecureStoragePlatform

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// An answer of a server.
struct S3Answer: Sendable {
    var status: Int
    /// By their names in lower case.
    var headers: [String: String]
    var body: Data
}

/// A transfer that ended without a whole answer.
struct S3TransferError: Error, Equatable {
    var code: String
    var message: String
    var isTransient: Bool

    /// The code of an answer with more bytes than were allowed.
    static let tooLong = "AnswerTooLong"
}

/// Requests over HTTP, by Foundation's `URLSession`.
///
/// Follows no redirect, keeps no cookies, no cache and no passwords.
///
/// On Linux, Foundation up to Swift 6.3 ends the process if a server closes the connection within
/// the head of an answer (swift-corelibs-foundation, issue 5285); later versions fail as after any
/// other lost connection. Within TLS only the server itself can do that.
final class S3Transport: Sendable {
    private let session: URLSession
    private let exchanges = S3Exchanges()

    /// - Parameter timeout: The longest time in which nothing is transferred.
    init(timeout: Duration) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCredentialStorage = nil
        configuration.httpMaximumConnectionsPerHost = 16
        configuration.timeoutIntervalForRequest = timeout / .seconds(1)
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    // The session refers to its delegate, and both to threads, until it is told that it may end.
    deinit { session.finishTasksAndInvalidate() }

    /// Sends a request, and receives the whole answer.
    ///
    /// - Parameters:
    ///   - request: Without a body.
    ///   - body: The body; nil for methods that have none.
    ///   - limit: The most bytes of the answer's body; a server may send anything.
    /// - Returns: An answer of any status.
    /// - Throws: ``S3TransferError``; `CancellationError`.
    func send(_ request: URLRequest, body: Data?, limit: Int) async throws -> S3Answer {
        try Task.checkCancellation()
        let task =
            body.map { session.uploadTask(with: request, from: $0) }
            ?? session.dataTask(with: request)
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
        _ task: URLSessionTask, limit: Int, _ continuation: CheckedContinuation<S3Answer, any Error>
    ) {
        let isWanted = state.withLock { state in
            guard state.cancelled.remove(task.taskIdentifier) == nil else { return false }
            state.exchanges[task.taskIdentifier] = Exchange(continuation, limit: limit)
            return true
        }
        guard isWanted else { return continuation.resume(throwing: CancellationError()) }
        task.resume()
    }

    /// Answers the caller, once, and ends the transfer if it goes on.
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
        _ session: URLSession, dataTask task: URLSessionDataTask, didReceive response: URLResponse,
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
        end(
            task,
            .failure(
                S3TransferError(
                    code: S3TransferError.tooLong,
                    message: "the server's answer is longer than any to this request can be",
                    isTransient: false)))
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
            return end(
                task,
                .failure(
                    S3TransferError(
                        code: "networkConnectionLost",
                        message: "the connection ended within the answer", isTransient: true)))
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
        // A signature is for one host, and a session's token must not go to another. The redirect
        // is the answer.
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
            .networkConnectionLost: "networkConnectionLost", .dnsLookupFailed: "dnsLookupFailed",
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
            // On Linux an untrusted certificate has no code of its own, only libcurl's words.
            isTransient: !permanent.contains(error.code)
                && !(error.code == .unknown && error.localizedDescription.contains("certificate")))
    }
}
