internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// The records of a container's vaults in its key store, and the device's key that seals them.
///
/// `VaultRecords+PasswordTries` checks and sets the passwords that they hold.
struct VaultRecords: Sendable {
    let keyStore: any KeyStore
    /// The machine's date, for the age of passwords.
    let date: @Sendable () -> Date
    /// The moment, for the time between tries.
    let moment: @Sendable () -> MachineMoment
    /// Makes the key source of a password; replaced in tests of everything but guessing.
    let makePasswordKey: @Sendable (SecretBytes) -> any KeyEncryptionKeySource

    private static let deviceKeyName = "datavault.device-key"

    /// Reads the record of a vault in any state; nil if none exists.
    ///
    /// - Throws: `DataVaultError.ioReadError` if it cannot be read, or differs from what was
    ///   stored.
    func read(_ place: VaultPlace) throws -> VaultRecord? {
        try DataVaultError.reading {
            guard let bytes = try bytes(place.entryName) else { return nil }
            let key = try deviceKey()
            do {
                return try VaultRecord(bytes: bytes, of: place.id, key: key)
            } catch EnvelopeError.damaged(let reason) {
                throw KeyStoreError.damaged(name: place.entryName, reason: reason)
            }
        }
    }

    /// Stores a record, durably, in place of the one that it was made from.
    ///
    /// - Throws: `DataVaultError.ioWriteError`; a record stored by another caller is not replaced.
    func store(_ record: inout VaultRecord, _ place: VaultPlace) throws {
        try DataVaultError.writing {
            let bytes = try record.bytes(of: place.id, key: deviceKey())
            try requireStored(record, place)
            record.stored.append(bytes)
            try keyStore.store(SecretBytes(copying: bytes), forName: place.entryName)
            record.stored = [bytes]
        }
    }

    /// Stores the first record of a vault.
    func insert(_ record: inout VaultRecord, _ place: VaultPlace) throws {
        try DataVaultError.writing {
            let bytes = try record.bytes(of: place.id, key: deviceKey())
            try keyStore.insert(SecretBytes(copying: bytes), forName: place.entryName)
            record.stored = [bytes]
        }
    }

    /// Stores a record in place of an unreadable one.
    func replace(with record: VaultRecord, _ place: VaultPlace) throws {
        try DataVaultError.writing {
            let bytes = try record.bytes(of: place.id, key: deviceKey())
            try keyStore.store(SecretBytes(copying: bytes), forName: place.entryName)
        }
    }

    /// Throws if a record is no longer the one in the key store.
    func requireStored(_ record: VaultRecord, _ place: VaultPlace) throws {
        try DataVaultError.writing {
            guard let bytes = try bytes(place.entryName), record.stored.contains(bytes) else {
                throw KeyStoreError.unavailable(
                    reason: "another thread or process changed the vault's record")
            }
        }
    }

    /// Removes a record, and returns whether one existed.
    @discardableResult
    func remove(_ place: VaultPlace) throws -> Bool {
        try DataVaultError.writing { try keyStore.remove(place.entryName) }
    }

    /// Returns the ids of all records, including unreadable ones.
    func ids() throws -> [String] {
        try DataVaultError.reading {
            try keyStore.names().compactMap { name in
                let entry = VaultPlace.isEntryName(name)
                guard entry.isRecord else { return nil }
                // Returns nil if the record was removed after it was listed.
                guard entry.id == nil, let bytes = try bytes(name) else { return entry.id }
                let id = try VaultRecord.id(inBytes: bytes)
                guard VaultPlace.isEntryName(name, of: id) else {
                    throw EnvelopeError.damaged(reason: "the record belongs to another vault")
                }
                return id
            }
        }
    }

    // MARK: - The device's key

    /// Creates the device's key with the first vault.
    ///
    /// Never creates it if records or databases exist: a new key would not open them, and a lost
    /// one may reappear.
    func prepareDeviceKey(for place: VaultPlace) throws {
        do {
            _ = try keyStore.read(Self.deviceKeyName)
        } catch KeyStoreError.notFound(let name) {
            guard try ids().isEmpty else {
                throw DataVaultError.ioReadError(cause: KeyStoreError.notFound(name: name))
            }
            guard try !place.hasNeighbour() else {
                throw DataVaultError.ioReadError(
                    cause: KeyStoreError.unavailable(
                        reason: "the key store was lost: the directory contains vaults, "
                            + "but their key is missing"))
            }
            try DataVaultError.writing {
                // Another process may have stored one first.
                _ = try keyStore.read(Self.deviceKeyName) { .random(count: 32) }
            }
        } catch {
            throw DataVaultError.ioReadError(cause: error)
        }
    }

    /// Returns the key that wraps the key of a vault with the default password.
    func defaultPasswordKey(_ place: VaultPlace) throws -> KeyEncryptionKey {
        try DataVaultError.reading {
            try KeyEncryptionKey(
                name: "password",
                bytes: deviceKey().derivedKey(for: "datavault default password \(place.id)"))
        }
    }

    private func deviceKey() throws -> DataEncryptionKey {
        try DataEncryptionKey(name: "datavault device", bytes: keyStore.read(Self.deviceKeyName))
    }

    private func bytes(_ name: String) throws -> Data? {
        do {
            return try keyStore.read(name).copied
        } catch KeyStoreError.notFound {
            return nil
        }
    }
}
