internal import Foundation
internal import SecureStorage

extension DataVaultContainer {
    /// Creates a vault.
    ///
    /// Blocks for the derivation of a key, about half a second, unless the password is empty, and
    /// while ``onDestruction`` handles an earlier vault with the id. A kill at any time leaves the
    /// whole vault or none.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 bytes of UTF-8, such as `org.example.notes.main`; ids are equal if their
    ///     bytes are.
    ///   - password: Empty for the default password: then anyone with access to the key store can
    ///     open the vault.
    ///   - policy: The vault's policy, which the password must satisfy.
    /// - Returns: The vault, unlocked.
    /// - Throws: `DataVaultError`: `.alreadyExists`; codes 50 to 56 for the password; `.locked` if
    ///   the vault was created but locked in the meantime; `.unknown` with the error that
    ///   ``onDestruction`` threw for an earlier vault; `.invalidArg`, `.nameTooLong`,
    ///   `.ioReadError`, `.ioWriteError`, `.outOfMemory`.
    public func create(
        id: String, password: some DataVaultPassword, policy: DataVaultPasswordPolicy = .init()
    ) throws -> DataVault {
        let vault = LiveVaults.vault(try place(id), in: self)
        try create(
            vault, password.passwordBytes, policy, unlessLockedSince: vault.lockCount)
        return vault
    }

    /// Creates the vault of an existing object, with the values of a backup if one is restored.
    func create(
        _ vault: DataVault, _ password: SecretBytes, _ policy: DataVaultPasswordPolicy,
        _ backup: UnpackedBackup? = nil, unlessLockedSince locks: Int
    ) throws {
        let place = vault.place
        try policy.validate()
        let policy = policy.completed(by: .init())
        try policy.check(password)
        let isNested = DestructionTurn.isOurs(place)
        try DestructionTurn.taken(place) {
            // First complete a destruction interrupted by a kill, including the handler.
            if !isNested { try finishDestruction(place, isLast: true) }
            try place.recordLock.held {
                if let old = try? records.read(place) {
                    guard old.state == .creating || isNested && old.state.isDestroyed else {
                        throw DataVaultError.alreadyExists
                    }
                    try removeRemains(old, place)
                }
                // An unreadable record, or a database whose record was lost.
                guard try !hasRecord(place), try !place.hasDatabase() else {
                    throw DataVaultError.alreadyExists
                }
                vault.close()
                try vault.publish(
                    make(place, password, policy, backup, for: vault),
                    unlessLockedSince: locks)
            }
        }
    }

    private func make(
        _ place: VaultPlace, _ password: SecretBytes, _ policy: DataVaultPasswordPolicy,
        _ backup: UnpackedBackup?, for vault: DataVault
    ) throws -> OpenedVault {
        try records.prepareDeviceKey(for: place)
        var record = VaultRecord(creatingWith: policy)
        let key =
            try backup?.key
            ?? DataVaultError.reading { try DataEncryptionKey.random(name: VaultValues.keyName) }
        try records.insert(&record, place)
        var opened: OpenedVault?
        do {
            let path = place.databasePath(record.incarnation)
            if let backup {
                try backup.move(to: path)
            } else {
                try VaultValues.create(path, key: key)
            }
            try place.setMode(ofDatabase: record.incarnation)
            try records.setPassword(password, of: &record, place, key)
            let made = try vault.open(record, key)
            opened = made
            record.generation = try made.values.advanceGeneration(from: 0, of: record.incarnation)
            record.state = .ready
            try records.store(&record, place)
            return made
        } catch {
            opened?.close()
            // If the disk failed late, the ready state may have been stored. The next call removes
            // anything that stays now.
            let wasReady = record.state == .ready
            record = record.destroyed(.creating)
            let isUndone = !wasReady || (try? records.store(&record, place)) != nil
            if isUndone { try? removeRemains(record, place) }
            throw error
        }
    }

    /// Returns an existing vault.
    ///
    /// - Parameter id: Its id.
    /// - Returns: The vault: the same object for as long as it is referenced, otherwise a locked
    ///   one.
    /// - Throws: `DataVaultError`: `.doesNotExist`; `.ioReadError` if its record cannot be read or
    ///   was lost; `.invalidArg`, `.nameTooLong`.
    public func vault(id: String) throws -> DataVault {
        let place = try place(id)
        do {
            _ = try records.readyRecord(place)
        } catch let error as DestroyedVault {
            throw destroyedError(place, error)
        }
        return LiveVaults.vault(place, in: self)
    }

    /// Deletes a vault: its key first, then its file.
    ///
    /// Callers that have it open, in this process or another, get `.doesNotExist` from then on.
    ///
    /// - Parameter id: Its id.
    /// - Returns: Whether it existed, or remains of one whose keys were lost.
    /// - Throws: `DataVaultError`: `.ioWriteError`; `.unknown` with the error of ``onDestruction``:
    ///   the vault is then gone, and the next call about the id calls the handler again;
    ///   `.invalidArg`, `.nameTooLong`.
    @discardableResult
    public func delete(id: String) throws -> Bool {
        let place = try place(id)
        // Leaves nothing behind, such as the files of locks.
        guard try (try? hasRecord(place)) ?? true || place.hasDatabase() else { return false }
        let isNested = DestructionTurn.isOurs(place)
        return try DestructionTurn.taken(place) {
            let remains = try place.recordLock.held { try destroy(place) }
            guard !isNested else { return remains != .none }
            switch remains {
            case .none, .record: try finishDestruction(place, isLast: true)
            case .nothing: try tell(onDestruction, place, isSelfDestructed: false)
            }
            return remains != .none
        }
    }

    /// How a deletion is recorded until the destruction is complete.
    private enum Remains {
        /// No vault existed.
        case none
        case record, nothing
    }

    private func destroy(_ place: VaultPlace) throws -> Remains {
        if let record = try? records.read(place) {
            switch record.state {
            case .ready:
                var destroyed = record.destroyed(.deleted)
                guard (try? records.store(&destroyed, place)) != nil else {
                    // The disk may be full. Removing needs no space, and makes room for the record.
                    let remains = try removeAll(place)
                    destroyed = record.destroyed(.deleted)
                    return (try? records.insert(&destroyed, place)) == nil ? remains : .record
                }
                // Not left to `finishDestruction`, which runs later if this is the handler's own
                // thread.
                LiveVaults.existing(place)?.close()
                try place.removeDatabases()
                return .record
            case .creating: try removeRemains(record, place)
            case .deleted, .selfDestructed, .ended: break
            }
            return .none
        }
        guard try (try? hasRecord(place)) ?? true || place.hasDatabase() else { return .none }
        // Nothing but the name can be recovered from an unreadable record.
        let tombstone = VaultRecord(creatingWith: .init()).destroyed(.deleted)
        guard (try? records.replace(with: tombstone, place)) == nil else { return .record }
        // Without the device's key, no record can be stored.
        return try removeAll(place)
    }

    /// Destroys a vault of which no record can stay.
    private func removeAll(_ place: VaultPlace) throws -> Remains {
        try records.remove(place)
        LiveVaults.existing(place)?.close()
        try place.removeDatabases()
        return .nothing
    }

    /// Returns whether a vault with an id exists, or remains of one whose keys cannot be read.
    ///
    /// - Parameter id: Its id.
    /// - Returns: False is certain: `create(id:password:policy:)` would create one.
    /// - Throws: `DataVaultError`: `.ioReadError` if the key store cannot be queried;
    ///   `.invalidArg`, `.nameTooLong`.
    public func exists(id: String) throws -> Bool {
        let place = try place(id)
        guard let record = try? records.read(place) else {
            return try hasRecord(place) || place.hasDatabase()
        }
        return record.state == .ready
    }

    /// Returns the ids of all vaults, including those with an unreadable record.
    ///
    /// - Returns: The ids, ordered by their bytes.
    /// - Throws: `DataVaultError.ioReadError` rather than returning an incomplete list.
    public func ids() throws -> [String] {
        try records.ids().filter { id in
            // A vault with an unreadable record exists.
            guard let record = try? records.read(place(id)) else {
                return true
            }
            return record.state == .ready
        }
        .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Returns the ids of vaults that have keys but no file: those of an earlier installation of
    /// the app.
    ///
    /// A keychain outlives the app, while the app's files are removed with it. Delete these vaults
    /// at the first start.
    ///
    /// - Returns: The ids, ordered by their bytes.
    /// - Throws: `DataVaultError.ioReadError`.
    public func idsOfEarlierInstallation() throws -> [String] {
        try ids().filter { try !place($0).hasDatabase() }
    }

    /// Returns whether the key store has an entry under the vault's name, even a damaged one.
    private func hasRecord(_ place: VaultPlace) throws -> Bool {
        try DataVaultError.reading {
            do {
                _ = try records.keyStore.read(place.entryName)
                return true
            } catch KeyStoreError.notFound {
                return false
            } catch KeyStoreError.damaged {
                return true
            }
        }
    }
}
