internal import Foundation
internal import SecureStorage

extension DataVaultContainer {
    /// Ends what has begun with a record that says that the key is gone: the files, the handler, the record.
    ///
    /// In this order, so that a kill in between leaves the record for the next call. Without the lock while the handler
    /// runs, which may ask for the vault.
    ///
    /// - Throws: `DataVaultError.ioWriteError` when something could not be removed; `.unknown` with what the
    ///   handler has thrown.
    func finishDestruction(_ place: VaultPlace) throws {
        // The handler may ask for the vault, on whatever thread.
        guard beginFinishing(place) else { return }
        defer { endFinishing(place) }
        let found = try VaultLock.held(at: place.lockPath) {
            guard let record = try? records.read(place), record.state.isDestroyed else {
                return nil as VaultRecord?
            }
            LiveVaults.existing(place)?.close()
            try place.removeDatabases()
            return record
        }
        guard let found else { return }
        let destruction = DataVaultDestruction(
            id: place.id, isSelfDestructed: found.state == .selfDestructed)
        let failure = Self.error { try onDestruction?(destruction) }
        try VaultLock.held(at: place.lockPath) {
            // Meanwhile there may be a new vault of this id.
            guard let record = try? records.read(place), record.incarnation == found.incarnation
            else { return }
            try records.remove(place)
        }
        if let failure { throw DataVaultError.unknown(cause: failure) }
    }

    /// Ends the life of a vault whose key is gone, and gives the error for who has asked for it.
    func destroyedError(_ place: VaultPlace, isSelfDestructed: Bool) -> DataVaultError {
        let failure = Self.error { try finishDestruction(place) }
        let cause =
            if case .unknown(let thrown) = failure as? DataVaultError { thrown } else { failure }
        return .doesNotExist(isSelfDestructed: isSelfDestructed, cause: cause)
    }

    /// Removes what a killed creation has left; under the lock, so that nobody is at it.
    func removeRemains(_ record: VaultRecord, _ place: VaultPlace) throws {
        try place.removeDatabases()
        try place.removeDraft(record.incarnation)
        try records.remove(place)
    }

    /// What `body` throws.
    static func error(_ body: () throws -> Void) -> (any Error)? {
        do {
            try body()
            return nil
        } catch {
            return error
        }
    }
}

extension VaultRecord.State {
    /// Whether the key is gone.
    var isDestroyed: Bool { self == .deleted || self == .selfDestructed }
}
