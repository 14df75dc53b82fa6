import Foundation
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// An HTTP server of a test's own on the loopback interface.
///
/// It answers as it is told, well or badly. One thread per connection, one request per connection.
final class LoopbackServer: @unchecked Sendable {
    // @unchecked: `seen` is only accessed under `lock`, the rest is set in init.

    /// A request as it arrived.
    struct Request: Sendable {
        var method = ""
        /// The path with the parameters.
        var target = ""
        /// By their names in lower case.
        var headers: [String: String] = [:]
        var body = Data()

        var path: String { String(target.prefix { $0 != "?" }) }
    }

    /// What the server does with a request.
    enum Reply: Sendable {
        case answer(Int, [String: String] = [:], Data = Data())
        /// Says that the body has more bytes than it sends, and cuts the connection.
        case part(Int, length: Int, Data)
        /// Cuts the connection without an answer.
        case cut
        /// Byte after byte, with pauses.
        case slow(Data, pause: Duration)
        /// Bytes as they are.
        case raw(Data)
        /// Bytes as they are, and nothing more until the client goes away.
        case stall(Data)
        /// Bytes as they are, then others again and again until the client goes away.
        case flood(Data, Data)
        /// Answers nothing until the client goes away.
        case silence

        static func error(_ status: Int, _ code: String, _ message: String = "") -> Reply {
            .answer(
                status, [:],
                Data("<Error><Code>\(code)</Code><Message>\(message)</Message></Error>".utf8))
        }
    }

    let port: UInt16
    private let listener: Int32
    private let lock = NSLock()
    private var seen: [Request] = []
    private let readPause: Duration
    private let reply: @Sendable (Request, Int) -> Reply

    struct Failure: Error {}

    /// - Parameters:
    ///   - readPause: How long it waits before it receives some more of a body.
    ///   - reply: Receives a request and how many came before it.
    /// - Throws: `CocoaError`.
    init(readPause: Duration = .zero, _ reply: @escaping @Sendable (Request, Int) -> Reply) throws {
        self.reply = reply
        self.readPause = readPause
        (listener, port) = try LoopbackListener.open(backlog: 128)
        let listener = listener
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0, let server = self else { return }
                Thread.detachNewThread { server.serve(connection) }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    var url: URL {
        get throws {
            guard let url = URL(string: "http://127.0.0.1:\(port)") else { throw Failure() }
            return url
        }
    }

    /// The requests until now.
    var requests: [Request] {
        lock.lock()
        defer { lock.unlock() }
        return seen
    }

    // MARK: - A connection

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        guard let request = receive(connection) else { return }
        lock.lock()
        let count = seen.count
        seen.append(request)
        lock.unlock()
        switch reply(request, count) {
        case .answer(let status, let headers, let body):
            send(
                connection,
                head(status, headers, body.count) + (request.method == "HEAD" ? Data() : body))
        case .part(let status, let length, let body):
            send(connection, head(status, [:], length) + body)
        case .slow(let body, let pause):
            send(connection, head(200, [:], body.count))
            for byte in body {
                Self.sleep(pause)
                send(connection, Data([byte]))
            }
        case .cut: break
        case .raw(let bytes): send(connection, bytes)
        case .stall(let bytes):
            send(connection, bytes)
            waitForEnd(connection)
        case .flood(let bytes, let more):
            send(connection, bytes)
            // More than a client that keeps it all could hide.
            for _ in 0..<(1 << 30) / more.count {
                guard send(connection, more) else { break }
            }
        case .silence: waitForEnd(connection)
        }
        // A close with bytes that were not read would reset the connection, and lose the answer.
        shutdown(connection, Int32(SHUT_WR))
        var rest = [UInt8](repeating: 0, count: 1 << 16)
        while recv(connection, &rest, rest.count, 0) > 0 {}
    }

    private func head(_ status: Int, _ headers: [String: String], _ length: Int) -> Data {
        var lines = ["HTTP/1.1 \(status) Test", "Connection: close"]
        if status != 304, status != 204 { lines.append("Content-Length: \(length)") }
        lines += headers.map { "\($0.key): \($0.value)" }
        return Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    private func receive(_ connection: Int32) -> Request? {
        var bytes = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let end = Data("\r\n\r\n".utf8)
        var headEnd: Int?
        while headEnd == nil {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes.append(contentsOf: buffer[..<count])
            headEnd = bytes.range(of: end)?.upperBound
        }
        guard let headEnd else { return nil }
        let lines = String(decoding: bytes[..<headEnd], as: UTF8.self).split(separator: "\r\n")
        let words = (lines.first ?? "").split(separator: " ")
        guard words.count == 3 else { return nil }
        var request = Request(method: String(words[0]), target: String(words[1]))
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            request.headers[line[..<colon].lowercased()] =
                line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        request.body = bytes[headEnd...]
        let length = request.headers["content-length"].flatMap { Int($0) } ?? 0
        if request.headers["expect"] != nil, request.body.count < length {
            send(connection, Data("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
        while request.body.count < length {
            if readPause > .zero { Self.sleep(readPause) }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            request.body.append(contentsOf: buffer[..<count])
        }
        request.body = Data(request.body)
        return request
    }

    private static func sleep(_ pause: Duration) {
        Thread.sleep(forTimeInterval: pause / .seconds(1))
    }

    private func waitForEnd(_ connection: Int32) {
        var byte: UInt8 = 0
        _ = recv(connection, &byte, 1, 0)
    }

    /// - Returns: Whether all was sent.
    @discardableResult
    private func send(_ connection: Int32, _ bytes: Data) -> Bool {
        #if canImport(Glibc)
            let flags = Int32(MSG_NOSIGNAL)
        #else
            let flags: Int32 = 0
        #endif
        return bytes.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
                let count = sendBytes(connection, rest.baseAddress, rest.count, flags)
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }
}

/// The system's call, which the method of the same name hides.
private func sendBytes(
    _ connection: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32
) -> Int {
    send(connection, bytes, count, flags)
}
