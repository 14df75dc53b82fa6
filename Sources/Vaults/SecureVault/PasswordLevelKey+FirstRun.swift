internal import Foundation
internal import SecureStorage

extension PasswordLevelKey {
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
            return try self.wrapped(
                SecretBytes(erasing: &key), with: SecretBytes(copying: password),
                isGenerated: true)
        }
        wrapped.erase()
    }
}
