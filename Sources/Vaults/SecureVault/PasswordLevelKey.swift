internal import Foundation
internal import SecureStorage

/// The key that passwords unwrap and from which those of L2 and L3 are derived, as the key store
/// holds it.
struct PasswordLevelKey {
    let crypto: any SecureStorageCryptoProvider
    let keystore: any SecureStorageKeyStoreProvider

    /// Returns the generated password; nil when the user's password is required.
    ///
    /// - Throws: `.noL2Key` when the key store has lost the wrapped key, and `.keystoreReadError`
    ///   when it has lost the generated password.
    func generatedPassword() throws -> SecretBytes? {
        let password = try storedPassword()
        // Not before: a generated password is removed after the user's has replaced it here.
        guard let record = try keystore.encryptedL2Key() else { throw SecureVaultError.noL2Key }
        switch try levelRecord(record)?.isOfGeneratedPassword {
        case true where password == nil:
            throw SecureVaultError.keystoreUnreadable(
                KeyStoreError.notFound(
                    name: keystore.entry(keystore.generatedPasswordEntryName)))
        case false: return nil
        default: return password
        }
    }

    private func storedPassword() throws -> SecretBytes? {
        guard var password = try keystore.generatedPassword() else { return nil }
        return SecretBytes(erasing: &password)
    }

    /// The key and how it was unwrapped.
    struct Opened {
        let key: SecretBytes
        let record: Data
        /// How to wrap it again, because the record is weaker than a new one would be; nil when it
        /// is not, or the crypto provider is an app's own.
        let upgrade: Upgrade?
    }

    enum Upgrade {
        /// With a new salt.
        case parameters(ScryptParameters)
        /// A box whose derivation is as strong as a new one. It keeps its salt, since the app may
        /// store another box under the same key.
        case sameKey(SecretBytes, PasswordDerivation)
    }

    /// - Throws: `.invalidPassword`, `.noL2Key`, and any error of the key store.
    func unwrap(with password: SecretBytes) throws -> Opened {
        guard password.count > 0 else { throw SecureVaultError.invalidPassword }
        guard var record = try keystore.encryptedL2Key() else { throw SecureVaultError.noL2Key }
        var attempts = 0
        while true {
            do {
                return try unwrap(record, with: password)
            } catch SecureVaultError.invalidPassword {
                attempts += 1
                // If another caller has replaced the record, the password may be that of the new.
                guard attempts < 3, let other = try? keystore.encryptedL2Key(), other != record
                else { throw SecureVaultError.invalidPassword }
                record = other
            }
        }
    }

    private func unwrap(_ record: Data, with password: SecretBytes) throws -> Opened {
        guard let crypto = crypto as? VaultCryptoProvider else {
            var wrapping = try password.withData { try crypto.deriveKeyFromPassword($0) }
            defer { wrapping.erase() }
            var key = try crypto.decrypt(record, withKey: wrapping)
            return Opened(key: SecretBytes(erasing: &key), record: record, upgrade: nil)
        }
        guard let wrapped = try levelRecord(record) else {
            var (wrapping, derivation) = try password.withData {
                try crypto.wrappingKey(of: $0) { record }
            }
            defer { wrapping.erase() }
            var key = try crypto.decrypt(record, withKey: wrapping)
            let stronger = derivation.strengthened(to: crypto.parameters)
            return Opened(
                key: SecretBytes(erasing: &key), record: record,
                upgrade: stronger.map { .parameters($0.parameters) }
                    ?? .sameKey(SecretBytes(copying: wrapping), derivation))
        }
        return Opened(
            key: try wrapped.unwrap(with: password), record: record,
            upgrade: wrapped.key.strongerParameters(than: crypto.parameters)
                .map { .parameters($0) })
    }

    /// nil for a box, or a record of an app's own crypto provider.
    private func levelRecord(_ bytes: Data) throws -> PasswordLevelRecord? {
        guard crypto is VaultCryptoProvider else { return nil }
        return try PasswordLevelRecord(bytes, in: keystore)
    }

    /// Wraps the key again after an unlock if the record is weaker than a new one would be.
    func settle(
        _ opened: Opened, _ password: SecretBytes, _ exclusively: Exclusively
    ) throws {
        guard let upgrade = opened.upgrade else { return }
        let isGenerated = try storedPassword() == password
        let record =
            switch upgrade {
            case .parameters(let parameters):
                try PasswordLevelRecord(
                    wrapping: opened.key, with: password, isGenerated: isGenerated, parameters)
            case .sameKey(let bytes, let derivation):
                try PasswordLevelRecord(
                    wrapping: opened.key, withDerived: bytes, isGenerated: isGenerated, derivation)
            }
        try replace(opened.record, with: record.bytes, exclusively)
    }

    /// Returns the key store's record of the key under a password, with a new salt unless the
    /// crypto provider is an app's own.
    func wrapped(
        _ key: SecretBytes, with password: SecretBytes, isGenerated: Bool = false
    ) throws -> Data {
        if let crypto = crypto as? VaultCryptoProvider {
            return try PasswordLevelRecord(
                wrapping: key, with: password, isGenerated: isGenerated, crypto.parameters
            ).bytes
        }
        var wrapping = try password.withData { try crypto.deriveKeyFromPassword($0) }
        defer { wrapping.erase() }
        return try key.withData { try crypto.encrypt($0, withKey: wrapping) }
    }

    /// Runs a block while no other process changes the record.
    typealias Exclusively = (() throws -> Void) throws -> Void

    /// Another caller has replaced the record first.
    struct Conflict: Error {}

    /// Replaces the record in a single operation of the key store.
    ///
    /// - Throws: ``Conflict`` when `record` has been replaced in the meantime.
    func replace(_ record: Data, with new: Data, _ exclusively: Exclusively) throws {
        try exclusively {
            guard try keystore.encryptedL2Key() == record else { throw Conflict() }
            try keystore.storeEncryptedL2Key(new)
        }
    }
}
