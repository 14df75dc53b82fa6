#if canImport(Security)

    internal import Foundation
    internal import Security

    /// Secrets in the keychain of an Apple platform, as generic passwords of one service.
    ///
    /// They are never synchronised to other devices. On macOS the data-protection keychain is used,
    /// which requires a signed program with a keychain access group.
    ///
    /// The account of an item is the secret's name; bytes that are not printable ASCII, and the
    /// percent sign, are encoded as `%` and two hex digits.
    ///
    /// Thread-safe. Calls wait for the keychain's daemon. Only reading prompts the user, and only
    /// secrets that were stored with a ``Presence``.
    public struct KeychainKeyStore: KeyStore {
        /// The times when an item is readable; at other times calls throw
        /// `KeyStoreError.unavailable`.
        public enum Accessibility: Sendable, CaseIterable {
            /// From the first unlock after a restart, including in the background; not restored
            /// from another device's backup.
            case afterFirstUnlockThisDeviceOnly
            /// While the device is unlocked; not restored from another device's backup.
            case whenUnlockedThisDeviceOnly
            /// While the device is unlocked; removed with the device's passcode, and in no backup.
            case whenPasscodeSetThisDeviceOnly
            /// From the first unlock after a restart; moves to a new device with an encrypted
            /// backup.
            case afterFirstUnlock
            /// While the device is unlocked; moves to a new device with an encrypted backup.
            case whenUnlocked

            var value: CFString {
                switch self {
                case .afterFirstUnlockThisDeviceOnly:
                    kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
                case .whenUnlockedThisDeviceOnly: kSecAttrAccessibleWhenUnlockedThisDeviceOnly
                case .whenPasscodeSetThisDeviceOnly: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
                case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlock
                case .whenUnlocked: kSecAttrAccessibleWhenUnlocked
                }
            }
        }

        /// Who has to be there when a secret is read (`SecAccessControl`).
        public enum Presence: Sendable, CaseIterable {
            /// The user, shown by biometry or by the device's passcode.
            case user
            /// A finger or a face that is enrolled at the time of reading.
            case biometryAny
            /// A finger or a face of those that were enrolled when the secret was stored: it is
            /// lost when one is added or removed.
            case biometryCurrentSet
            /// The device's passcode.
            case devicePasscode

            var flags: SecAccessControlCreateFlags {
                switch self {
                case .user: .userPresence
                case .biometryAny: .biometryAny
                case .biometryCurrentSet: .biometryCurrentSet
                case .devicePasscode: .devicePasscode
                }
            }
        }

        private let service: SecretName
        private let accessGroup: String?
        private let accessibility: Accessibility
        private let presence: Presence?

        /// Opens the secrets of one service.
        ///
        /// - Parameters:
        ///   - service: A name such as the bundle identifier, 1 to 255 bytes of UTF-8.
        ///   - accessGroup: The keychain access group that shares the secrets, with its team
        ///     prefix; nil for the program's own group.
        ///   - accessibility: The accessibility of items stored from now on.
        ///   - presence: Who has to be there when an item that is stored from now on is read; nil
        ///     for no one. Reading then shows the system's prompt, and blocks its thread until the
        ///     user has answered it: not on the main thread.
        /// - Throws: `KeyStoreError.invalidName`
        public init(
            service: String, accessGroup: String? = nil,
            accessibility: Accessibility = .afterFirstUnlockThisDeviceOnly,
            presence: Presence? = nil
        ) throws {
            self.service = try SecretName(service)
            self.accessGroup = accessGroup
            self.accessibility = accessibility
            self.presence = presence
        }

        /// Stores a secret and replaces any existing one of that name.
        ///
        /// - Parameters:
        ///   - secret: 1 to 65,536 bytes.
        ///   - name: 1 to 255 bytes of UTF-8.
        /// - Throws: `KeyStoreError`
        ///
        /// The corresponding functions are `SecItemAdd` and, if the name has a secret,
        /// `SecItemUpdate`.
        public func store(_ secret: SecretBytes, forName name: String) throws {
            let key = try SecretName(name)
            try SecretName.check(secret)
            // Three attempts: another process may add the item before the add, and remove it before
            // the update.
            for _ in 1...3 {
                let added = try add(secret, key)
                guard added == errSecDuplicateItem else { return try check(added, name) }
                let protection = try protection()
                let updated = withData(secret) { data in
                    let changes: [CFString: Any] = [
                        kSecValueData: data, protection.attribute: protection.value,
                    ]
                    return SecItemUpdate(query(key) as CFDictionary, changes as CFDictionary)
                }
                guard updated == errSecItemNotFound else { return try check(updated, name) }
            }
            throw KeyStoreError.unavailable(reason: "another process keeps storing and removing it")
        }

        /// Stores a secret under a name that has none yet.
        ///
        /// - Parameters:
        ///   - secret: 1 to 65,536 bytes.
        ///   - name: 1 to 255 bytes of UTF-8.
        /// - Throws: `KeyStoreError.alreadyExists`
        public func insert(_ secret: SecretBytes, forName name: String) throws {
            let key = try SecretName(name)
            try SecretName.check(secret)
            try check(add(secret, key), name)
        }

        /// Reads a secret.
        ///
        /// - Parameter name: 1 to 255 bytes of UTF-8.
        /// - Returns: The bytes as they were stored.
        /// - Throws: `KeyStoreError.notFound`; `.unavailable` while the device is locked.
        public func read(_ name: String) throws -> SecretBytes {
            var query = query(try SecretName(name))
            query[kSecReturnData] = true
            query[kSecMatchLimit] = kSecMatchLimitOne
            var result: CFTypeRef?
            try check(SecItemCopyMatching(query as CFDictionary, &result), name)
            guard let result, CFGetTypeID(result) == CFDataGetTypeID() else {
                throw KeyStoreError.damaged(name: name, reason: "the keychain returned no bytes")
            }
            let data = unsafeDowncast(result, to: CFData.self)
            let bytes = UnsafeRawBufferPointer(
                start: CFDataGetBytePtr(data), count: CFDataGetLength(data))
            let secret = SecretBytes(copying: bytes)
            // The keychain's copy belongs to this process alone and would remain in freed memory.
            if let base = bytes.baseAddress {
                _ = memset_s(UnsafeMutableRawPointer(mutating: base), bytes.count, 0, bytes.count)
            }
            guard secret.count > 0 else {
                throw KeyStoreError.damaged(name: name, reason: "the keychain's item is empty")
            }
            return secret
        }

        /// Removes a secret.
        ///
        /// - Parameter name: 1 to 255 bytes of UTF-8.
        /// - Returns: Whether a secret existed.
        /// - Throws: `KeyStoreError`
        @discardableResult
        public func remove(_ name: String) throws -> Bool {
            let status = SecItemDelete(query(try SecretName(name)) as CFDictionary)
            guard status != errSecItemNotFound else { return false }
            try check(status, name)
            return true
        }

        /// Returns the names that hold a secret of this service.
        ///
        /// - Returns: The names, sorted by their bytes.
        /// - Throws: `KeyStoreError`
        public func names() throws -> [String] {
            var query = query(nil)
            query[kSecReturnAttributes] = true
            query[kSecMatchLimit] = kSecMatchLimitAll
            var result: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            guard status != errSecItemNotFound else { return [] }
            try check(status, service.text)
            let items = result as? [[String: Any]] ?? []
            return try items.map { item in
                let account = item[kSecAttrAccount as String] as? String ?? ""
                guard let name = SecretName(ascii: account) else {
                    throw KeyStoreError.damaged(
                        name: account, reason: "the keychain's item has an unknown name format"
                    )
                }
                return name
            }.sorted().map(\.text)
        }

        private func query(_ name: SecretName?) -> [CFString: Any] {
            var query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword,
                kSecAttrService: service.ascii,
                kSecAttrSynchronizable: false,
                kSecUseDataProtectionKeychain: true,
            ]
            if let name { query[kSecAttrAccount] = name.ascii }
            if let accessGroup { query[kSecAttrAccessGroup] = accessGroup }
            return query
        }

        private func add(_ secret: SecretBytes, _ name: SecretName) throws -> OSStatus {
            let protection = try protection()
            return withData(secret) { data in
                var query = query(name)
                query[kSecValueData] = data
                query[protection.attribute] = protection.value
                return SecItemAdd(query as CFDictionary, nil)
            }
        }

        /// The attribute of an item that says when it can be read, and with whom.
        private func protection() throws -> (attribute: CFString, value: Any) {
            guard let presence else { return (kSecAttrAccessible, accessibility.value) }
            return (
                kSecAttrAccessControl,
                try EnclaveKey.accessControl(accessibility.value, presence.flags)
            )
        }

        /// Passes the bytes in cleared memory directly, without a copy.
        private func withData(_ secret: SecretBytes, _ body: (CFData) -> OSStatus) -> OSStatus {
            secret.withUnsafeBytes { bytes in
                let data = CFDataCreateWithBytesNoCopy(
                    nil, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, kCFAllocatorNull
                )
                return data.map(body) ?? errSecAllocate
            }
        }

        private func check(_ status: OSStatus, _ name: String) throws {
            let reason = "the keychain returned \(status)"
            switch status {
            case errSecSuccess: return
            case errSecItemNotFound: throw KeyStoreError.notFound(name: name)
            case errSecDuplicateItem: throw KeyStoreError.alreadyExists(name: name)
            case errSecDecode: throw KeyStoreError.damaged(name: name, reason: reason)
            case errSecInteractionNotAllowed:
                throw KeyStoreError.unavailable(
                    reason:
                        "\(reason): the device is locked, or has not been unlocked since it started"
                )
            case errSecAuthFailed, errSecUserCanceled:
                throw KeyStoreError.refused(
                    reason: "\(reason): access was denied, or the user has cancelled")
            case errSecMissingEntitlement:
                throw KeyStoreError.refused(
                    reason: "\(reason): sign the program with the access group's entitlement")
            case errSecParam:
                throw KeyStoreError.refused(reason: "\(reason): a parameter is not supported here")
            default: throw KeyStoreError.unavailable(reason: reason)
            }
        }
    }
#endif
