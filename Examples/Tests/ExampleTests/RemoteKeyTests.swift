import Foundation
import SecureKeys
import Testing
import ExampleSupport

@testable import RemoteKey

/// The example of a key service, against a server on this machine.
struct RemoteKeyTests {
    private static let key = SecretBytes(copying: Data((1...32).map { UInt8($0) }))

    private func source(_ server: KeyServer, _ path: String = "key", token: String = "secret token")
        throws -> RemoteKey
    {
        RemoteKey(
            name: "service",
            url: try require(URL(string: "http://127.0.0.1:\(server.port)/\(path)")),
            token: SecretBytes(utf8: token), timeout: 5)
    }

    private func failure(_ source: RemoteKey) -> String? {
        do {
            _ = try source.makeKey()
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func `a key that the service wraps is unwrapped by it, and by nothing else`() throws {
        let server = try KeyServer(key: Self.key.withUnsafeBytes { Data($0) })
        let data = try DataEncryptionKey.random(name: "note")
        var keys = try WrappedKeySet(wrapping: data, with: source(server))
        try keys.add(PasswordKey("correct horse", parameters: .cheapest), for: data)
        let sealed = try data.seal(Data([1, 2]), table: "t", column: "c", row: 1)
        let again = try WrappedKeySet(bytes: keys.bytes).unwrap(with: source(server))
        try check(again.open(sealed, table: "t", column: "c", row: 1), equals: Data([1, 2]))
        let other = try KeyServer(key: Data(repeating: 9, count: 32))
        #expect(throws: EnvelopeError.wrongKey(name: "service")) {
            try keys.unwrap(with: source(other))
        }
    }

    @Test func `each failure says what to do, and none contains the token`() throws {
        let server = try KeyServer(key: Self.key.withUnsafeBytes { Data($0) })
        check(
            failure(try source(server, token: "other token")),
            equals: "the key service refused the token; renew it")
        check(
            failure(try source(server, "missing")),
            equals: "the key service has no such key; check its name")
        check(
            failure(try source(server, "short")),
            equals: "the key service returned 3 bytes; a key has 32")
        let url = try source(server).url
        server.stop()
        let gone = failure(
            RemoteKey(name: "service", url: url, token: SecretBytes(utf8: "secret token")))
        check(gone?.hasPrefix("the key service cannot be reached"), equals: true)
        check(gone?.contains("secret token"), equals: false)
    }
}

/// A server on the loopback address that answers `GET /key` with a key.
private final class KeyServer: @unchecked Sendable {
    // @unchecked: constant after the initializer.
    let port: UInt16
    private let listener: Int32

    init(key: Data) throws {
        (listener, port) = try LoopbackListener.open(backlog: 8)
        let listener = listener
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                // Stopped.
                guard connection >= 0 else { return }
                Self.answer(connection, key)
                close(connection)
            }
        }
    }

    deinit { close(listener) }

    /// From now on connections are refused.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func answer(_ connection: Int32, _ key: Data) {
        var request = Data()
        var part = [UInt8](repeating: 0, count: 4096)
        while request.range(of: Data("\r\n\r\n".utf8)) == nil {
            let count = read(connection, &part, part.count)
            guard count > 0 else { return }
            request.append(contentsOf: part.prefix(count))
        }
        let text = String(decoding: request, as: UTF8.self)
        var (status, body) = ("200 OK", key)
        if !text.contains("Authorization: Bearer secret token\r\n") {
            (status, body) = ("401 Unauthorized", Data())
        } else if text.hasPrefix("GET /short ") {
            body = key.prefix(3)
        } else if !text.hasPrefix("GET /key ") {
            (status, body) = ("404 Not Found", Data())
        }
        let head =
            "HTTP/1.1 \(status)\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        let response = Data(head.utf8) + body
        _ = response.withUnsafeBytes { write(connection, $0.baseAddress, $0.count) }
    }
}
