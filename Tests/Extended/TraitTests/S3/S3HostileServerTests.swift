import Foundation
import ObjectStores
import SecureKeys
import SecureSync
import TestSupport
import Testing

@testable import S3Store

/// A server that lies, stalls and floods: no call may end the process, hang, or take all memory.
struct S3HostileServerTests {
    private func store(
        _ server: LoopbackServer, idle: Duration = .seconds(20), whole: Duration? = nil
    ) throws -> S3ObjectStore {
        let address = try S3Address(
            endpoint: server.url, bucket: "bucket", prefix: "", region: "us-east-1", style: nil)
        return S3ObjectStore(
            S3Client(
                address, patience: .zero,
                transport: makeS3Transport(S3Times(idle: idle, whole: whole)),
                longestPause: .milliseconds(20),
                credentials: {
                    S3Credentials(accessKeyID: "test", secretAccessKey: SecretBytes(utf8: "test"))
                }))
    }

    private static let body =
        "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"

    private static let answer = Data(
        ("HTTP/1.1 200 OK\r\nDate: Fri, 27 Nov 2026 12:00:00 GMT\r\nETag: \"1\"\r\n"
            + "Content-Length: \(body.utf8.count)\r\nServer: test\r\n\r\n\(body)").utf8)

    private static let calls: [@Sendable (S3ObjectStore) async throws -> Void] = [
        { _ = try await $0.read("a") }, { _ = try await $0.list("", after: nil) },
        { _ = try await $0.create("a", Data("1".utf8)) },
    ]

    /// The server's answer is the number in the name of the object that is asked for.
    private func expectFailures(
        _ numbers: StrideTo<Int>, _ store: S3ObjectStore, _ codes: Set<String>
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, number) in numbers.enumerated() {
                if place >= 16 { try await group.next() }
                group.addTask {
                    let error = await #expect(throws: StoreError.self) {
                        _ = try await store.read("\(number)")
                    }
                    guard case .failed(let code, _, true) = error, codes.contains(code) else {
                        Issue.record("\(number): \(String(describing: error))")
                        return
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `an answer that is cut after any byte is a lost connection`() async throws {
        let server = try LoopbackServer { request, _ in
            .raw(Self.answer.prefix(Int(request.path.split(separator: "/").last ?? "") ?? 0))
        }
        try await expectFailures(
            stride(from: 0, to: Self.answer.count, by: 1), store(server),
            ["networkConnectionLost", "InvalidAnswer"])
    }

    @Test func `an answer that stops after any byte ends after the time-out`() async throws {
        let server = try LoopbackServer { request, _ in
            .stall(Self.answer.prefix(Int(request.path.split(separator: "/").last ?? "") ?? 0))
        }
        try await expectFailures(
            stride(from: 0, to: Self.answer.count, by: 5),
            store(server, idle: .milliseconds(300)), ["timedOut"])
    }

    @Test(arguments: [
        "Content-Length: 99999999999999999999", "Content-Length: -1", "Content-Length: x",
        "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 4000000000",
        "Transfer-Encoding: chunked\r\nContent-Length: 5", "Transfer-Encoding: gzip, chunked",
        "Content-Encoding: gzip\r\nContent-Length: 5", "Transfer-Encoding: nonsense",
    ])
    func `a head that lies about the body ends the call`(_ line: String) async throws {
        let server = try LoopbackServer { _, _ in
            .raw(Data("HTTP/1.1 200 OK\r\n\(line)\r\n\r\nhello".utf8))
        }
        for call in Self.calls {
            // A store for each, since a call could take a connection that the server is closing.
            do { try await call(store(server, idle: .seconds(5))) } catch is StoreError {}
        }
        check(server.requests.count >= Self.calls.count)
    }

    @Test(arguments: [
        "nonsense", "HTTP/1.1", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 99999 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA\u{0}B: c\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc",
    ])
    func `anything but an HTTP answer is an error`(_ text: String) async throws {
        let server = try LoopbackServer { _, _ in .raw(Data(text.utf8)) }
        let store = try store(server, idle: .seconds(5))
        for call in Self.calls {
            await #expect(throws: StoreError.self) { try await call(store) }
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `no redirect is followed`(_ status: Int) async throws {
        let other = try LoopbackServer { _, _ in .answer(200, [:], Data("other".utf8)) }
        let target = try other.url.absoluteString
        let server = try LoopbackServer { _, _ in .answer(status, ["Location": target]) }
        let store = try store(server)
        for call in Self.calls {
            await #expect(throws: StoreError.self) { try await call(store) }
        }
        check(other.requests.count, equals: 0)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\n", "A: b\r\n"), ("HTTP/1.1 200 OK\r\nA: ", "bbbbbbbb"),
        ("HTTP/1.1 200 ", "OK OK "), ("", "HTTP/1.1 100 Continue\r\n\r\n"),
        ("HTTP/1.1 200 OK\r\n\r\n", "no length"),
        ("HTTP/1.1 500 Error\r\n\r\n", "<Error>no length"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "8\r\nabcdefgh\r\n"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
            "an extension without end;"
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "T: trailer\r\n"),
    ])
    func `an answer without end takes limited memory and time`(
        _ start: String, _ more: String
    ) async throws {
        let piece = Data(String(repeating: more, count: 65536 / more.utf8.count).utf8)
        let server = try LoopbackServer { _, _ in .flood(Data(start.utf8), piece) }
        let store = try store(server, idle: .seconds(1), whole: .seconds(2))
        let before = peakMemory()
        for call in Self.calls {
            await #expect(throws: StoreError.self) { try await call(store) }
        }
        // An object has up to 64 MiB, and grows by doubling.
        check(peakMemory() - before < 256 << 20, "\((peakMemory() - before) >> 20) MiB")
    }
}
