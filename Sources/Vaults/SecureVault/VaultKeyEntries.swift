internal import Foundation
internal import SecureStorage

/// A vault's entries, accessed through its provider, because an app may have customised those
/// calls.
struct VaultKeyEntries: KeyEntries {
    let keystore: any SecureStorageKeyStoreProvider

    /// The device's key of a restored backup, before it gets its final name.
    var pendingKey: SecretBytes? {
        get throws { try read(keystore.l1KeyEntryName + DeviceKeys.suffix) }
    }

    func read(_ name: String) throws -> SecretBytes? {
        let data =
            try name == keystore.l1KeyEntryName
            ? keystore.l1Key()
            : keystore.readData(named: name, serviceName: keystore.keychainServiceName)
        guard var data else { return nil }
        return SecretBytes(erasing: &data)
    }

    func store(_ key: SecretBytes, forName name: String) throws {
        try key.withData { key in
            if name == keystore.l1KeyEntryName {
                try keystore.storeL1Key(key)
            } else {
                try keystore.writeData(
                    key, named: name, serviceName: keystore.keychainServiceName)
            }
        }
    }

    func remove(_ name: String) throws {
        try keystore.removeData(named: name, serviceName: keystore.keychainServiceName)
    }
}
