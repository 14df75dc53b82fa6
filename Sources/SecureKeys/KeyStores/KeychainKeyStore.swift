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
    /// Thread-safe. Calls wait for the keychain's daemon and never prompt the user.
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

            fileprivate var value: CFString {
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

        private let service: SecretName
        private let accessGroup: String?
        private let accessibility: Accessibility

        /// Opens the secrets of one service.
        ///
        /// - Parameters:
        ///   - service: A name such as the bundle identifier, 1 to 255 bytes of UTF-8.
        ///   - accessGroup: The keychain access group that shares the secrets, with its team
        ///     prefix; nil for the program's own group.
        ///   - accessibility: The accessibility of items stored from now on.
        /// - Throws: `KeyStoreError.invalidName`
        public init(
            service: String, accessGroup: String? = nil,
            accessibility: Accessibility = .afterFirstUnlockThisDeviceOnly
        ) throws {
            self.service = try SecretName(service)
            self.accessGroup = accessGroup
            self.accessibility = accessibility
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
                let added = add(secret, key)
                guard added == errSecDuplicateItem else { return try check(added, name) }
                let updated = withData(secret) { data in
                    let changes: [CFString: Any] = [
                        kSecValueData: data, kSecAttrAccessible: accessibility.value,
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

        private func add(_ secret: SecretBytes, _ name: SecretName) -> OSStatus {
            withData(secret) { data in
                var query = query(name)
                query[kSecValueData] = data
                query[kSecAttrAccessible] = accessibility.value
                return SecItemAdd(query as CFDictionary, nil)
            }
        }

        /// Lends the bytes in cleared memory directly, without a copy.
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
            case errSecAuthFailed:
                throw KeyStoreError.refused(reason: "\(reason): access was denied")
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
