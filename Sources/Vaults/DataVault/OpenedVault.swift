internal import Foundation
internal import SecureStorage

/// What an unlocked vault holds: its keys, its open database, and since when nobody has used it.
final class OpenedVault: @unchecked Sendable {
    // @unchecked: `timeout`, `lastUse` and `users` are only touched under the vault's gate.
    let incarnation: Data
    let values: VaultValues
    /// The vault's key, for a change of the password.
    let key: DataEncryptionKey
    /// For what the app encrypts.
    let encryption: DataEncryptionKey

    /// nil for never.
    var timeout: Duration?
    var lastUse: Duration
    var users = 0

    init(
        _ record: VaultRecord, key: DataEncryptionKey, databasePath: String, now: Duration
    ) throws {
        incarnation = record.incarnation
        self.key = key
        encryption = try DataEncryptionKey(
            name: "datavault encryption",
            bytes: key.derivedKey(for: "datavault encryption 1"))
        values = try VaultValues(databasePath, key: key)
        timeout = Self.timeout(record.policy)
        lastUse = now
    }

    static func timeout(_ policy: DataVaultPasswordPolicy) -> Duration? {
        policy.lockTimeout.flatMap { $0 > 0 ? .seconds($0) : nil }
    }

    /// Closes the database after the calls that are at work on it, and clears the keys.
    func close() {
        values.close()
        key.clear()
        encryption.clear()
    }
}
