#if canImport(Security)

    public import Foundation
    internal import Security

    /// A key-encryption key that only this device's Secure Enclave can unwrap.
    ///
    /// The enclave holds a private key of the curve P-256 that never leaves it. The 32 bytes of the
    /// key-encryption key are encrypted to it (ECIES with AES-GCM, `SecKeyCreateEncryptedData`);
    /// the app keeps the result, for instance beside its wrapped keys. A copied disk or a backup
    /// does not unwrap it. With a presence, the system asks for the user at each unwrapping.
    ///
    /// Thread-safe. ``unwrap(_:)`` blocks its thread until the user has answered the prompt.
    public struct EnclaveKey: Sendable {
        private static let algorithm =
            SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM

        private let tag: Data
        private let name: String
        private let presence: KeychainKeyStore.Presence?

        /// Describes the enclave's key of a name; it is made by the first ``wrap()``.
        ///
        /// - Parameters:
        ///   - name: 1 to 255 bytes of UTF-8; also that of the key-encryption key.
        ///   - presence: Who has to be there when it unwraps; nil for no one. It cannot be changed
        ///     later.
        /// - Throws: `KeyStoreError.invalidName`
        public init(name: String, presence: KeychainKeyStore.Presence? = nil) throws {
            self.name = try SecretName(name).text
            tag = Data("SecureStorage \(name)".utf8)
            self.presence = presence
        }

        /// Makes a new key-encryption key, and the enclave's key if it does not exist yet.
        ///
        /// - Returns: The key, and the same key for ``unwrap(_:)``, to be stored anywhere.
        /// - Throws: `KeyStoreError`: `.unavailable` on a device without a Secure Enclave.
        public func wrap() throws -> (key: KeyEncryptionKey, wrapped: Data) {
            let secret = SecretBytes.random(count: 32)
            guard let publicKey = SecKeyCopyPublicKey(try privateKey() ?? makePrivateKey()) else {
                throw KeyStoreError.unavailable(reason: "the enclave's key has no public key")
            }
            var error: Unmanaged<CFError>?
            let wrapped = secret.withUnsafeBytes {
                SecKeyCreateEncryptedData(
                    publicKey, Self.algorithm, Data($0) as CFData, &error)
            }
            guard let wrapped else { throw Self.failure(error) }
            return (try KeyEncryptionKey(name: name, bytes: secret), wrapped as Data)
        }

        /// Unwraps a key.
        ///
        /// - Parameter wrapped: The result of ``wrap()``.
        /// - Returns: The key.
        /// - Throws: `KeyStoreError`: `.notFound` if this device does not have the enclave's key,
        ///   `.refused` if the user was not there, `.damaged`.
        public func unwrap(_ wrapped: Data) throws -> KeyEncryptionKey {
            guard let key = try privateKey() else { throw KeyStoreError.notFound(name: name) }
            var error: Unmanaged<CFError>?
            guard
                let bytes = SecKeyCreateDecryptedData(
                    key, Self.algorithm, wrapped as CFData, &error)
            else { throw Self.failure(error) }
            var secret = bytes as Data
            guard secret.count == 32 else {
                throw KeyStoreError.damaged(name: name, reason: "it is not a key")
            }
            return try KeyEncryptionKey(name: name, bytes: SecretBytes(erasing: &secret))
        }

        /// Removes the enclave's key: nothing that it has wrapped can be unwrapped again.
        ///
        /// - Returns: Whether it existed.
        /// - Throws: `KeyStoreError`.
        @discardableResult
        public func remove() throws -> Bool {
            let status = SecItemDelete(query as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else {
                throw KeyStoreError.unavailable(reason: "the keychain returned \(status)")
            }
            return status == errSecSuccess
        }

        private var query: [CFString: Any] {
            [
                kSecClass: kSecClassKey, kSecAttrApplicationTag: tag,
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
                kSecUseDataProtectionKeychain: true,
            ]
        }

        private func privateKey() throws -> SecKey? {
            var query = query
            query[kSecReturnRef] = true
            var result: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            guard status != errSecItemNotFound else { return nil }
            guard status == errSecSuccess, let result, CFGetTypeID(result) == SecKeyGetTypeID()
            else { throw KeyStoreError.unavailable(reason: "the keychain returned \(status)") }
            return unsafeDowncast(result, to: SecKey.self)
        }

        private func makePrivateKey() throws -> SecKey {
            let control = try Self.accessControl(
                kSecAttrAccessibleWhenUnlockedThisDeviceOnly,
                presence.map { [.privateKeyUsage, $0.flags] } ?? .privateKeyUsage)
            let attributes: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
                kSecAttrKeySizeInBits: 256,
                kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
                kSecUseDataProtectionKeychain: true,
                kSecPrivateKeyAttrs: [
                    kSecAttrIsPermanent: true, kSecAttrApplicationTag: tag,
                    kSecAttrAccessControl: control,
                ] as [CFString: Any],
            ]
            var error: Unmanaged<CFError>?
            guard let key = SecKeyCreateRandomKey(attributes as CFDictionary, &error) else {
                throw Self.failure(error)
            }
            return key
        }

        static func accessControl(
            _ accessibility: CFString, _ flags: SecAccessControlCreateFlags
        ) throws -> SecAccessControl {
            var error: Unmanaged<CFError>?
            guard let control = SecAccessControlCreateWithFlags(nil, accessibility, flags, &error)
            else { throw failure(error) }
            return control
        }

        private static func failure(_ error: Unmanaged<CFError>?) -> KeyStoreError {
            guard let error = error?.takeRetainedValue() else {
                return .unavailable(reason: "the system gave no reason")
            }
            let reason = "the system returned \(CFErrorGetCode(error))"
            return switch OSStatus(truncatingIfNeeded: CFErrorGetCode(error)) {
            case errSecUserCanceled, errSecAuthFailed:
                .refused(reason: "\(reason): the user was not recognised, or has cancelled")
            case errSecParam, errSecDecode:
                .damaged(name: "wrapped key", reason: reason)
            default: .unavailable(reason: reason)
            }
        }
    }
#endif
