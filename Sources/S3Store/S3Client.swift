internal import Crypto
internal import Foundation
internal import SecureStoragePlatform
internal import ObjectStores

/// A request to a bucket or an object.
struct S3Request: Sendable {
    var method: String
    /// The object's name without the prefix; nil for the bucket.
    var name: String?
    var query: [(name: String, value: String)] = []
    var headers: [(name: String, value: String)] = []
    /// nil for methods that have none.
    var body: Data?
    /// The most bytes that an answer may have.
    var limit = 1 << 20
    /// The statuses beyond 200 to 299 that are not an error of their own.
    var expected: Set<Int> = []
}

/// Signs and sends requests, and repeats those that may succeed later.
final class S3Client: Sendable {
    let address: S3Address
    private let provider: @Sendable () async throws -> S3Credentials
    private let transport: any S3Transport
    private let patience: Duration
    private let longestPause: Duration
    private let state = Locked(State())

    private struct State {
        var credentials: S3Credentials?
        /// What has to be added to this machine's time to get the server's, in seconds.
        var clockOffset: TimeInterval = 0
    }

    init(
        _ address: S3Address, patience: Duration, transport: any S3Transport,
        longestPause: Duration = .seconds(8),
        credentials: @escaping @Sendable () async throws -> S3Credentials
    ) {
        self.address = address
        self.patience = patience
        self.longestPause = longestPause
        provider = credentials
        self.transport = transport
    }

    /// Sends a request until it has an answer that counts.
    ///
    /// - Returns: An answer with a status of 200 to 299, or one that is expected.
    /// - Throws: ``/ObjectStores/StoreError/failed(code:message:isTransient:)``; `CancellationError`; the
    ///   errors of the provider of credentials.
    func send(_ request: S3Request) async throws -> S3Answer {
        let bodyHash = AWSSignatureV4.hash(request.body ?? Data())
        var backoff = Backoff(
            patience: patience, first: .seconds(1), longest: longestPause)
        var hasSetClock = false
        var hasRenewed = false
        while true {
            let credentials = try await currentCredentials()
            let failure: StoreError
            do {
                let answer = try await transport.send(
                    signed(request, bodyHash, credentials), limit: request.limit)
                if 200..<300 ~= answer.status || request.expected.contains(answer.status) {
                    return answer
                }
                let reason = S3Failure(answer)
                if reason.code == "RequestTimeTooSkewed", !hasSetClock, setClock(answer) {
                    hasSetClock = true
                    continue
                }
                if reason.asksForOtherCredentials, !hasRenewed {
                    hasRenewed = true
                    if try await renew(credentials) { continue }
                }
                failure = reason.error(address, hiding: credentials.sessionTokenText)
            } catch let error as S3TransferError {
                failure = .failed(
                    code: error.code, message: "no answer of \(address.host): \(error.message)",
                    isTransient: error.isTransient)
            }
            guard failure.isTransient, let pause = backoff.next() else {
                throw failure
            }
            try await Task.sleep(for: pause)
        }
    }

    /// Returns the error for an answer that was expected, but not with this content.
    func failure(_ answer: S3Answer) -> StoreError {
        let credentials = state.withLock { $0.credentials }
        return S3Failure(answer).error(address, hiding: credentials?.sessionTokenText)
    }

    // MARK: - Signing

    private func signed(
        _ request: S3Request, _ bodyHash: String, _ credentials: S3Credentials
    ) throws -> S3HTTPRequest {
        let date = Date().addingTimeInterval(state.withLock { $0.clockOffset })
        var headers = request.headers
        headers.append(("x-amz-date", AWSSignatureV4.timestamp(date)))
        headers.append(("x-amz-content-sha256", bodyHash))
        if let token = credentials.sessionTokenText {
            headers.append(("x-amz-security-token", token))
        }
        let path = address.path(request.name)
        let authorization = AWSSignatureV4(region: address.region).authorization(
            AWSSignatureV4.Request(
                method: request.method, path: path, query: request.query,
                headers: headers + [("host", address.host)], bodyHash: bodyHash),
            credentials, at: date)

        headers.append(("authorization", authorization))
        // Ciphertext does not shrink, and a small answer must not become a huge one.
        headers.append(("accept-encoding", "identity"))
        // Without a length a server would refuse an empty body.
        if let body = request.body { headers.append(("content-length", "\(body.count)")) }
        return S3HTTPRequest(
            method: request.method,
            url: try address.url(path, query: AWSSignatureV4.query(request.query)),
            headers: headers, body: request.body)
    }

    /// Takes the server's time; false if it does not tell.
    private func setClock(_ answer: S3Answer) -> Bool {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = .gmt
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let date = answer.headers["date"].flatMap(format.date) else { return false }
        state.withLock { $0.clockOffset = date.timeIntervalSinceNow }
        return true
    }

    // MARK: - Credentials

    private func currentCredentials() async throws -> S3Credentials {
        try Task.checkCancellation()
        if let known = state.withLock({ $0.credentials }), known.isFresh(at: Date()) {
            return known
        }
        let new = try await provider()
        state.withLock { $0.credentials = new }
        return new
    }

    /// Asks the provider again; false if it has no others than those that were refused.
    private func renew(_ refused: S3Credentials) async throws -> Bool {
        let new = try await provider()
        state.withLock { $0.credentials = new }
        return new != refused
    }
}
