internal import Foundation
internal import SecureStorage

/// The key that passwords unwrap, from which those of L2 and L3 are derived, as the key store keeps it.
struct PasswordLevelKey {
    let crypto: any SecureStorageCryptoProvider
    let keystore: any SecureStorageKeyStoreProvider

    /// Refuses a first run beside the remains of a vault.
    ///
    /// A wrapped key without a generated password is one for which a user has set a password. That takes a
    /// vault, and so a device's key: it was lost.
    func requireNoLostVault() throws {
        func has(_ entry: () throws -> Data?) throws -> Bool {
            guard var data = try entry() else { return false }
            data.erase()
            return true
        }
        guard try !has(keystore.l1Key), try has(keystore.encryptedL2Key),
            try !has(keystore.generatedPassword)
        else { return }
        // Another process may have ended its first run, and set a password, since we looked.
        guard try has(keystore.l1Key) else { throw SecureVaultError.noL1Key }
    }

    /// At the first run: a generated password, and a key that is wrapped with it.
    ///
    /// Each entry is inserted where it is missing, and none is replaced, so a crash in between is gone on from.
    func prepare() throws {
        if var wrapped = try keystore.encryptedL2Key() {
            wrapped.erase()
            return
        }
        var password = try keystore.readData(
            named: keystore.generatedPasswordEntryName, serviceName: keystore.keychainServiceName
        ) { try crypto.generatePassword() }
        defer { password.erase() }
        // The salt of hashes too: later a missing one is a lost one.
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

    /// The key, and the record that it was unwrapped from or is wrapped in now.
    ///
    /// `exclusively` keeps other processes from changing the record while it runs a block.
    ///
    /// - Throws: `.invalidPassword`, `.noL2Key`, and what the key store throws.
    func unwrap(
        with password: SecretBytes, _ exclusively: Exclusively = { try $0() }
    ) throws -> (key: SecretBytes, record: Data) {
        guard let wrapped = try keystore.encryptedL2Key() else { throw SecureVaultError.noL2Key }
        guard let crypto = crypto as? VaultCryptoProvider else {
            var wrapping = try password.withData { try crypto.deriveKeyFromPassword($0) }
            defer { wrapping.erase() }
            var key = try crypto.decrypt(wrapped, withKey: wrapping)
            return (SecretBytes(erasing: &key), wrapped)
        }
        var (wrapping, derivation) = try password.withData {
            try crypto.wrappingKey(of: $0) { wrapped }
        }
        defer { wrapping.erase() }
        var key = try crypto.decrypt(wrapped, withKey: wrapping)
        defer { key.erase() }
        var record = wrapped
        // Unlocked it is anyway: what fails here is done at the next unlock.
        try? password.withData {
            try crypto.settle($0, derivation) { wrapping in
                let stronger = try crypto.encrypt(key, withKey: wrapping)
                try replace(record, with: stronger, exclusively)
                record = stronger
            }
        }
        return (SecretBytes(copying: key), record)
    }

    /// Wraps the key with another password, in one step of the key store.
    ///
    /// - Throws: ``Conflict`` when another process has replaced `record` meanwhile.
    func rewrap(
        _ key: SecretBytes, with password: SecretBytes, replacing record: Data,
        _ exclusively: Exclusively
    ) throws {
        let wrapped = try key.withData { key in try password.withData { try wrap(key, $0) } }
        try replace(record, with: wrapped, exclusively)
    }

    typealias Exclusively = (() throws -> Void) throws -> Void

    /// Somebody else was first.
    struct Conflict: Error {}

    private func replace(_ record: Data, with new: Data, _ exclusively: Exclusively) throws {
        try exclusively {
            guard try keystore.encryptedL2Key() == record else { throw Conflict() }
            try keystore.storeEncryptedL2Key(new)
        }
    }

    /// What the key store is to hold for the key under a password, with a new salt: all of it, or the old one's.
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
