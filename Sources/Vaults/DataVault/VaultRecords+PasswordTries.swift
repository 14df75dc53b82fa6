internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// Thrown out of the vault's lock, because the destruction is completed without that lock.
struct DestroyedVault: Error {
    let isSelfDestructed: Bool
    /// Whether the password tried by this call is the cause.
    var isByThisCall = false
}

extension VaultRecords {
    /// Returns the record of an existing vault.
    ///
    /// - Throws: `DestroyedVault` if it was destroyed; `DataVaultError`.
    func readyRecord(_ place: VaultPlace) throws -> VaultRecord {
        guard let record = try foundRecord(place) else { throw DataVaultError.doesNotExist }
        switch record.state {
        case .ready: return record
        case .creating: throw DataVaultError.doesNotExist
        case .deleted: throw DestroyedVault(isSelfDestructed: false)
        case .selfDestructed, .ended: throw DestroyedVault(isSelfDestructed: true)
        }
    }

    /// Returns the record; nil if neither a record nor a database exists.
    ///
    /// A vault's record is created before its database and removed after it. So a database without
    /// a record means that the record was lost, or that the vault was created again between the two
    /// checks; in that case the next iteration finds the record.
    ///
    /// - Throws: `DataVaultError.ioReadError` for a lost record.
    private func foundRecord(_ place: VaultPlace) throws -> VaultRecord? {
        for _ in 0..<10 {
            if let record = try read(place) { return record }
            guard try place.hasDatabase() else { return nil }
        }
        throw DataVaultError.ioReadError(cause: KeyStoreError.notFound(name: place.entryName))
    }

    // MARK: - Under the vault's lock

    /// Checks a password: counts the try, durably, then derives the key.
    ///
    /// If `upgrading` is true, the key is rewrapped when guessing is cheaper than with a new
    /// record.
    ///
    /// - Returns: The vault's key. The record is stored with its tries reset.
    /// - Throws: `DataVaultError`: `.invalidPassword`, `.mustWait`; `DestroyedVault` if that was
    ///   one too many.
    func check(
        _ password: SecretBytes, of record: inout VaultRecord, _ place: VaultPlace,
        upgrading: Bool = false
    ) throws -> DataEncryptionKey {
        let now = moment()
        try Self.requireWaited(record, now)
        let before = record
        record.tries.begin(at: now)
        try storeCount(&record, place)
        let unwrapped: DataEncryptionKey
        do {
            unwrapped = try unwrap(record, with: password, place)
        } catch EnvelopeError.wrongPassword, EnvelopeError.wrongKey, EnvelopeError.noSuchKey {
            guard record.isOutOfTries else {
                // A caller that bypassed the lock may have counted the same try: then give no
                // answer.
                try requireStored(record, place)
                throw DataVaultError.invalidPassword(triesLeft: record.triesLeft)
            }
            record = record.destroyed(.selfDestructed)
            try store(&record, place)
            throw DestroyedVault(isSelfDestructed: true, isByThisCall: true)
        } catch {
            // The password was not checked, so this was not a try. If that cannot be stored, it
            // remains one.
            record.tries = before.tries
            try? store(&record, place)
            if case EnvelopeError.limitReached = error { throw DataVaultError.outOfMemory }
            return try DataVaultError.reading { throw error }
        }
        record.tries = PasswordTries()
        let key: DataEncryptionKey
        do {
            key = try settled(&record, unwrapped, with: password, place) ?? unwrapped
        } catch {
            // The password is right, whatever keeps the database from being read.
            try? store(&record, place)
            if case EnvelopeError.limitReached = error { throw DataVaultError.outOfMemory }
            throw error
        }
        if upgrading { try upgrade(&record, to: source(password, place), key) }
        try storeCount(&record, place)
        return key
    }

    /// Finds out whether a change of the vault's key that was interrupted has taken effect.
    ///
    /// - Returns: The next key if it has; nil otherwise.
    private func settled(
        _ record: inout VaultRecord, _ old: DataEncryptionKey, with password: SecretBytes,
        _ place: VaultPlace
    ) throws -> DataEncryptionKey? {
        guard let next = record.nextKeys else { return nil }
        let path = place.databasePath(record.incarnation)
        let key = try next.unwrap(with: source(password, place))
        if (try? VaultValues.requireKey(key, of: path)) != nil {
            record.finishRekey()
            return key
        }
        // Not given up because of an error that passes: it may be the only key.
        try VaultValues.requireKey(old, of: path)
        record.nextKeys = nil
        return nil
    }

    /// - Throws: `DataVaultError.mustWait` while no password may be tried.
    private static func requireWaited(_ record: VaultRecord, _ now: MachineMoment) throws {
        let seconds = record.tries.secondsToWait(record.policy.delay, at: now)
        guard seconds == 0 else { throw DataVaultError.mustWait(seconds: seconds) }
    }

    /// Stores a record with another count of tries.
    ///
    /// If tries have no consequences, a vault on a full or read-only disk opens all the same.
    private func storeCount(_ record: inout VaultRecord, _ place: VaultPlace) throws {
        do {
            try store(&record, place)
        } catch {
            guard !record.policy.limitsTries else { throw error }
            // Another caller may have changed or destroyed the vault.
            try requireStored(record, place)
        }
    }

    /// Returns whether this is the password of a vault that is unlocked.
    ///
    /// Counts a try, durably, before it answers: the caller resets the count with a new password.
    func tryPassword(
        _ password: SecretBytes, of record: inout VaultRecord, _ place: VaultPlace
    ) throws -> Bool {
        let now = moment()
        try Self.requireWaited(record, now)
        record.tries.begin(at: now)
        try store(&record, place)
        return (try? unwrap(record, with: password, place)) != nil
    }

    /// Wraps the vault's key with another password.
    func setPassword(
        _ password: SecretBytes, of record: inout VaultRecord, _ place: VaultPlace,
        _ key: DataEncryptionKey
    ) throws {
        record.keys = try wrapped(key, with: password, place)
        record.usesDefaultPassword = password.count == 0
        record.passwordSetAt = Int64(date().timeIntervalSince1970)
    }

    func wrapped(
        _ key: DataEncryptionKey, with password: SecretBytes, _ place: VaultPlace
    ) throws -> WrappedKeySet {
        do {
            return try WrappedKeySet(wrapping: key, with: source(password, place))
        } catch EnvelopeError.limitReached {
            throw DataVaultError.outOfMemory
        } catch {
            return try DataVaultError.reading { throw error }
        }
    }

    private func unwrap(
        _ record: VaultRecord, with password: SecretBytes, _ place: VaultPlace
    ) throws -> DataEncryptionKey {
        guard let keys = record.keys else {
            throw EnvelopeError.damaged(reason: "the vault has no key")
        }
        // Whether it is the default password is not a secret.
        guard record.usesDefaultPassword == (password.count == 0) else {
            throw EnvelopeError.wrongPassword(name: place.id)
        }
        return try keys.unwrap(with: source(password, place))
    }

    /// Rewraps the key if its record is weaker than a new one would be.
    private func upgrade(
        _ record: inout VaultRecord, to source: any KeyEncryptionKeySource,
        _ key: DataEncryptionKey
    ) {
        guard let source = source as? PasswordKey,
            let stronger = record.keys?.records.first?.strongerParameters(than: source.parameters)
        else { return }
        // Memory may be too scarce for it; the password is right all the same.
        let keys = try? WrappedKeySet(wrapping: key, with: source.with(stronger))
        if let keys { record.keys = keys }
    }

    private func source(
        _ password: SecretBytes, _ place: VaultPlace
    ) throws -> any KeyEncryptionKeySource {
        password.count == 0 ? try defaultPasswordKey(place) : makePasswordKey(password)
    }
}
