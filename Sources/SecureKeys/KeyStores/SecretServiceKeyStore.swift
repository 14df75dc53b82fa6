#if os(Linux)

    internal import Foundation

    /// Secrets in the keyring of a Linux desktop: the [Secret
    /// Service](https://specifications.freedesktop.org/secret-service/latest/) of GNOME Keyring,
    /// KWallet or KeePassXC.
    ///
    /// Secrets are stored in the default collection as base64, under the schema
    /// `org.securestorage.Key` with the attributes `service` and `name`;
    /// `secret-tool search service …` lists them. Bytes of a name that are not printable ASCII, and
    /// the percent sign, are encoded as `%` and two hex digits.
    ///
    /// Any program of the same session can read an unlocked collection: the keyring protects
    /// against other users and against theft of the disk, not against the user's own programs.
    ///
    /// Calls never prompt the user. They throw ``KeyStoreError/unavailable(reason:)`` when the
    /// default collection is locked or missing, when no session bus exists, and when
    /// `libsecret-1.so.0`, which is loaded at run time, is not installed. They never fall back to
    /// another place.
    ///
    /// Thread-safe. A call waits for the service, usually for a few milliseconds, at most for its
    /// timeouts of 25 seconds.
    public struct SecretServiceKeyStore: KeyStore {
        private let service: SecretName

        /// Opens the secrets of one application.
        ///
        /// - Parameter service: The application's name, such as `org.example.notes`, 1 to 255 bytes
        ///   of UTF-8; secrets of other applications are not visible.
        /// - Throws: `KeyStoreError.invalidName`; only later calls detect whether a keyring exists.
        public init(service: String) throws {
            self.service = try SecretName(service)
        }

        /// Stores a secret and replaces any existing one of that name.
        ///
        /// - Parameters:
        ///   - secret: 1 to 65,536 bytes.
        ///   - name: 1 to 255 bytes of UTF-8.
        /// - Throws: `KeyStoreError`
        public func store(_ secret: SecretBytes, forName name: String) throws {
            try write(secret, name) { _ in }
        }

        /// Stores a secret under a name that has none yet; atomic across the session's processes.
        ///
        /// - Parameters:
        ///   - secret: 1 to 65,536 bytes.
        ///   - name: 1 to 255 bytes of UTF-8.
        /// - Throws: `KeyStoreError.alreadyExists` when the name holds anything.
        public func insert(_ secret: SecretBytes, forName name: String) throws {
            try write(secret, name) { exists in
                guard !exists else { throw KeyStoreError.alreadyExists(name: name) }
            }
        }

        /// Reads a secret.
        ///
        /// - Parameter name: 1 to 255 bytes of UTF-8.
        /// - Returns: The bytes as they were stored.
        /// - Throws: `KeyStoreError.notFound`; `.damaged` when another program has replaced the
        ///   item with something else; `.unavailable` when the item is locked.
        public func read(_ name: String) throws -> SecretBytes {
            let key = try SecretName(name)
            return try withService { library, schema, _ in
                try library.withTable(attributes(key)) { attributes in
                    let items = try search(library, schema, attributes)
                    guard items > 0 else { throw KeyStoreError.notFound(name: name) }
                    guard items == 1 else {
                        throw KeyStoreError.damaged(
                            name: name, reason: "the keyring has \(items) items with that name")
                    }
                    let text = try library.checked("read a secret") {
                        library.passwordLookup(schema, attributes, nil, $0)
                    }
                    // Removed since it was found.
                    guard let text else { throw KeyStoreError.notFound(name: name) }
                    // This function wipes the memory that it frees.
                    defer { library.passwordFree(text) }
                    let bytes = UnsafeRawBufferPointer(start: text, count: strlen(text))
                    guard let secret = Base64Text.bytes(bytes), secret.count > 0 else {
                        throw KeyStoreError.damaged(
                            name: name, reason: "the item in the keyring is not base64")
                    }
                    return secret
                }
            }
        }

        /// Removes a secret.
        ///
        /// - Parameter name: 1 to 255 bytes of UTF-8.
        /// - Returns: Whether a secret existed.
        /// - Throws: `KeyStoreError`
        @discardableResult
        public func remove(_ name: String) throws -> Bool {
            let key = try SecretName(name)
            return try withService { library, schema, bus in
                try library.withTable(attributes(key)) { attributes in
                    try bus.asOnlyWriter {
                        guard try search(library, schema, attributes) > 0 else { return false }
                        return try library.checked("remove a secret") {
                            library.passwordClear(schema, attributes, nil, $0)
                        } != 0
                    }
                }
            }
        }

        /// Returns the names that hold a secret of this service.
        ///
        /// - Returns: The names, sorted by their bytes.
        /// - Throws: `KeyStoreError`
        public func names() throws -> [String] {
            try withService { library, schema, _ in
                try library.withTable(["service": service.ascii]) { attributes in
                    var names: Set<SecretName> = []
                    _ = try search(library, schema, attributes) { item in
                        guard let attributes = library.itemAttributes(item) else { return }
                        defer { library.hashTableRelease(attributes) }
                        guard let value = library.hashTableLookup(attributes, "name") else {
                            return
                        }
                        let text = String(cString: value.assumingMemoryBound(to: CChar.self))
                        guard let name = SecretName(ascii: text) else {
                            throw KeyStoreError.damaged(
                                name: text,
                                reason: "the keyring's item has an unknown name format")
                        }
                        names.insert(name)
                    }
                    return names.sorted().map(\.text)
                }
            }
        }

        private func attributes(_ name: SecretName) -> KeyValuePairs<String, String?> {
            ["service": service.ascii, "name": name.ascii]
        }

        private func write(
            _ secret: SecretBytes, _ name: String, unless check: (_ exists: Bool) throws -> Void
        ) throws {
            let key = try SecretName(name)
            try SecretName.check(secret)
            let text = Base64Text.cString(secret)
            try withService { library, schema, bus in
                try library.withTable(attributes(key)) { attributes in
                    try bus.asOnlyWriter {
                        // Store into the item's current collection: libsecret replaces only within
                        // one collection, and the default may have changed since.
                        var collection = "default"
                        let count = try search(library, schema, attributes) {
                            collection = collectionPath(of: $0, library) ?? collection
                        }
                        try check(count > 0)
                        let isStored = try library.checked("store a secret") { error in
                            text.withUnsafeBytes { text in
                                text.withMemoryRebound(to: CChar.self) { text in
                                    text.baseAddress.map {
                                        library.passwordStore(
                                            schema, attributes, collection,
                                            "\(service.ascii): \(key.ascii)", $0, nil, error)
                                    }
                                }
                            }
                        }
                        guard isStored == 1 else {
                            throw KeyStoreError.unavailable(reason: "the keyring did not store it")
                        }
                    }
                }
            }
        }

        /// Returns the D-Bus path of an item's collection: the item's path without its last
        /// component.
        private func collectionPath(
            of item: LibSecret.Pointer, _ library: LibSecret
        ) -> String? {
            guard let path = library.proxyPath(item).map({ String(cString: $0) }),
                let end = path.lastIndex(of: "/"), end > path.startIndex
            else { return nil }
            return String(path[..<end])
        }

        /// Counts the items that have `attributes`; throws if one of them is locked.
        private func search(
            _ library: LibSecret, _ schema: LibSecret.Pointer, _ attributes: LibSecret.Pointer,
            forEach body: (_ item: LibSecret.Pointer) throws -> Void = { _ in }
        ) throws -> Int {
            let all: CInt = 2  // SECRET_SEARCH_ALL
            let list = try library.checked("search the keyring") {
                library.serviceSearch(nil, schema, attributes, all, nil, $0)
            }
            guard let list else { return 0 }
            let items = library.elements(of: list)
            defer {
                items.forEach(library.objectRelease)
                library.listFree(list)
            }
            for item in items {
                guard library.itemIsLocked(item) == 0 else {
                    throw KeyStoreError.unavailable(reason: "the secret's collection is locked")
                }
                try body(item)
            }
            return items.count
        }

        /// Calls `body` when the service answers and its default collection is unlocked.
        ///
        /// A locked collection need not report its contents, so without this check it could appear
        /// empty.
        private func withService<T>(
            _ body: (LibSecret, _ schema: LibSecret.Pointer, borrowing SessionBus) throws -> T
        ) throws -> T {
            guard let library = LibSecret.shared, let schema = LibSecret.schema else {
                throw KeyStoreError.unavailable(
                    reason: "libsecret-1.so.0 is not installed (libsecret-1-0 on Debian)")
            }
            // Before libsecret connects, so that the process survives the end of its bus.
            let bus = try SessionBus(library)
            try bus.startSecretService()
            let service = try library.checked("reach the Secret Service") {
                library.serviceGet(0, nil, $0)
            }
            guard let service else {
                throw KeyStoreError.unavailable(reason: "no Secret Service is available")
            }
            defer { library.objectRelease(service) }
            // The function is documented to find the service itself, but then it fails silently.
            let collection = try library.checked("reach the default collection") {
                library.collectionForAlias(service, "default", 0, nil, $0)
            }
            guard let collection else {
                throw KeyStoreError.unavailable(
                    reason:
                        "the Secret Service has no default collection; create one, or log in so that "
                        + "it is unlocked")
            }
            defer { library.objectRelease(collection) }
            guard library.collectionIsLocked(collection) == 0 else {
                throw KeyStoreError.unavailable(
                    reason: "the default collection of the Secret Service is locked; unlock it")
            }
            return try body(library, schema, bus)
        }
    }
#endif
