#if PostgreSQL
    import Foundation
    import SecureStoragePlatform

    /// Passes the bytes of TCP connections on to a server, until it is told to cut them.
    final class CuttingProxy: Sendable {
        private struct State {
            var sockets: [Descriptor] = []
            /// How many bytes of answers may still pass.
            var rest = Int.max
            var isRefusing = false
            var isStalled = false
            var accepted = 0
        }

        let port: UInt16
        private let listener: Descriptor
        private let target: UInt16
        private let state = Locked(State())

        /// Listens on a free port of the loopback.
        init(to target: UInt16) throws {
            self.target = target
            let listener = Descriptor(owning: socket(AF_INET, Self.stream, 0))
            var address = Self.loopback(0)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isListening = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(listener.number, $0, length) == 0 && listen(listener.number, 20) == 0
                        && getsockname(listener.number, $0, &length) == 0
                }
            }
            self.listener = listener
            port = UInt16(bigEndian: address.sin_port)
            guard isListening else { throw SystemError("listen") }
            Thread.detachNewThread { [self] in accept() }
        }

        /// How many connections there were.
        var accepted: Int { state.withLock { $0.accepted } }

        /// Cuts all connections; refuses new ones until ``allow()``, if told so.
        func cut(refusing: Bool = false) {
            let sockets = state.withLock { state in
                state.isRefusing = refusing
                defer { state.sockets = [] }
                return state.sockets
            }
            for one in sockets { shutdown(one.number, Int32(SHUT_RDWR)) }
        }

        /// Lets this many bytes of answers pass, and then cuts the connection once.
        func cut(afterAnswers count: Int) { state.withLock { $0.rest = count } }

        /// Passes nothing on any more, without closing anything.
        func stall() { state.withLock { $0.isStalled = true } }

        func allow() {
            state.withLock {
                $0.isRefusing = false
                $0.isStalled = false
            }
        }

        /// Ends the proxy.
        func stop() {
            cut(refusing: true)
            shutdown(listener.number, Int32(SHUT_RDWR))
        }

        #if canImport(Darwin)
            private static let stream = SOCK_STREAM
        #else
            private static let stream = Int32(SOCK_STREAM.rawValue)
        #endif

        private static func loopback(_ port: UInt16) -> sockaddr_in {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            return address
        }

        private func accept() {
            while true {
                let number = Foundation.accept(listener.number, nil, nil)
                guard number >= 0 else { return }
                let client = Descriptor(owning: number)
                let server = Descriptor(owning: socket(AF_INET, Self.stream, 0))
                var address = Self.loopback(target)
                let isConnected = withUnsafePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        connect(server.number, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                    }
                }
                let isWanted = state.withLock { state in
                    if state.isRefusing || !isConnected { return false }
                    state.accepted += 1
                    state.sockets += [client, server]
                    return true
                }
                guard isWanted else { continue }
                Thread.detachNewThread { [self] in pump(client, server, isAnswer: false) }
                Thread.detachNewThread { [self] in pump(server, client, isAnswer: true) }
            }
        }

        private func pump(_ source: Descriptor, _ target: Descriptor, isAnswer: Bool) {
            defer {
                shutdown(source.number, Int32(SHUT_RDWR))
                shutdown(target.number, Int32(SHUT_RDWR))
            }
            var buffer = [UInt8](repeating: 0, count: 65536)
            while true {
                let count = recv(source.number, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                while state.withLock({ $0.isStalled }) { usleep(10_000) }
                let allowed = state.withLock { state in
                    guard isAnswer, state.rest != .max else { return count }
                    let allowed = min(count, state.rest)
                    state.rest = allowed < count ? .max : state.rest - allowed
                    return allowed
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

        #if canImport(Darwin)
            private static let noSignal: Int32 = 0
        #else
            private static let noSignal = Int32(MSG_NOSIGNAL)
        #endif
    }
#endif
