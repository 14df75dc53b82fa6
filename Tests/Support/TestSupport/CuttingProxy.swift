package import Foundation
internal import SecureStoragePlatform

/// Passes the bytes of TCP connections on to a server of this machine, until it is told to cut
/// them.
package final class CuttingProxy: Sendable {
    /// A direction of a connection.
    package enum Direction: CaseIterable, Sendable { case requests, answers }

    private struct State {
        var sockets: [Descriptor] = []
        /// How many bytes may still pass until a cut.
        var rest: [Direction: Int] = [:]
        var cuts = 0
        var isRefusing = false
        var isStalled = false
        var accepted = 0
        /// What clients have sent, if it is recorded.
        var record: Data?
    }

    package let port: UInt16
    private let listener: Descriptor
    private let target: UInt16
    private let state: Locked<State>

    /// Listens on a free port of the loopback.
    ///
    /// - Parameters:
    ///   - target: The server's port.
    ///   - records: Whether ``recorded`` has what clients send.
    /// - Throws: `CocoaError` if no port is free.
    package init(to target: UInt16, records: Bool = false) throws {
        self.target = target
        let (socket, port) = try LoopbackListener.open(backlog: 20)
        listener = Descriptor(owning: socket)
        self.port = port
        state = Locked(State(record: records ? Data() : nil))
        Thread.detachNewThread { [self] in accept() }
    }

    /// How many connections there were.
    package var accepted: Int { state.withLock { $0.accepted } }

    /// How often ``cut(after:of:)`` has cut.
    package var cuts: Int { state.withLock { $0.cuts } }

    /// Everything that clients have sent, if it is recorded.
    package var recorded: Data { state.withLock { $0.record ?? Data() } }

    /// Cuts all connections; refuses new ones until ``allow()``, if told so.
    package func cut(refusing: Bool = false) {
        let sockets = state.withLock { state in
            state.isRefusing = refusing
            defer { state.sockets = [] }
            return state.sockets
        }
        for one in sockets { shutdown(one.number, Int32(SHUT_RDWR)) }
    }

    /// Lets this many bytes pass, and then cuts the connection once.
    package func cut(after count: Int, of direction: Direction) {
        state.withLock { $0.rest[direction] = count }
    }

    /// Stops passing anything on, without closing anything.
    package func stall() { state.withLock { $0.isStalled = true } }

    package func allow() {
        state.withLock {
            $0.isRefusing = false
            $0.isStalled = false
        }
    }

    /// Ends the proxy.
    package func stop() {
        cut(refusing: true)
        shutdown(listener.number, Int32(SHUT_RDWR))
    }

    // MARK: - Connections

    private func accept() {
        while true {
            let number = Foundation.accept(listener.number, nil, nil)
            guard number >= 0 else { return }
            let client = Descriptor(owning: number)
            let server = LoopbackListener.connect(to: target).map { Descriptor(owning: $0) }
            let isWanted = state.withLock { state in
                guard !state.isRefusing, let server else { return false }
                state.accepted += 1
                state.sockets += [client, server]
                return true
            }
            guard isWanted, let server else { continue }
            Thread.detachNewThread { [self] in pump(client, server, .requests) }
            Thread.detachNewThread { [self] in pump(server, client, .answers) }
        }
    }

    private func pump(_ source: Descriptor, _ target: Descriptor, _ direction: Direction) {
        defer {
            shutdown(source.number, Int32(SHUT_RDWR))
            shutdown(target.number, Int32(SHUT_RDWR))
            state.withLock { state in state.sockets.removeAll { $0 === source } }
        }
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(source.number, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            while state.withLock({ $0.isStalled }) { usleep(10_000) }
            let allowed = state.withLock { state in
                if direction == .requests { state.record?.append(contentsOf: buffer[..<count]) }
                return Self.allowed(count, direction, &state)
            }
            var sent = 0
            while sent < allowed {
                let more = buffer[sent..<allowed].withUnsafeBytes {
                    send(target.number, $0.baseAddress, $0.count, Self.noSignal)
                }
                guard more > 0 else { return }
                sent += more
            }
            if allowed < count { return }
        }
    }

    /// Returns how many of the next bytes pass; the connection ends if these are not all.
    private static func allowed(
        _ count: Int, _ direction: Direction, _ state: inout State
    ) -> Int {
        guard let rest = state.rest[direction] else { return count }
        if count <= rest {
            state.rest[direction] = rest - count
            return count
        }
        state.rest[direction] = nil
        state.cuts += 1
        return rest
    }

    #if canImport(Darwin)
        private static let noSignal: Int32 = 0
    #else
        private static let noSignal = Int32(MSG_NOSIGNAL)
    #endif
}
