internal import Foundation
internal import SecureStorage

/// Thrown through the vault's lock, without which the rest has to be done.
struct DestroyedVault: Error {
    let isSelfDestructed: Bool
}

extension DataVaultContainer {
    /// The record of a vault that exists.
    ///
    /// - Throws: `DestroyedVault` when it is no more; `DataVaultError`.
    func readyRecord(_ place: VaultPlace) throws -> VaultRecord {
        guard let record = try records.read(place) else {
            guard try place.hasDatabase() else { throw DataVaultError.doesNotExist }
            throw DataVaultError.ioReadError(cause: KeyStoreError.notFound(name: place.entryName))
        }
        switch record.state {
        case .ready: return record
        case .creating: throw DataVaultError.doesNotExist
        case .deleted: throw DestroyedVault(isSelfDestructed: false)
        case .selfDestructed: throw DestroyedVault(isSelfDestructed: true)
        }
    }

    // MARK: - Under the vault's lock

    /// Checks a password: counts the try, durably, then derives the key.
    ///
    /// - Returns: The vault's key. The record is to be stored, with its tries set back.
    /// - Throws: `DataVaultError.invalidPassword`; `DestroyedVault` when that was one too many.
    func check(
        _ password: SecretBytes, of record: inout VaultRecord, _ place: VaultPlace
    ) throws -> DataEncryptionKey {
        let before = record
        if record.tries < .max { record.tries += 1 }
        try records.store(record, place)
        do {
            return try unwrap(&record, with: password, place)
        } catch EnvelopeError.wrongPassword, EnvelopeError.wrongKey, EnvelopeError.noSuchKey {
            guard record.triesLeft == 0 else {
                throw DataVaultError.invalidPassword(triesLeft: record.triesLeft)
            }
            try records.store(record.destroyed(.selfDestructed), place)
            throw DestroyedVault(isSelfDestructed: true)
        } catch {
            // The password was not checked, so it was no try. If that cannot be stored, it stays one.
            try? records.store(before, place)
            if case EnvelopeError.limitReached = error { throw DataVaultError.outOfMemory }
            return try DataVaultError.reading { throw error }
        }
    }

    /// Wraps the vault's key with another password.
    func setPassword(
        _ password: SecretBytes, of record: inout VaultRecord, _ place: VaultPlace,
        _ key: DataEncryptionKey
    ) throws {
        do {
            record.keys = try WrappedKeySet(wrapping: key, with: source(password, place))
        } catch EnvelopeError.limitReached {
            throw DataVaultError.outOfMemory
        } catch {
            return try DataVaultError.reading { throw error }
        }
        record.usesDefaultPassword = password.count == 0
        record.passwordSetAt = Int64(date().timeIntervalSince1970)
    }

    /// Unwraps the key, and wraps it again where guessing has become cheaper than a new record makes it.
    private func unwrap(
        _ record: inout VaultRecord, with password: SecretBytes, _ place: VaultPlace
    ) throws -> DataEncryptionKey {
        guard var keys = record.keys else {
            throw EnvelopeError.damaged(reason: "the vault has no key")
        }
        // Whether it is the default one is no secret.
        guard record.usesDefaultPassword == (password.count == 0) else {
            throw EnvelopeError.wrongPassword(name: place.id)
        }
        guard let source = try source(password, place) as? PasswordKey else {
            return try keys.unwrap(with: source(password, place))
        }
        let (key, _) = try keys.upgrade(unlocking: source)
        record.keys = keys
        return key
    }

    private func source(
        _ password: SecretBytes, _ place: VaultPlace
    ) throws -> any KeyEncryptionKeySource {
        password.count == 0 ? try records.defaultPasswordKey(place) : makePasswordKey(password)
    }
}
