internal import Foundation
internal import SecureStorage

/// The secrets of a vault's levels in a backup, as data keys of ``VaultBackup``: the key of L2 and
/// L3, and the salt of hashes, without which values are no longer found by their hash.
struct BackedUpLevels {
    static let rootName = "SecureVault"
    private static let hashingSaltName = "SecureVault hashing salt"

    let root: SecretBytes
    /// nil when no salt exists or its length is not 32 bytes; the salt is then a constant of the
    /// app.
    let hashingSalt: SecretBytes?

    /// - Throws: `SecureVaultError` when the key store cannot be read.
    init(root: SecretBytes, crypto: any SecureStorageCryptoProvider) throws {
        self.root = root
        let salt = try (crypto as? VaultCryptoProvider)?.storedHashingSalt() ?? crypto.hashingSalt
        hashingSalt = salt.flatMap {
            $0.count == KeyMaterial.length ? SecretBytes(copying: $0) : nil
        }
    }

    /// - Throws: `VaultBackupError` when the backup is not that of a vault with levels.
    init(keys: [DataEncryptionKey]) throws {
        func secret(_ name: String) throws -> SecretBytes? {
            try keys.first { $0.name == name }?.material.secret()
        }
        guard let root = try secret(Self.rootName) else {
            throw VaultBackupError.otherKind
        }
        self.root = root
        hashingSalt = try secret(Self.hashingSaltName)
    }

    var keys: [VaultBackupKey] {
        get throws {
            var keys = [try DataEncryptionKey(name: Self.rootName, bytes: root)]
            if let hashingSalt {
                keys.append(try DataEncryptionKey(name: Self.hashingSaltName, bytes: hashingSalt))
            }
            return keys.map { .key($0) }
        }
    }
}

extension VaultBackupError {
    fileprivate static var otherKind: VaultBackupError {
        .unacceptableContents(
            reason: "it was not made with SecureVaultLevels.makeBackup; use VaultBackup.restore")
    }
}
