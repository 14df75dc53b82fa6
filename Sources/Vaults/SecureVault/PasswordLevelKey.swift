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
        var wrapped = try keystore.readData(
            named: keystore.l2KeyEntryName, serviceName: keystore.keychainServiceName
        ) {
            var key = try crypto.generateSecretKey()
            defer { key.erase() }
            return try wrap(key, password)
        }
        wrapped.erase()
    }

    /// The key; who gets it erases it.
    ///
    /// - Throws: `.invalidPassword`, `.noL2Key`, and what the key store throws.
    func unwrap(with password: SecretBytes) throws -> SecretBytes {
        guard let wrapped = try keystore.encryptedL2Key() else { throw SecureVaultError.noL2Key }
        var wrapping = try password.withData { try crypto.deriveKeyFromPassword($0) }
        defer { wrapping.erase() }
        var key = try crypto.decrypt(wrapped, withKey: wrapping)
        defer { key.erase() }
        // Unlocked it is anyway: what fails here is done at the next unlock.
        try? password.withData { try strengthen($0, key, wrapped) }
        return SecretBytes(copying: key)
    }

    private func strengthen(_ password: Data, _ key: Data, _ wrapped: Data) throws {
        try (crypto as? VaultCryptoProvider)?.strengthen(password) { wrapping in
            // Another process may have changed the password meanwhile.
            guard try keystore.encryptedL2Key() == wrapped else {
                throw SecureVaultError.invalidPassword
            }
            try keystore.storeEncryptedL2Key(crypto.encrypt(key, withKey: wrapping))
        }
    }

    /// Wraps the key with another password, in one step of the key store.
    func rewrap(_ key: SecretBytes, with password: SecretBytes) throws {
        let wrapped = try key.withData { key in try password.withData { try wrap(key, $0) } }
        try keystore.storeEncryptedL2Key(wrapped)
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
