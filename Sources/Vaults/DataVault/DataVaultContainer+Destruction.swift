internal import Foundation
internal import SecureStorage

extension DataVaultContainer {
    /// Completes the destruction of a vault whose record says that the key is gone: the files, the
    /// handler, the record.
    ///
    /// The order ensures that a kill in between leaves the record for the next call. Runs under the
    /// turn, but without the record's lock while the handler runs, because the handler may query
    /// the vault.
    ///
    /// If `isLast` is true, the id is free afterwards, with or without a handler. Otherwise the
    /// record stays until a handler has returned, and for a self-destructed vault even after that.
    ///
    /// - Throws: `DataVaultError.ioWriteError` if something could not be removed; `.unknown` with
    ///   the error of the handler: then the record stays for the next call.
    func finishDestruction(_ place: VaultPlace, isLast: Bool = false) throws {
        let found = try place.recordLock.held {
            guard let record = try? records.read(place), record.state.isDestroyed else {
                return nil as VaultRecord?
            }
            LiveVaults.existing(place)?.close()
            try place.removeDatabases()
            return record
        }
        guard let found else { return }
        var isTold = found.state == .ended
        if !isTold, let handler = onDestruction {
            try tell(handler, place, isSelfDestructed: found.state.isSelfDestructed)
            isTold = true
        }
        guard isTold || isLast else { return }
        try place.recordLock.held {
            // The handler may have created a new vault with this id in the meantime.
            guard var record = try? records.read(place), record.incarnation == found.incarnation
            else { return }
            if isLast || found.state == .deleted {
                try records.remove(place)
            } else if record.state != .ended {
                record.state = .ended
                try records.store(&record, place)
            }
        }
    }

    /// Calls the handler.
    func tell(
        _ handler: DestructionHandler?, _ place: VaultPlace, isSelfDestructed: Bool
    ) throws {
        do {
            try handler?(DataVaultDestruction(id: place.id, isSelfDestructed: isSelfDestructed))
        } catch {
            throw DataVaultError.unknown(cause: error)
        }
    }

    /// Completes the destruction of a vault whose key is gone, and returns the error for the
    /// caller.
    ///
    /// A caller that merely discovers the destruction does not wait for the caller performing it:
    /// that caller's handler might be waiting for this one.
    func destroyedError(_ place: VaultPlace, _ destroyed: DestroyedVault) -> DataVaultError {
        let failure = Self.error {
            // On the handler's own thread: the next call reports vaults destroyed there.
            guard !DestructionTurn.isOurs(place) else { return }
            if destroyed.isByThisCall {
                try DestructionTurn.taken(place) { try finishDestruction(place) }
            } else {
                _ = try DestructionTurn.takenIfFree(place) { try finishDestruction(place) }
            }
        }
        let cause =
            if case .unknown(let thrown) = failure as? DataVaultError { thrown } else { failure }
        return .doesNotExist(isSelfDestructed: destroyed.isSelfDestructed, cause: cause)
    }

    /// Removes the remains of a killed creation; under the lock, so no creation is in progress.
    func removeRemains(_ record: VaultRecord, _ place: VaultPlace) throws {
        try place.removeDatabases()
        try place.removeDraft(record.incarnation)
        try records.remove(place)
    }

    /// Returns the error that `body` throws.
    static func error(_ body: () throws -> Void) -> (any Error)? {
        do {
            try body()
            return nil
        } catch {
            return error
        }
    }
}
