internal import Foundation
internal import SecureStorage

/// Thrown through the vault's lock, without which the rest has to be done.
struct DestroyedVault: Error {
    let isSelfDestructed: Bool
    /// Whether the password that this call has tried is why.
    var isByThisCall = false
}

extension DataVaultContainer {
    /// The record of a vault that exists.
    ///
    /// - Throws: `DestroyedVault` when it is no more; `DataVaultError`.
    func readyRecord(_ place: VaultPlace) throws -> VaultRecord {
        guard let record = try foundRecord(place) else { throw DataVaultError.doesNotExist }
        switch record.state {
        case .ready: return record
        case .creating: throw DataVaultError.doesNotExist
        case .deleted: throw DestroyedVault(isSelfDestructed: false)
        case .selfDestructed, .ended: throw DestroyedVault(isSelfDestructed: true)
        }
    }

    /// The record; nil when there is neither one nor a database.
    ///
    /// A vault's record is made before its database and removed after it. So a database without a
    /// record was left by a loss, or the vault was made anew between the two looks, and then the
    /// record is there at the next one.
    ///
    /// - Throws: `DataVaultError.ioReadError` for a record that was lost.
    private func foundRecord(_ place: VaultPlace) throws -> VaultRecord? {
        for _ in 0..<10 {
            if let record = try records.read(place) { return record }
            guard try place.hasDatabase() else { return nil }
        }
        throw DataVaultError.ioReadError(cause: KeyStoreError.notFound(name: place.entryName))
    }

    // MARK: - Under the vault's lock

    /// Checks a password: counts the try, durably, then derives the key.
    ///
    /// When `upgrading` is true, the key is wrapped again where guessing has become cheaper than a
    /// new record makes it.
    ///
    /// - Returns: The vault's key. The record is stored, with its tries set back.
    /// - Throws: `DataVaultError.invalidPassword`; `DestroyedVault` when that was one too many.
    func check(
        _ password: SecretBytes, of record: inout VaultRecord, _ place: VaultPlace,
        upgrading: Bool = false
    ) throws -> DataEncryptionKey {
        let tries = record.tries
        if record.tries < .max { record.tries += 1 }
        try records.store(&record, place)
        let key: DataEncryptionKey
        do {
            key = try unwrap(record, with: password, place)
        } catch EnvelopeError.wrongPassword, EnvelopeError.wrongKey, EnvelopeError.noSuchKey {
            guard record.isOutOfTries else {
                // Who has come past the lock may have counted the same try: then there is no
                // answer.
                try records.requireStored(record, place)
                throw DataVaultError.invalidPassword(triesLeft: record.triesLeft)
            }
            record = record.destroyed(.selfDestructed)
            try records.store(&record, place)
            throw DestroyedVault(isSelfDestructed: true, isByThisCall: true)
        } catch {
            // The password was not checked, so it was no try. If that cannot be stored, it stays
            // one.
            record.tries = tries
            try? records.store(&record, place)
            if case EnvelopeError.limitReached = error { throw DataVaultError.outOfMemory }
            return try DataVaultError.reading { throw error }
        }
        record.tries = 0
        if upgrading { try upgrade(&record, to: source(password, place), key) }
        try records.store(&record, place)
        return key
    }

    /// Whether this is the password of a vault that is unlocked, so that asking is no try.
    func isPassword(_ password: SecretBytes, of record: VaultRecord, _ place: VaultPlace) -> Bool {
        (try? unwrap(record, with: password, place)) != nil
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

    private func unwrap(
        _ record: VaultRecord, with password: SecretBytes, _ place: VaultPlace
    ) throws -> DataEncryptionKey {
        guard let keys = record.keys else {
            throw EnvelopeError.damaged(reason: "the vault has no key")
        }
        // Whether it is the default one is no secret.
        guard record.usesDefaultPassword == (password.count == 0) else {
            throw EnvelopeError.wrongPassword(name: place.id)
        }
        return try keys.unwrap(with: source(password, place))
    }

    /// Wraps the key again when its record is weaker than a new one would be.
    private func upgrade(
        _ record: inout VaultRecord, to source: any KeyEncryptionKeySource,
        _ key: DataEncryptionKey
    ) {
        guard let source = source as? PasswordKey,
            case .password(let parameters, _)? = record.keys?.records.first?.origin,
            parameters.isWeaker(than: source.parameters)
        else { return }
        // There may be too little memory for it; the password is right all the same.
        if let keys = try? WrappedKeySet(wrapping: key, with: source) { record.keys = keys }
    }

    private func source(
        _ password: SecretBytes, _ place: VaultPlace
    ) throws -> any KeyEncryptionKeySource {
        password.count == 0 ? try records.defaultPasswordKey(place) : makePasswordKey(password)
    }
}
