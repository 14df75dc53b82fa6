internal import Foundation
internal import SecureStorage

extension DataVaultContainer {
    /// Makes a vault.
    ///
    /// Blocks for the derivation of a key, about half a second, unless the password is empty, and
    /// as long as ``onDestruction`` is at work on an earlier vault of the id. A kill at any time
    /// leaves the whole vault, or none.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 bytes of UTF-8, such as `org.example.notes.main`; ids are the same when
    ///     their bytes are.
    ///   - password: Empty for the default password: then who has the key store opens the vault.
    ///   - policy: The vault's policy, which the password has to keep to.
    /// - Returns: The vault, unlocked.
    /// - Throws: `DataVaultError`: `.alreadyExists`; codes 50 to 56 for the password; `.locked`
    ///   when the vault was made, and locked meanwhile; `.unknown` with what ``onDestruction`` has
    ///   thrown about an earlier vault; `.invalidArg`, `.nameTooLong`, `.ioReadError`,
    ///   `.ioWriteError`, `.outOfMemory`.
    public func create(
        id: String, password: some DataVaultPassword, policy: DataVaultPasswordPolicy = .init()
    ) throws -> DataVault {
        let vault = LiveVaults.vault(try place(id), in: self)
        try create(
            vault, password.passwordBytes, policy, unlessLockedSince: vault.lockCount)
        return vault
    }

    /// Makes the vault of an object that is there already.
    func create(
        _ vault: DataVault, _ password: SecretBytes, _ policy: DataVaultPasswordPolicy,
        unlessLockedSince locks: Int
    ) throws {
        let place = vault.place
        try policy.validate()
        let policy = policy.completed(by: .init())
        try policy.check(password)
        let isNested = DestructionTurn.isOurs(place)
        try DestructionTurn.taken(place) {
            // What a kill has left goes first, with the handler.
            if !isNested { try finishDestruction(place, isLast: true) }
            try place.recordLock.held {
                if let old = try? records.read(place) {
                    guard old.state == .creating || isNested && old.state.isDestroyed else {
                        throw DataVaultError.alreadyExists
                    }
                    try removeRemains(old, place)
                }
                // A record that cannot be read, or a database whose record was lost.
                guard try !hasRecord(place), try !place.hasDatabase() else {
                    throw DataVaultError.alreadyExists
                }
                vault.close()
                try vault.publish(
                    make(place, password, policy, for: vault), unlessLockedSince: locks)
            }
        }
    }

    private func make(
        _ place: VaultPlace, _ password: SecretBytes, _ policy: DataVaultPasswordPolicy,
        for vault: DataVault
    ) throws -> OpenedVault {
        try records.prepareDeviceKey(for: place)
        var record = VaultRecord(creatingWith: policy)
        let key = try DataVaultError.reading { try DataEncryptionKey.random(name: "datavault") }
        try records.insert(&record, place)
        var opened: OpenedVault?
        do {
            try VaultValues.create(place.databasePath(record.incarnation), key: key)
            try place.setMode(ofDatabase: record.incarnation)
            try setPassword(password, of: &record, place, key)
            let made = try vault.open(record, key)
            opened = made
            record.state = .ready
            try records.store(&record, place)
            return made
        } catch {
            opened?.close()
            // A disk that fails at its end may have stored that it is ready. What stays now, the
            // next call removes.
            let wasReady = record.state == .ready
            record = record.destroyed(.creating)
            let isUndone = !wasReady || (try? records.store(&record, place)) != nil
            if isUndone { try? removeRemains(record, place) }
            throw error
        }
    }

    /// A vault that exists.
    ///
    /// - Parameter id: Its id.
    /// - Returns: The vault: the same object as long as somebody refers to it, and locked when
    ///   nobody has.
    /// - Throws: `DataVaultError`: `.doesNotExist`; `.ioReadError` when its record cannot be read
    ///   or was lost; `.invalidArg`, `.nameTooLong`.
    public func vault(id: String) throws -> DataVault {
        let place = try place(id)
        do {
            _ = try readyRecord(place)
        } catch let error as DestroyedVault {
            throw destroyedError(place, error)
        }
        return LiveVaults.vault(place, in: self)
    }

    /// Deletes a vault: its key first, then its file.
    ///
    /// Who has it open, in this process or another one, gets `.doesNotExist` from then on.
    ///
    /// - Parameter id: Its id.
    /// - Returns: Whether there was one, or what was left of one whose keys were lost.
    /// - Throws: `DataVaultError`: `.ioWriteError`; `.unknown` with what ``onDestruction`` has
    ///   thrown, the vault is gone then and the next call about the id calls it again;
    ///   `.invalidArg`, `.nameTooLong`.
    @discardableResult
    public func delete(id: String) throws -> Bool {
        let place = try place(id)
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

    /// What tells of a vault that was deleted until its end.
    private enum Remains {
        /// There was no vault.
        case none
        case record, nothing
    }

    private func destroy(_ place: VaultPlace) throws -> Remains {
        if let record = try? records.read(place) {
            switch record.state {
            case .ready:
                var destroyed = record.destroyed(.deleted)
                try records.store(&destroyed, place)
                // Also when this is the handler's own thread, whose vaults are told of later.
                LiveVaults.existing(place)?.close()
                try place.removeDatabases()
                return .record
            case .creating: try removeRemains(record, place)
            case .deleted, .selfDestructed, .ended: break
            }
            return .none
        }
        guard try (try? hasRecord(place)) ?? true || place.hasDatabase() else { return .none }
        // Of a record that cannot be read nothing is to be saved but its name.
        let tombstone = VaultRecord(creatingWith: .init()).destroyed(.deleted)
        guard (try? records.replace(with: tombstone, place)) == nil else { return .record }
        // Without the device's key there is no record.
        try records.remove(place)
        LiveVaults.existing(place)?.close()
        try place.removeDatabases()
        return .nothing
    }

    /// Whether there is a vault of an id, or what is left of one whose keys cannot be read.
    ///
    /// - Parameter id: Its id.
    /// - Returns: False is certain: `create(id:password:policy:)` would make one.
    /// - Throws: `DataVaultError`: `.ioReadError` when the key store cannot be asked;
    ///   `.invalidArg`, `.nameTooLong`.
    public func exists(id: String) throws -> Bool {
        let place = try place(id)
        guard let record = try? records.read(place) else {
            return try hasRecord(place) || place.hasDatabase()
        }
        return record.state == .ready
    }

    /// The ids of all vaults, also of those whose record cannot be read.
    ///
    /// - Returns: In the order of their bytes.
    /// - Throws: `DataVaultError.ioReadError` rather than a list with a gap.
    public func ids() throws -> [String] {
        try records.ids().filter { id in
            // One that cannot be read is there.
            guard let record = try? records.read(place(id)) else {
                return true
            }
            return record.state == .ready
        }
        .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The ids of vaults that have keys and no file: of an earlier installation of the app.
    ///
    /// A keychain outlives the app whose files are removed with it. Delete these vaults at the
    /// first start.
    ///
    /// - Returns: In the order of their bytes.
    /// - Throws: `DataVaultError.ioReadError`.
    public func idsOfEarlierInstallation() throws -> [String] {
        try ids().filter { try !place($0).hasDatabase() }
    }

    /// Whether the key store has anything under the vault's name, also what is damaged.
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
