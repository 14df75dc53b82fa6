internal import Foundation
internal import SecureStorage

/// What a backup holds of a vault's levels, as data keys of ``VaultBackup``: the key of L2 and L3,
/// and the salt of hashes, without which values that are looked up by their hash are not found any
/// more.
struct BackedUpLevels {
    static let rootName = "SecureVault"
    private static let hashingSaltName = "SecureVault hashing salt"

    let root: SecretBytes
    /// nil where there is none, or of another length than 32 bytes: then it is a constant of the
    /// app.
    let hashingSalt: SecretBytes?

    /// - Throws: `SecureVaultError` of a key store that cannot be read.
    init(root: SecretBytes, crypto: any SecureStorageCryptoProvider) throws {
        self.root = root
        let salt = try (crypto as? VaultCryptoProvider)?.storedHashingSalt() ?? crypto.hashingSalt
        hashingSalt = salt.flatMap {
            $0.count == KeyMaterial.length ? SecretBytes(copying: $0) : nil
        }
    }

    /// - Throws: `VaultBackupError` when the backup is not one of a vault with levels.
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
