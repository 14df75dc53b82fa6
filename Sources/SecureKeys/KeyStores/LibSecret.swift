#if os(Linux)
    internal import Foundation

    /// The functions of libsecret, GLib and GIO that ``SecretServiceKeyStore`` calls, loaded at run
    /// time.
    ///
    /// Only functions with a fixed number of arguments: Swift cannot call variadic ones through a
    /// pointer.
    struct LibSecret: @unchecked Sendable {
        // @unchecked: function addresses, which never change.
        typealias Pointer = UnsafeMutableRawPointer
        typealias Text = UnsafePointer<CChar>
        // GError **
        typealias ErrorOut = UnsafeMutablePointer<Pointer?>

        // libsecret
        let schemaNew: @convention(c) (Text, CInt, Pointer) -> Pointer?
        let passwordStore:
            @convention(c) (Pointer, Pointer, Text, Text, Text, Pointer?, ErrorOut) -> CInt
        let passwordLookup:
            @convention(c) (Pointer, Pointer, Pointer?, ErrorOut) -> UnsafeMutablePointer<CChar>?
        let passwordClear: @convention(c) (Pointer, Pointer, Pointer?, ErrorOut) -> CInt
        let passwordFree: @convention(c) (UnsafeMutablePointer<CChar>) -> Void
        let serviceGet: @convention(c) (CInt, Pointer?, ErrorOut) -> Pointer?
        let serviceSearch:
            @convention(c) (Pointer?, Pointer, Pointer, CInt, Pointer?, ErrorOut) -> Pointer?
        let itemAttributes: @convention(c) (Pointer) -> Pointer?
        let itemIsLocked: @convention(c) (Pointer) -> CInt
        let collectionForAlias:
            @convention(c) (Pointer?, Text, CInt, Pointer?, ErrorOut) -> Pointer?
        let collectionIsLocked: @convention(c) (Pointer) -> CInt

        // GLib
        let hashTableNew: @convention(c) (Pointer, Pointer, Pointer?, Pointer?) -> Pointer?
        let hashTableInsert: @convention(c) (Pointer, Pointer?, Pointer?) -> CInt
        let hashTableLookup: @convention(c) (Pointer, UnsafeRawPointer) -> Pointer?
        let hashTableRelease: @convention(c) (Pointer) -> Void
        let stringHash: Pointer
        let stringEqual: Pointer
        let free: Pointer
        let stringCopy: @convention(c) (Text) -> Pointer?
        let errorFree: @convention(c) (Pointer) -> Void
        let quarkText: @convention(c) (UInt32) -> Text?
        let listFree: @convention(c) (Pointer) -> Void
        let variantString: @convention(c) (Text) -> Pointer?
        let variantUInt32: @convention(c) (UInt32) -> Pointer?
        let variantTuple: @convention(c) (UnsafePointer<Pointer?>, Int) -> Pointer?
        let variantChild: @convention(c) (Pointer, Int) -> Pointer?
        let variantAsBoolean: @convention(c) (Pointer) -> CInt
        let variantAsUInt32: @convention(c) (Pointer) -> UInt32
        let variantRelease: @convention(c) (Pointer) -> Void
        let objectRelease: @convention(c) (Pointer) -> Void

        // GIO
        let busGet: @convention(c) (CInt, Pointer?, ErrorOut) -> Pointer?
        let busExitsOnClose: @convention(c) (Pointer, CInt) -> Void
        let proxyPath: @convention(c) (Pointer) -> Text?
        let busCall:
            @convention(c) (
                Pointer, Text, Text, Text, Text, Pointer?, Pointer?, CInt, CInt, Pointer?, ErrorOut
            ) -> Pointer?

        /// The library in this process, or nil where it is not installed or too old.
        static let shared = LibSecret()

        private init?() {
            // Never closed: GLib registers types and threads that outlive its users.
            guard let library = dlopen("libsecret-1.so.0", RTLD_NOW | RTLD_LOCAL) else {
                return nil
            }
            func find<T>(_ name: String, as _: T.Type = T.self) throws(Missing) -> T {
                // Also searches the library's dependencies: GLib, GObject and GIO.
                guard let symbol = dlsym(library, name) else { throw Missing() }
                return unsafeBitCast(symbol, to: T.self)
            }
            do throws(Missing) {
                schemaNew = try find("secret_schema_newv")
                passwordStore = try find("secret_password_storev_sync")
                passwordLookup = try find("secret_password_lookupv_nonpageable_sync")
                passwordClear = try find("secret_password_clearv_sync")
                passwordFree = try find("secret_password_free")
                serviceGet = try find("secret_service_get_sync")
                serviceSearch = try find("secret_service_search_sync")
                itemAttributes = try find("secret_item_get_attributes")
                itemIsLocked = try find("secret_item_get_locked")
                collectionForAlias = try find("secret_collection_for_alias_sync")
                collectionIsLocked = try find("secret_collection_get_locked")
                hashTableNew = try find("g_hash_table_new_full")
                hashTableInsert = try find("g_hash_table_insert")
                hashTableLookup = try find("g_hash_table_lookup")
                hashTableRelease = try find("g_hash_table_unref")
                stringHash = try find("g_str_hash")
                stringEqual = try find("g_str_equal")
                free = try find("g_free")
                stringCopy = try find("g_strdup")
                errorFree = try find("g_error_free")
                quarkText = try find("g_quark_to_string")
                listFree = try find("g_list_free")
                variantString = try find("g_variant_new_string")
                variantUInt32 = try find("g_variant_new_uint32")
                variantTuple = try find("g_variant_new_tuple")
                variantChild = try find("g_variant_get_child_value")
                variantAsBoolean = try find("g_variant_get_boolean")
                variantAsUInt32 = try find("g_variant_get_uint32")
                variantRelease = try find("g_variant_unref")
                objectRelease = try find("g_object_unref")
                busGet = try find("g_bus_get_sync")
                busExitsOnClose = try find("g_dbus_connection_set_exit_on_close")
                proxyPath = try find("g_dbus_proxy_get_object_path")
                busCall = try find("g_dbus_connection_call_sync")
            } catch {
                return nil
            }
        }

        private struct Missing: Error {}

        /// The schema of this store's items: `org.securestorage.Key` with two text attributes to
        /// search by.
        // nonisolated(unsafe): never changes and is never freed.
        nonisolated(unsafe) static let schema: Pointer? = {
            guard let shared else { return nil }
            // The table's values are SECRET_SCHEMA_ATTRIBUTE_STRING, which is 0; the flags are
            // SECRET_SCHEMA_NONE.
            return try? shared.withTable(["service": nil, "name": nil]) {
                shared.schemaNew("org.securestorage.Key", 0, $0)
            }
        }()
    }

    extension LibSecret {
        /// Calls a function that reports failure through a `GError`.
        ///
        /// - Parameters:
        ///   - action: The action for the error message.
        ///   - body: The call, retried when an item disappears during it: libsecret first queries a
        ///     list, and fails as a whole when an item of it is removed before its turn.
        /// - Returns: The result of `body` when it reports no error.
        /// - Throws: The `KeyStoreError` that corresponds to the error.
        func checked<T>(_ action: String, _ body: (ErrorOut) -> T) throws -> T {
            var tries = 1
            while true {
                var error: Pointer?
                let result = body(&error)
                guard let error else { return result }
                defer { errorFree(error) }
                // struct _GError { GQuark domain; gint code; gchar *message; }
                let domain = quarkText(error.load(as: UInt32.self)).map { String(cString: $0) }
                let code = error.load(fromByteOffset: 4, as: Int32.self)
                let message = error.load(fromByteOffset: 8, as: Text?.self)
                    .map { String(cString: $0) }
                let reason =
                    "cannot \(action): \(message ?? "no message") (\(domain ?? "no domain") \(code))"
                switch (domain, code) {
                // G_DBUS_ERROR_UNKNOWN_METHOD, G_DBUS_ERROR_UNKNOWN_OBJECT,
                // SECRET_ERROR_NO_SUCH_OBJECT
                case ("g-dbus-error-quark", 19), ("g-dbus-error-quark", 41), ("secret-error", 3):
                    guard tries < 20 else { throw KeyStoreError.unavailable(reason: reason) }
                    tries += 1
                // G_DBUS_ERROR_ACCESS_DENIED, G_DBUS_ERROR_AUTH_FAILED,
                // G_IO_ERROR_PERMISSION_DENIED
                case ("g-dbus-error-quark", 9), ("g-dbus-error-quark", 10),
                    ("g-io-error-quark", 14):
                    throw KeyStoreError.refused(reason: reason)
                default: throw KeyStoreError.unavailable(reason: reason)
                }
            }
        }

        /// Passes a `GHashTable` of strings; a nil value becomes a null pointer.
        func withTable<T>(
            _ contents: KeyValuePairs<String, String?>, _ body: (Pointer) throws -> T
        ) throws -> T {
            guard let table = hashTableNew(stringHash, stringEqual, free, free) else {
                throw KeyStoreError.unavailable(reason: "GLib could not create a hash table")
            }
            defer { hashTableRelease(table) }
            for (key, value) in contents {
                _ = hashTableInsert(table, stringCopy(key), value.flatMap { stringCopy($0) })
            }
            return try body(table)
        }

        /// Returns the elements of a `GList`.
        func elements(of list: Pointer?) -> [Pointer] {
            var elements: [Pointer] = []
            var node = list
            // struct _GList { gpointer data; GList *next; GList *prev; }
            while let current = node {
                if let data = current.load(as: Pointer?.self) { elements.append(data) }
                node = current.load(
                    fromByteOffset: MemoryLayout<Pointer?>.stride, as: Pointer?.self)
            }
            return elements
        }
    }

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
