internal import Foundation
internal import SecureStorage

/// The device's key, L1, and the proof that it belongs to the database.
///
/// A new key is first stored under another name, as a candidate, and gets its final name only after
/// it has opened or created the database. So a crash never leaves a database whose key is lost; and
/// if a database exists whose key is missing, the candidate fails to open it and never becomes the
/// key.
struct DeviceKey {
    let crypto: any SecureStorageCryptoProvider
    let keystore: any SecureStorageKeyStoreProvider

    /// Opens the database; the first run creates its key and calls `beforeFirstUse`.
    func open<Database>(
        _ makeDatabase: (Data) throws -> Database, beforeFirstUse: () throws -> Void
    ) throws -> Database {
        if var key = try keystore.l1Key() {
            defer { key.erase() }
            let database = try wrapped {
                do {
                    return try makeDatabase(key)
                } catch let error where Self.isWrongKey(error) {
                    guard let restored = try openRestored(insteadOf: key, makeDatabase) else {
                        throw error
                    }
                    return restored
                }
            }
            removeCandidate()
            return database
        }
        let isNew = try candidate() == nil
        var key = try keystore.readData(named: candidateName, serviceName: service) {
            try crypto.generateSecretKey()
        }
        defer { key.erase() }
        do {
            let database = try makeDatabase(key)
            // Not earlier, so that nothing is left next to a database that has other keys.
            try beforeFirstUse()
            var stored = try keystore.readData(
                named: keystore.l1KeyEntryName, serviceName: service
            ) { key.withUnsafeBytes { Data($0) } }
            defer { stored.erase() }
            guard stored == key else { throw SecureVaultError.noL1Key }
            removeCandidate()
            return database
        } catch  where Self.isWrongKey(error) {
            if isNew { removeCandidate() }
            guard
                let restored = try wrapped({
                    try openRestored(insteadOf: key, makeDatabase)
                })
            else { throw SecureVaultError.noL1Key }
            removeCandidate()
            return restored
        } catch {
            throw SecureVaultError.make(of: error) { .failedToOpenDatabase(cause: $0) }
        }
    }

    /// Opens the database if another process has completed its first run since the lookup, or if
    /// the program ended while the key of a restored backup was moving to its final name.
    private func openRestored<Database>(
        insteadOf key: Data, _ makeDatabase: (Data) throws -> Database
    ) throws -> Database? {
        let entries = VaultKeyEntries(keystore: keystore)
        if let pending = try entries.pendingKey,
            let database = try openIfKeyFits(pending, makeDatabase)
        {
            try entries.store(pending, forName: keystore.l1KeyEntryName)
            // Keeps the pending key of another restore.
            if try entries.pendingKey == pending {
                try entries.remove(keystore.l1KeyEntryName + DeviceKeys.suffix)
            }
            return database
        }
        guard let now = try entries.read(keystore.l1KeyEntryName), now.withData({ $0 != key })
        else { return nil }
        return try openIfKeyFits(now, makeDatabase)
    }

    private func openIfKeyFits<Database>(
        _ key: SecretBytes, _ makeDatabase: (Data) throws -> Database
    ) throws -> Database? {
        do {
            return try key.withData { try makeDatabase($0) }
        } catch  where Self.isWrongKey(error) {
            return nil
        }
    }

    private var service: String { keystore.keychainServiceName }
    private var candidateName: String { keystore.l1KeyEntryName + ".candidate" }

    private func candidate() throws -> Data? {
        try keystore.readData(named: candidateName, serviceName: service)
    }

    /// Removes the candidate; a leftover one does no harm, because the key takes precedence.
    private func removeCandidate() {
        guard var data = try? candidate() else { return }
        data.erase()
        try? keystore.removeData(named: candidateName, serviceName: service)
    }

    private func wrapped<T>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch {
            throw SecureVaultError.make(of: error) { .failedToOpenDatabase(cause: $0) }
        }
    }

    private static func isWrongKey(_ error: any Error) -> Bool {
        if let error = error as? SecureVaultError {
            return error.cause.map(isWrongKey) ?? false
        }
        guard case .authenticationFailed = error as? SecureStorageError else { return false }
        return true
    }
}
