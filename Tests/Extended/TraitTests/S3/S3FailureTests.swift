import Foundation
import ObjectStores
import SecureKeys
import SecureSync
import TestSupport
import Testing

@testable import S3Store

/// A store whose server fails in every way.
struct S3FailureTests {
    private static let secret = "secret-of-the-key"
    private static let token = "token-of-the-session"

    private static let credentials = S3Credentials(
        accessKeyID: "AKIDEXAMPLE", secretAccessKey: SecretBytes(utf8: secret),
        sessionToken: SecretBytes(utf8: token))

    /// A store whose pauses are short.
    private func store(
        _ server: LoopbackServer, patience: Duration = .seconds(20),
        timeout: Duration = .seconds(20),
        credentials: @escaping @Sendable () async throws -> S3Credentials = { Self.credentials }
    ) throws -> S3ObjectStore {
        let address = try S3Address(
            endpoint: server.url, bucket: "bucket", prefix: "some", region: "us-east-1", style: nil)
        return S3ObjectStore(
            S3Client(
                address, patience: patience, transport: makeS3Transport(S3Times(idle: timeout)),
                longestPause: .milliseconds(20), credentials: credentials))
    }

    /// Returns the error of a call, after a look for secrets in it.
    private func failure(
        _ call: () async throws -> some Any, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> StoreError? {
        let error = await #expect(throws: StoreError.self, sourceLocation: sourceLocation) {
            _ = try await call()
        }
        for text in [error?.description ?? "", String(reflecting: error)] {
            check(!text.contains(Self.secret) && !text.contains(Self.token))
        }
        return error
    }

    // MARK: - Requests

    @Test func `requests have what S3 requires`() async throws {
        let server = try LoopbackServer { request, _ in
            request.method == "GET" ? .answer(200, [:], Data("content".utf8)) : .answer(200)
        }
        let store = try store(server)
        try await check(store.create("a/b", Data("12345".utf8)))
        try await check(store.create("empty", Data()))
        try await check(store.read("a/b"), equals: Data("content".utf8))
        try await store.mark("mark", Data("1".utf8))
        try await store.remove(["a"])
        let requests = server.requests
        check(requests.map(\.method), equals: ["PUT", "PUT", "GET", "PUT", "DELETE"])
        check(requests[0].target, equals: "/bucket/some/a/b")
        check(requests[0].body, equals: Data("12345".utf8))
        check(requests[0].headers["if-none-match"], equals: "*")
        check(requests[0].headers["content-length"], equals: "5")
        check(
            requests[0].headers["x-amz-content-sha256"],
            equals: "5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5")
        check(requests[1].headers["content-length"], equals: "0")
        check(requests[1].headers["transfer-encoding"] == nil)
        check(requests[3].headers["if-none-match"] == nil)
        for request in requests {
            check(request.headers["host"], equals: "127.0.0.1:\(server.port)")
            check(request.headers["x-amz-security-token"], equals: Self.token)
            check(
                request.headers["authorization"]?.hasPrefix(
                    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"), equals: true)
            check(!request.headers.values.contains { $0.contains(Self.secret) })
            check(!request.target.contains(Self.token))
        }
    }

    /// Returns the `Authorization` header that a server computes for a received request.
    private func authorization(_ request: LoopbackServer.Request) throws -> String {
        let sent = try require(request.headers["authorization"])
        let list = try require(sent.split(separator: "SignedHeaders=").last)
        let names = list.prefix { $0 != "," }.split(separator: ";").map(String.init)
        check(Set(["host", "x-amz-date", "x-amz-content-sha256"]).isSubset(of: names))
        let items = URLComponents(string: "http://a" + request.target)?.queryItems ?? []
        let date = try Date(
            require(request.headers["x-amz-date"]),
            strategy: Date.ISO8601FormatStyle(
                dateSeparator: .omitted, dateTimeSeparator: .standard, timeSeparator: .omitted,
                timeZone: .gmt))
        return AWSSignatureV4(region: "us-east-1").authorization(
            AWSSignatureV4.Request(
                method: request.method, path: request.path,
                query: items.map { ($0.name, $0.value ?? "") },
                headers: names.map { ($0, request.headers[$0, default: ""]) },
                bodyHash: AWSSignatureV4.hash(request.body)), Self.credentials, at: date)
    }

    @Test func `the signature is of what arrives`() async throws {
        let server = try LoopbackServer { request, _ in
            if request.target.contains("list-type") { return Self.page([]) }
            return request.method == "POST"
                ? .answer(200, [:], Data("<DeleteResult/>".utf8)) : .answer(200)
        }
        let store = try store(server)
        _ = try await store.create("a/b-c_d.e", Data("1".utf8))
        _ = try await store.create("empty", Data())
        _ = try await store.create("large", Data(count: 5 << 20))
        _ = try await store.read("a")
        _ = try await store.list("a/", after: "a/b")
        try await store.mark("mark", Data("1".utf8))
        try await store.remove(["a"])
        try await store.remove(["a", "b"])
        let requests = server.requests
        check(requests.count, equals: 8)
        for request in requests {
            try check(request.headers["authorization"], equals: authorization(request))
            check(
                request.headers["x-amz-content-sha256"], equals: AWSSignatureV4.hash(request.body))
        }
        check(requests[0].headers["authorization"]?.contains("if-none-match;"), equals: true)
    }

    @Test func `an object of 64 MiB is sent and received whole`() async throws {
        // Any order of its parts but the right one is another content.
        var content = Data(capacity: 64 << 20)
        for index in 0..<(1 << 10) as Range<UInt32> {
            withUnsafeBytes(of: index) { content.append(contentsOf: $0) }
            content.append(Data(repeating: UInt8(index & 0xff), count: (64 << 10) - 4))
        }
        let expected = content
        let server = try LoopbackServer { request, _ in
            request.method == "PUT"
                ? .answer(request.body == expected ? 200 : 400) : .answer(200, [:], expected)
        }
        let store = try store(server)
        try await check(store.create("large", content))
        try await check(store.read("large"), equals: content)
        check(server.requests.count, equals: 2)
    }

    // MARK: - What is repeated

    @Test(arguments: [
        (503, "SlowDown"), (409, "ConditionalRequestConflict"), (429, "TooManyRequests"),
        (500, "InternalError"), (502, ""), (504, ""), (400, "RequestTimeout"),
    ])
    func `what may succeed later is repeated`(_ status: Int, _ code: String) async throws {
        let server = try LoopbackServer { _, count in
            count < 3 ? .error(status, code) : .answer(200, [:], Data("1".utf8))
        }
        let store = try store(server)
        try await check(store.create("a", Data("1".utf8)))
        check(server.requests.count, equals: 4)
        check(Set(server.requests.map(\.body)), equals: [Data("1".utf8)])
    }

    @Test func `a connection that is cut is repeated, wherever it is cut`() async throws {
        let server = try LoopbackServer { _, count in
            switch count {
            case 0: .cut
            case 1: .part(200, length: 1000, Data("the beginn".utf8))
            case 2: .raw(Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123".utf8))
            default: .answer(200, [:], Data("whole".utf8))
            }
        }
        try await check(store(server).read("a"), equals: Data("whole".utf8))
        check(server.requests.count, equals: 4)
    }

    @Test func `a creation whose answer was lost has not created for its caller`() async throws {
        let server = try LoopbackServer { _, count in
            count == 0 ? .cut : .error(412, "PreconditionFailed")
        }
        try await check(!store(server).create("a", Data("1".utf8)))
        check(server.requests.count, equals: 2)
    }

    @Test func `a server that is overloaded for ever is a transient error in the end`() async throws
    {
        let server = try LoopbackServer { _, _ in .error(503, "SlowDown", "Please reduce.") }
        let store = try store(server, patience: .seconds(2))
        let error = await failure { try await store.create("a", Data()) }
        check(
            error,
            equals: .failed(code: "503 SlowDown", message: "Please reduce.", isTransient: true))
        check(server.requests.count > 2)
    }

    @Test func `a server that is not there is a transient error`() async throws {
        let server = try LoopbackServer { _, _ in .cut }
        let port = server.port
        _ = consume server
        let address = try S3Address(
            endpoint: URL(string: "http://127.0.0.1:\(port)"), bucket: "bucket", prefix: "",
            region: "us-east-1", style: nil)
        let store = S3ObjectStore(
            S3Client(
                address, patience: .milliseconds(100),
                transport: makeS3Transport(S3Times(idle: .seconds(5))),
                longestPause: .milliseconds(20), credentials: { Self.credentials }))
        let error = await failure { try await store.read("a") }
        guard case .failed(_, _, true) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `silence ends after the time-out`() async throws {
        let server = try LoopbackServer { _, _ in .silence }
        let store = try store(server, patience: .milliseconds(1), timeout: .seconds(1))
        let error = await failure { try await store.read("a") }
        guard case .failed("timedOut", _, true) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `a slow transfer that continues does not time out`() async throws {
        let server = try LoopbackServer(readPause: .milliseconds(25)) { request, _ in
            request.method == "PUT"
                ? .answer(200) : .slow(Data(count: 25), pause: .milliseconds(100))
        }
        let store = try store(server, patience: .zero, timeout: .seconds(2))
        // More than the system's buffers hold, in 64 KiB and more at a time.
        try await check(store.create("a", Data(count: 12 << 20)))
        try await check(store.read("a"), equals: Data(count: 25))
        check(server.requests.count, equals: 2)
    }

    // MARK: - What is not

    @Test(arguments: [
        (403, "AccessDenied", "s3:PutObject"), (403, "InvalidAccessKeyId", "access key"),
        (403, "SignatureDoesNotMatch", "secret key"), (404, "NoSuchBucket", "create it"),
        (400, "AuthorizationHeaderMalformed", "region"), (400, "ExpiredToken", "get new ones"),
        (501, "SomethingElse", "No: <redacted>"), (404, "", "check the endpoint"),
    ])
    func `a refusal is an error that says what to do`(
        _ status: Int, _ code: String, _ hint: String
    ) async throws {
        // Servers that repeat the request in their message exist.
        let server = try LoopbackServer { _, _ in
            .error(status, code, "No: \(Self.token)\u{a}\u{9b}2J\u{202e}")
        }
        let store = try store(server)
        for call in [
            { _ = try await store.create("a", Data()) }, { _ = try await store.read("a") },
            { _ = try await store.list("", after: nil) }, { try await store.mark("a", Data()) },
            { try await store.remove(["a"]) },
            { _ = try await store.waitForMark("a", since: nil, atMost: .seconds(9)) },
        ] as [() async throws -> Void] {
            let before = server.requests.count
            let error = await failure(call)
            guard case .failed(let text, let message, false) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            check(text, equals: (code.isEmpty ? "\(status)" : "\(status) \(code)"))
            check(
                message.contains(hint) && !message.contains { "\u{a}\u{9b}\u{202e}".contains($0) },
                "\(message)")
            check(server.requests.count, equals: before + 1)
        }
    }

    @Test func `a server that refuses the condition cannot be a store`() async throws {
        let server = try LoopbackServer { _, _ in .error(501, "NotImplemented") }
        let store = try store(server)
        guard case .cannotCreateOnly = await failure({ try await store.create("a", Data()) })
        else { return check(Bool(false)) }
    }

    @Test func `a server that ignores the condition is found out`() async throws {
        let server = try LoopbackServer { request, count in
            request.target.contains("list-type")
                ? .answer(
                    200, [:],
                    Data(
                        "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>".utf8
                    ))
                : .answer(200, [:], Data("2".utf8))
        }
        let store = try store(server)
        guard case .cannotCreateOnly = await failure({ try await store.probe(under: "x/") })
        else { return check(Bool(false)) }
    }

    @Test(arguments: [301, 302, 307, 308])
    func `no redirect is followed`(_ status: Int) async throws {
        let other = try LoopbackServer { _, _ in .answer(200, [:], Data("1".utf8)) }
        let elsewhere = try other.url.absoluteString + "/bucket/a"
        let server = try LoopbackServer { _, _ in
            .answer(
                status, ["Location": elsewhere, "x-amz-bucket-region": "eu-west-7"],
                Data(
                    "<Error><Code>PermanentRedirect</Code><Message>Elsewhere.</Message></Error>"
                        .utf8))
        }
        let store = try store(server)
        for call in [
            { _ = try await store.create("a", Data("1".utf8)) }, { _ = try await store.read("a") },
        ] as [() async throws -> Void] {
            guard case .failed(let code, let message, false) = await failure(call) else {
                Issue.record("a redirect is no error")
                continue
            }
            check(code.hasPrefix("\(status)"))
            check(message.contains("eu-west-7"), "\(message)")
        }
        check(other.requests.isEmpty)
    }

    // MARK: - Lists

    private static func page(_ keys: [String], isTruncated: Bool = false) -> LoopbackServer.Reply {
        let entries = keys.map { "<Contents><Key>\($0)</Key><Size>1</Size></Contents>" }
        return .answer(
            200, [:],
            Data(
                ("<ListBucketResult><IsTruncated>\(isTruncated)</IsTruncated>"
                    + "<EncodingType>url</EncodingType>\(entries.joined())</ListBucketResult>").utf8
            ))
    }

    @Test func `pages of keys that are not objects are skipped`() async throws {
        let server = try LoopbackServer { request, count in
            switch count {
            case 0: Self.page(["some/A", "some/B%20c"], isTruncated: true)
            case 1: Self.page(["some/a%2Fb", "some/c", "some/%CC%81"], isTruncated: true)
            // A combining accent, which must not be taken for a part of the slash.
            default: Self.page(["some/%CC%81", "some/%F0%9F%98%80"])
            }
        }
        let store = try store(server)
        try await check(store.listAll("").map(\.name), equals: ["a/b", "c"])
        check(server.requests[1].target.contains("start-after=some%2FB%20c"))
        check(server.requests[2].target.contains("start-after=some%2Fc"))
    }

    @Test(arguments: [
        page(["some/b", "some/a"]), page(["some/a", "some/a"]), page(["other/a"]),
        page([], isTruncated: true), .answer(200, [:], Data("<html>no S3</html>".utf8)),
        .answer(200), .answer(200, [:], Data("<ListBucketResult>".utf8)),
        .answer(
            200, [:],
            Data("<ListBucketResult><IsTruncated>no</IsTruncated></ListBucketResult>".utf8)),
    ])
    func `a list that cannot be one is an error`(_ reply: LoopbackServer.Reply) async throws {
        let server = try LoopbackServer { _, _ in reply }
        let store = try store(server)
        guard
            case .failed("InvalidAnswer", _, false) = await failure({ try await store.listAll("") })
        else { return check(Bool(false)) }
    }

    @Test func `an answer without end is not received to its end`() async throws {
        let server = try LoopbackServer { request, _ in
            .answer(200, [:], Data(count: request.target.contains("list") ? 20 << 20 : 66 << 20))
        }
        let store = try store(server)
        guard
            case .failed("AnswerTooLong", _, false) = await failure({
                _ = try await store.list("", after: nil)
            }), case .objectTooLarge("a") = await failure({ _ = try await store.read("a") })
        else {
            Issue.record("an answer that is too long is received")
            return
        }
    }

    // MARK: - Removal

    @Test func `objects are removed one by one where a server cannot remove several`() async throws
    {
        let server = try LoopbackServer { request, _ in
            request.method == "POST" ? .error(400, "MissingContentMD5") : .answer(204)
        }
        let store = try store(server)
        try await store.remove(["a", "b"])
        try await store.remove(["c", "d"])
        check(
            server.requests.map(\.method), equals: ["POST", "DELETE", "DELETE", "DELETE", "DELETE"])
    }

    @Test func `of a removal what failed is repeated or reported`() async throws {
        let server = try LoopbackServer { request, count in
            guard request.method == "POST" else { return .answer(204) }
            let code = count == 0 ? "SlowDown" : "AccessDenied"
            return .answer(
                200, [:],
                Data(
                    ("<DeleteResult><Error><Key>some/b</Key><Code>\(code)</Code></Error>"
                        + "<Error><Key>some/x</Key><Code>NoSuchKey</Code></Error></DeleteResult>")
                        .utf8))
        }
        let store = try store(server)
        try await store.remove(["a", "b"])
        check(server.requests.map(\.target), equals: ["/bucket?delete=", "/bucket/some/b"])
        check(
            String(decoding: server.requests[0].body, as: UTF8.self).contains(
                "<Object><Key>some/a</Key></Object><Object><Key>some/b</Key></Object>"))
        check(server.requests[0].headers["x-amz-checksum-sha256"]?.count, equals: 44)
        guard
            case .failed("AccessDenied", _, false) = await failure({
                try await store.remove(["a", "b"])
            })
        else { return check(Bool(false)) }
    }

    // MARK: - Clock and credentials

    @Test func `a wrong clock is corrected by the server's`() async throws {
        let server = try LoopbackServer { request, count in
            count == 0
                ? .answer(
                    403, ["Date": "Wed, 01 Jan 2070 12:00:00 GMT"],
                    Data("<Error><Code>RequestTimeTooSkewed</Code></Error>".utf8))
                : .answer(200, [:], Data(request.headers["x-amz-date", default: ""].utf8))
        }
        let store = try store(server)
        let date = try await require(store.read("a"))
        check(String(decoding: date, as: UTF8.self).hasPrefix("20700101T120"))
        _ = try await store.read("a")
        check(server.requests.count, equals: 3)
    }

    @Test func `a clock that stays wrong is an error`() async throws {
        let server = try LoopbackServer { _, _ in
            .answer(
                403, ["Date": "Wed, 01 Jan 2070 12:00:00 GMT"],
                Data("<Error><Code>RequestTimeTooSkewed</Code></Error>".utf8))
        }
        let store = try store(server)
        let error = await failure { try await store.read("a") }
        check(error?.description.contains("clock"), equals: true)
        check(server.requests.count, equals: 2)
    }

    @Test func `credentials are asked for again when they end or are refused`() async throws {
        let server = try LoopbackServer { request, _ in
            request.headers["authorization"]?.contains("Credential=new/") == true
                ? .answer(200) : .error(400, "ExpiredToken")
        }
        let calls = Counter()
        let store = try store(server) {
            S3Credentials(
                accessKeyID: await calls.next() == 1 ? "old" : "new",
                secretAccessKey: SecretBytes(utf8: "s"),
                expiration: Date(timeIntervalSinceNow: 3600))
        }
        try await check(store.create("a", Data()))
        try await check(store.create("b", Data()))
        await check(calls.count, equals: 2)
        let ending = Counter()
        let other = try self.store(server) {
            _ = await ending.next()
            return S3Credentials(
                accessKeyID: "new", secretAccessKey: SecretBytes(utf8: "s"),
                expiration: Date(timeIntervalSinceNow: 60))
        }
        try await check(other.create("a", Data()))
        try await check(other.create("b", Data()))
        await check(ending.count, equals: 2)
    }

    // MARK: - Cancellation

    @Test func `a cancelled task ends its request`() async throws {
        let server = try LoopbackServer { _, _ in .silence }
        let store = try store(server, timeout: .seconds(200))
        for call in [
            { _ = try await store.create("a", Data(count: 1 << 20)) },
            { _ = try await store.read("a") },
            { _ = try await store.waitForMark("a", since: nil, atMost: .seconds(200)) },
        ] as [@Sendable () async throws -> Void] {
            let before = server.requests.count
            let task = Task { try await call() }
            while server.requests.count == before { try await Task.sleep(for: .milliseconds(10)) }
            let start = ContinuousClock.now
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            check(ContinuousClock.now - start < .seconds(100), "not its time-out")
        }
        let task = Task {
            try? await Task.sleep(for: .seconds(100))
            return try await store.read("a")
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a cancelled task ends its pause`() async throws {
        let server = try LoopbackServer { _, _ in .error(503, "SlowDown") }
        let store = try S3ObjectStore(
            endpoint: server.url, bucket: "bucket", region: "us-east-1", patience: .seconds(300)
        ) { Self.credentials }
        let task = Task { try await store.read("a") }
        while server.requests.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `requests that are cancelled at any moment never hang`() async throws {
        let server = try LoopbackServer { _, _ in .answer(200, [:], Data("1".utf8)) }
        let store = try store(server)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<200 {
                group.addTask {
                    let task = Task { try await store.read("a\(index)") }
                    try? await Task.sleep(for: .microseconds(Int.random(in: 0...5000)))
                    task.cancel()
                    switch await task.result {
                    case .success(let content): check(content, equals: Data("1".utf8))
                    case .failure(let error): check(error is CancellationError, "\(error)")
                    }
                }
            }
        }
    }

    @Test func `waiting ends soon after its limit, even if an answer never comes`() async throws {
        let server = try LoopbackServer { _, _ in .silence }
        let store = try store(server, timeout: .seconds(300))
        let start = ContinuousClock.now
        try await check(
            store.waitForMark("a", since: nil, atMost: .milliseconds(100)) == nil)
        check(ContinuousClock.now - start < .seconds(150), "not the time-out")
    }

    @Test func `a mark that is set again with the same bytes is seen`() async throws {
        let server = try LoopbackServer { _, count in
            .answer(
                200,
                [
                    "ETag": "\"1\"",
                    "Last-Modified": "Wed, 01 Jan 2070 12:00:0\(count < 2 ? 0 : 1) GMT",
                ], Data("1".utf8))
        }
        let store = try store(server)
        let first = try await store.waitForMark("a", since: nil, atMost: .seconds(60))
        check(first != nil)
        let second = try await store.waitForMark("a", since: first, atMost: .seconds(60))
        check(second != nil && second != first)
    }
}

private actor Counter {
    var count = 0

    func next() -> Int {
        count += 1
        return count
    }
}
