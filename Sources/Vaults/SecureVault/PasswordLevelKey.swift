internal import Foundation
internal import SecureStorage

/// The key that passwords unwrap and from which those of L2 and L3 are derived, as the key store
/// holds it.
struct PasswordLevelKey {
    let crypto: any SecureStorageCryptoProvider
    let keystore: any SecureStorageKeyStoreProvider

    /// Refuses a first run next to the remains of a vault.
    ///
    /// A wrapped key without a generated password means that a user has set a password. That
    /// requires a vault, and thus a device's key, which must have been lost.
    func requireNoLostVault() throws {
        func has(_ entry: () throws -> Data?) throws -> Bool {
            guard var data = try entry() else { return false }
            data.erase()
            return true
        }
        guard try !has(keystore.l1Key), try has(keystore.encryptedL2Key),
            try !has(keystore.generatedPassword),
            // A pending key means that a backup was being restored in its place.
            try VaultKeyEntries(keystore: keystore).pendingKey == nil
        else { return }
        // Another process may have completed its first run and set a password since the check.
        guard try has(keystore.l1Key) else { throw SecureVaultError.noL1Key }
    }

    /// Creates a generated password and a key wrapped with it, at the first run.
    ///
    /// Each entry is inserted if it is missing and never replaced, so a later call continues after
    /// a crash.
    func prepare() throws {
        if var wrapped = try keystore.encryptedL2Key() {
            wrapped.erase()
            return
        }
        var password = try keystore.readData(
            named: keystore.generatedPasswordEntryName, serviceName: keystore.keychainServiceName
        ) { try crypto.generatePassword() }
        defer { password.erase() }
        // The salt of hashes is created too: if it is missing later, it has been lost.
        _ = try crypto.hashData(Data())
        var wrapped = try keystore.readData(
            named: keystore.l2KeyEntryName, serviceName: keystore.keychainServiceName
        ) {
            var key = try crypto.generateSecretKey()
            defer { key.erase() }
            return try wrap(key, password)
        }
        wrapped.erase()
    }

    /// Throws if the key store cannot be read, or has lost the wrapped key.
    func requireReadable() throws {
        guard var wrapped = try keystore.encryptedL2Key() else { throw SecureVaultError.noL2Key }
        wrapped.erase()
    }

    /// The key and how it was unwrapped.
    struct Opened {
        let key: SecretBytes
        let record: Data
        /// nil when the crypto provider is an app's own.
        let derivation: PasswordDerivation?
    }

    /// - Throws: `.invalidPassword`, `.noL2Key`, and any error of the key store.
    func unwrap(with password: SecretBytes) throws -> Opened {
        guard let record = try keystore.encryptedL2Key() else { throw SecureVaultError.noL2Key }
        var wrapping: Data
        var derivation: PasswordDerivation?
        if let crypto = crypto as? VaultCryptoProvider {
            (wrapping, derivation) = try password.withData {
                try crypto.wrappingKey(of: $0) { record }
            }
        } else {
            wrapping = try password.withData { try crypto.deriveKeyFromPassword($0) }
        }
        defer { wrapping.erase() }
        var key = try crypto.decrypt(record, withKey: wrapping)
        return Opened(key: SecretBytes(erasing: &key), record: record, derivation: derivation)
    }

    /// Wraps the key again after an unlock if its derivation is weaker than configured.
    func settle(
        _ opened: Opened, _ password: SecretBytes, _ exclusively: Exclusively
    ) throws {
        guard let crypto = crypto as? VaultCryptoProvider, let derivation = opened.derivation
        else { return }
        try password.withData { password in
            try crypto.settle(password, derivation) { wrapping in
                let stronger = try opened.key.withData { try crypto.encrypt($0, withKey: wrapping) }
                try replace(opened.record, with: stronger, exclusively)
            }
        }
    }

    /// Returns the key store's record of the key under a password.
    func wrapped(_ key: SecretBytes, with password: SecretBytes) throws -> Data {
        try key.withData { key in try password.withData { try wrap(key, $0) } }
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

    /// Returns the key store's entries for the key under a password, with a new salt unless the
    /// crypto provider is an app's own; the entries are valid only together.
    func newEntries(
        _ key: SecretBytes, with password: SecretBytes
    ) throws -> [(name: String, data: Data)] {
        try password.withData { password in
            guard let crypto = crypto as? VaultCryptoProvider else {
                let wrapped = try key.withData { try wrap($0, password) }
                return [(keystore.l2KeyEntryName, wrapped)]
            }
            var (derivation, wrapping) = try crypto.newDerivation(for: password)
            defer { wrapping.erase() }
            let wrapped = try key.withData { try crypto.encrypt($0, withKey: wrapping) }
            return [derivation, (keystore.l2KeyEntryName, wrapped)]
        }
    }

    private func wrap(_ key: Data, _ password: Data) throws -> Data {
        var wrapping = try crypto.deriveKeyFromPassword(password)
        defer { wrapping.erase() }
        return try crypto.encrypt(key, withKey: wrapping)
    }
}
