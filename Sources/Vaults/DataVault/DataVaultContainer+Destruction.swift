internal import Foundation
internal import SecureStorage

extension DataVaultContainer {
    /// Ends what has begun with a record that says that the key is gone: the files, the handler,
    /// the record.
    ///
    /// In this order, so that a kill in between leaves the record for the next call. Without the
    /// record's lock while the handler runs, which may ask for the vault; under the turn.
    ///
    /// When `isLast` is true, the id is free afterwards, handler or not. Else the record stays
    /// until a handler has done its part, and after that for a vault that has destroyed itself.
    ///
    /// - Throws: `DataVaultError.ioWriteError` when something could not be removed; `.unknown` with
    ///   what the handler has thrown: then the record stays, for the next call.
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
            // Meanwhile the handler may have made a new vault of this id.
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

    /// Ends the life of a vault whose key is gone, and gives the error for who has asked for it.
    ///
    /// Who has only found it so does not wait for who is at it: that one's handler may wait for
    /// him.
    func destroyedError(_ place: VaultPlace, _ destroyed: DestroyedVault) -> DataVaultError {
        let failure = Self.error {
            // The handler's own thread: what it destroys is told by the next call.
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
