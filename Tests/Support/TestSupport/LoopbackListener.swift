internal import Foundation

/// A socket of this machine's loopback, on a free port, for servers of tests.
package enum LoopbackListener {
    /// Opens a listening socket.
    ///
    /// - Parameter backlog: The most connections that wait to be accepted.
    /// - Returns: The socket, which the caller closes, and its port.
    /// - Throws: `CocoaError` if no port is free.
    package static func open(backlog: Int32) throws -> (socket: Int32, port: UInt16) {
        let listener = socket(AF_INET, stream, 0)
        var address = Self.address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, backlog) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else {
            close(listener)
            throw CocoaError(.fileReadUnknown)
        }
        return (listener, UInt16(bigEndian: address.sin_port))
    }

    /// Connects to a server of this machine.
    ///
    /// - Returns: The socket, which the caller closes; nil if nobody listens.
    package static func connect(to port: UInt16) -> Int32? {
        let socket = Foundation.socket(AF_INET, stream, 0)
        var address = Self.address(port)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isConnected { return socket }
        close(socket)
        return nil
    }

    // Glibc has the kinds of sockets as an enumeration.
    #if os(Linux)
        private static let stream = Int32(SOCK_STREAM.rawValue)
    #else
        private static let stream = SOCK_STREAM
    #endif

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
