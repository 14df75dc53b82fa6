#if os(Linux)
    internal import Foundation

    /// The session bus of this process: libsecret's connection, and what libsecret does not do with
    /// it.
    struct SessionBus: ~Copyable {
        private static let secretService = "org.freedesktop.secrets"
        private static let writer = "org.securestorage.KeyStore.Writer"
        private static let patience: Duration = .seconds(10)
        /// The connection, which owns the writer's name, is the process's: threads exclude each
        /// other here.
        private static let threads = NSLock()

        private let library: LibSecret
        private let connection: LibSecret.Pointer

        /// Connects, when nothing in this process has before.
        init(_ library: LibSecret) throws {
            self.library = library
            let sessionBus: CInt = 2  // G_BUS_TYPE_SESSION
            let connection = try library.checked("reach the session bus") {
                library.busGet(sessionBus, nil, $0)
            }
            guard let connection else {
                throw KeyStoreError.unavailable(reason: "there is no session bus")
            }
            self.connection = connection
            // GIO's default ends a process that runs a main loop with SIGTERM when the bus goes
            // away.
            library.busExitsOnClose(connection, 0)
        }

        deinit { library.objectRelease(connection) }

        /// Starts the Secret Service where it does not run yet; libsecret does not say that there
        /// is none.
        func startSecretService() throws {
            // Asked first: one that runs and that the bus could not start is fine, too.
            guard try call("NameHasOwner", Self.secretService, library.variantAsBoolean) == 0 else {
                return
            }
            _ = try call(
                "StartServiceByName", Self.secretService, flags: 0, library.variantAsUInt32)
        }

        /// Runs `body` as the one writer of secrets among all processes of the session.
        ///
        /// The Secret Service has no call that creates an item only where there is none. A name on
        /// the bus has one owner; the bus takes it back when the owner's connection ends, so a
        /// process that dies holds up nobody.
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
                                "another process has been holding \(Self.writer) on the session bus"
                        )
                    }
                    usleep(2000)
                }
                // When the bus is gone, so is the name.
                defer { _ = try? call("ReleaseName", Self.writer, library.variantAsUInt32) }
                return try body()
            }
        }

        /// A call to the bus itself about a name, which answers with one value.
        private func call<T>(
            _ method: String, _ name: String, flags: UInt32? = nil,
            _ value: (LibSecret.Pointer) -> T
        ) throws -> T {
            let reply = try library.checked("reach the Secret Service") { error in
                var arguments = [library.variantString(name)]
                if let flags { arguments.append(library.variantUInt32(flags)) }
                // Floating references: the tuple takes those of its elements, and the call that of
                // the tuple.
                let tuple = library.variantTuple(arguments, arguments.count)
                return library.busCall(
                    connection, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                    "org.freedesktop.DBus", method, tuple, nil, 0, 25_000, nil, error)
            }
            guard let reply else {
                throw KeyStoreError.unavailable(reason: "the session bus gave no answer")
            }
            defer { library.variantRelease(reply) }
            guard let answer = library.variantChild(reply, 0) else {
                throw KeyStoreError.unavailable(reason: "the session bus gave an empty answer")
            }
            defer { library.variantRelease(answer) }
            return value(answer)
        }
    }
#endif
