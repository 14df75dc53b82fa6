#if os(Linux)
    internal import Foundation

    /// One writer of secrets at a time among all processes of a session bus.
    ///
    /// The Secret Service has no call that creates an item only where there is none. A name on the bus has
    /// one owner; the bus takes it back when the owner's connection ends, so a process that dies holds up
    /// nobody.
    struct SessionBusLock {
        private static let name = "org.securestorage.KeyStore.Writer"
        private static let patience: Duration = .seconds(10)
        /// The connection, which owns the name, is the process's: threads exclude each other here.
        private static let threads = NSLock()

        let library: LibSecret

        /// The connection that libsecret uses, too; the caller releases it.
        static func connection(_ library: LibSecret) throws -> LibSecret.Pointer {
            let sessionBus: CInt = 2  // G_BUS_TYPE_SESSION
            let connection = try library.checked("reach the session bus") {
                library.busGet(sessionBus, nil, $0)
            }
            guard let connection else {
                throw KeyStoreError.unavailable(reason: "there is no session bus")
            }
            // GIO's default ends the process with SIGTERM when the bus goes away.
            library.busExitsOnClose(connection, 0)
            return connection
        }

        func withLock<T>(_ body: () throws -> T) throws -> T {
            try Self.threads.withLock {
                let connection = try Self.connection(library)
                defer { library.objectRelease(connection) }
                let start = ContinuousClock.now
                let doNotQueue: UInt32 = 4  // DBUS_NAME_FLAG_DO_NOT_QUEUE
                let exists: UInt32 = 3  // DBUS_REQUEST_NAME_REPLY_EXISTS
                while try call(connection, "RequestName", flags: doNotQueue) == exists {
                    guard ContinuousClock.now - start < Self.patience else {
                        throw KeyStoreError.unavailable(
                            reason:
                                "another process has been holding \(Self.name) on the session bus")
                    }
                    usleep(2000)
                }
                // When the bus is gone, so is the name.
                defer { _ = try? call(connection, "ReleaseName", flags: nil) }
                return try body()
            }
        }

        /// A call to the bus itself about the name; both answer with a number.
        private func call(
            _ connection: LibSecret.Pointer, _ method: String, flags: UInt32?
        ) throws -> UInt32 {
            var arguments = [library.variantString(Self.name)]
            if let flags { arguments.append(library.variantUInt32(flags)) }
            // Floating references: the tuple takes those of the arguments, and the call that of the tuple.
            let tuple = library.variantTuple(arguments, arguments.count)
            let reply = try library.checked("lock the Secret Service") {
                library.busCall(
                    connection, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                    "org.freedesktop.DBus", method, tuple, nil, 0, 10_000, nil, $0)
            }
            guard let reply else {
                throw KeyStoreError.unavailable(reason: "the session bus gave no answer")
            }
            defer { library.variantRelease(reply) }
            guard let number = library.variantChild(reply, 0) else {
                throw KeyStoreError.unavailable(reason: "the session bus gave an empty answer")
            }
            defer { library.variantRelease(number) }
            return library.variantAsUInt32(number)
        }
    }
#endif
