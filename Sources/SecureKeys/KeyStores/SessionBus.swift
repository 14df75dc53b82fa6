#if os(Linux)
    internal import Foundation

    /// The session bus of this process: libsecret's connection, and the calls that libsecret lacks.
    struct SessionBus: ~Copyable {
        private static let secretService = "org.freedesktop.secrets"
        private static let writer = "org.securestorage.KeyStore.Writer"
        private static let patience: Duration = .seconds(10)
        /// All threads share the connection that owns the writer's name, so they exclude each other
        /// here.
        private static let threads = NSLock()

        private let library: LibSecret
        private let connection: LibSecret.Pointer

        /// Connects, unless this process is already connected.
        init(_ library: LibSecret) throws {
            self.library = library
            let sessionBus: CInt = 2  // G_BUS_TYPE_SESSION
            let connection = try library.checked("reach the session bus") {
                library.busGet(sessionBus, nil, $0)
            }
            guard let connection else {
                throw KeyStoreError.unavailable(reason: "no session bus is available")
            }
            self.connection = connection
            // By default, GIO ends a process that runs a main loop with SIGTERM when the bus
            // closes.
            library.busExitsOnClose(connection, 0)
        }

        deinit { library.objectRelease(connection) }

        /// Starts the Secret Service if it is not running; libsecret does not report its absence.
        func startSecretService() throws {
            // Query first: a running service that the bus could not start is valid, too.
            guard try call("NameHasOwner", Self.secretService, library.variantAsBoolean) == 0 else {
                return
            }
            _ = try call(
                "StartServiceByName", Self.secretService, flags: 0, library.variantAsUInt32)
        }

        /// Runs `body` as the only writer of secrets among the session's processes.
        ///
        /// The Secret Service has no call that creates an item only if none exists. A bus name has
        /// one owner, and the bus releases it when the owner's connection ends, so a dead process
        /// blocks no one.
        func asOnlyWriter<T>(_ body: () throws -> T) throws -> T {
            try Self.threads.withLock {
                let start = ContinuousClock.now
                let doNotQueue: UInt32 = 4  // DBUS_NAME_FLAG_DO_NOT_QUEUE
                let exists: UInt32 = 3  // DBUS_REQUEST_NAME_REPLY_EXISTS
                while try call(
                    "RequestName", Self.writer, flags: doNotQueue, library.variantAsUInt32)
                    == exists
                {
                    guard ContinuousClock.now - start < Self.patience else {
                        throw KeyStoreError.unavailable(
                            reason:
                                "another process is holding \(Self.writer) on the session bus"
                        )
                    }
                    usleep(2000)
                }
                // If the bus is gone, so is the name.
                defer { _ = try? call("ReleaseName", Self.writer, library.variantAsUInt32) }
                return try body()
            }
        }

        /// Calls a bus method about a name, and returns the single value of the reply.
        private func call<T>(
            _ method: String, _ name: String, flags: UInt32? = nil,
            _ value: (LibSecret.Pointer) -> T
        ) throws -> T {
            let reply = try library.checked("reach the Secret Service") { error in
                var arguments = [library.variantString(name)]
                if let flags { arguments.append(library.variantUInt32(flags)) }
                // Floating references: the tuple consumes those of its elements, and the call that
                // of the tuple.
                let tuple = library.variantTuple(arguments, arguments.count)
                return library.busCall(
                    connection, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                    "org.freedesktop.DBus", method, tuple, nil, 0, 25_000, nil, error)
            }
            guard let reply else {
                throw KeyStoreError.unavailable(reason: "the session bus did not reply")
            }
            defer { library.variantRelease(reply) }
            guard let answer = library.variantChild(reply, 0) else {
                throw KeyStoreError.unavailable(reason: "the session bus returned an empty reply")
            }
            defer { library.variantRelease(answer) }
            return value(answer)
        }
    }
#endif
