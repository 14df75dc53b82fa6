internal import Foundation
internal import SecureStorage

extension DataVaultContainer {
    /// Makes a vault.
    ///
    /// Blocks for the derivation of a key, about half a second, unless the password is empty. A kill at any time
    /// leaves the whole vault, or none.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 bytes of UTF-8, such as `org.example.notes.main`; ids are the same when their bytes are.
    ///   - password: Empty for the default password: then who has the key store opens the vault.
    ///   - policy: The vault's policy, which the password has to keep to.
    /// - Returns: The vault, unlocked.
    /// - Throws: `DataVaultError`: `.alreadyExists`; codes 50 to 56 for the password; `.locked` when the vault was made, and
    ///   locked meanwhile; `.invalidArg`,
    ///   `.nameTooLong`, `.ioReadError`, `.ioWriteError`, `.outOfMemory`.
    public func create(
        id: String, password: some DataVaultPassword, policy: DataVaultPasswordPolicy = .init()
    ) throws -> DataVault {
        let place = try VaultPlace(id: id, in: directory)
        let password = password.passwordBytes
        try policy.validate()
        try policy.check(password)
        // What a kill has left goes first, with its handler.
        try? finishDestruction(place)
        let vault = LiveVaults.vault(place, in: self)
        let locks = vault.lockCount
        try VaultLock.held(at: place.lockPath) {
            if let old = try? records.read(place) {
                guard old.state != .ready else { throw DataVaultError.alreadyExists }
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
        return vault
    }

    private func make(
        _ place: VaultPlace, _ password: SecretBytes, _ policy: DataVaultPasswordPolicy,
        for vault: DataVault
    ) throws -> OpenedVault {
        try records.prepareDeviceKey()
        var record = VaultRecord(creatingWith: policy)
        let key = try DataVaultError.reading { try DataEncryptionKey.random(name: "datavault") }
        try records.insert(&record, place)
        var opened: OpenedVault?
        do {
            try VaultValues.create(place.databasePath(record.incarnation), key: key)
            try setPassword(password, of: &record, place, key)
            let made = try vault.open(record, key)
            opened = made
            record.state = .ready
            try records.store(&record, place)
            return made
        } catch {
            opened?.close()
            // A disk that fails at its end may have stored that it is ready. What stays now, the next call removes.
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
    /// - Returns: The vault: the same object as long as somebody refers to it, and locked when nobody has.
    /// - Throws: `DataVaultError`: `.doesNotExist`; `.ioReadError` when its record cannot be read or was lost;
    ///   `.invalidArg`, `.nameTooLong`.
    public func vault(id: String) throws -> DataVault {
        let place = try VaultPlace(id: id, in: directory)
        do {
            _ = try readyRecord(place)
        } catch let error as DestroyedVault {
            throw destroyedError(place, isSelfDestructed: error.isSelfDestructed)
        }
        return LiveVaults.vault(place, in: self)
    }

    /// Deletes a vault: its key first, then its file.
    ///
    /// Who has it open, in this process or another one, gets `.doesNotExist` from then on.
    ///
    /// - Parameter id: Its id.
    /// - Returns: Whether there was one, or what was left of one whose keys were lost.
    /// - Throws: `DataVaultError`: `.ioWriteError`; `.unknown` with what ``onDestruction`` has thrown, the vault is gone then;
    ///   `.invalidArg`, `.nameTooLong`.
    @discardableResult
    public func delete(id: String) throws -> Bool {
        let place = try VaultPlace(id: id, in: directory)
        let existed = try VaultLock.held(at: place.lockPath) {
            if let record = try? records.read(place) {
                switch record.state {
                case .ready:
                    var destroyed = record.destroyed(.deleted)
                    try records.store(&destroyed, place)
                case .creating: try removeRemains(record, place)
                case .deleted, .selfDestructed: break
                }
                return record.state == .ready
            }
            // Of a record that cannot be read nothing is to be saved but its name.
            let hadRecord = try records.remove(place)
            let hadDatabase = try place.hasDatabase()
            LiveVaults.existing(place)?.close()
            try place.removeDatabases()
            return hadRecord || hadDatabase
        }
        try finishDestruction(place)
        return existed
    }

    /// Whether there is a vault of an id, or what is left of one whose keys cannot be read.
    ///
    /// - Parameter id: Its id.
    /// - Returns: False is certain: `create(id:password:policy:)` would make one.
    /// - Throws: `DataVaultError`: `.ioReadError` when the key store cannot be asked; `.invalidArg`, `.nameTooLong`.
    public func exists(id: String) throws -> Bool {
        let place = try VaultPlace(id: id, in: directory)
        guard let record = try? records.read(place) else {
            return try hasRecord(place) || place.hasDatabase()
        }
        if record.state != .ready { try? finishDestruction(place) }
        return record.state == .ready
    }

    /// The ids of all vaults, also of those whose record cannot be read.
    ///
    /// - Returns: In the order of their bytes.
    /// - Throws: `DataVaultError.ioReadError` rather than a list with a gap.
    public func ids() throws -> [String] {
        try records.ids().filter { id in
            // One that cannot be read is there.
            guard let record = try? records.read(VaultPlace(id: id, in: directory)) else {
                return true
            }
            return record.state == .ready
        }
        .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The ids of vaults that have keys and no file: of an earlier installation of the app.
    ///
    /// A keychain outlives the app whose files are removed with it. Delete these vaults at the first start.
    ///
    /// - Returns: In the order of their bytes.
    /// - Throws: `DataVaultError.ioReadError`.
    public func idsOfEarlierInstallation() throws -> [String] {
        try ids().filter { try !VaultPlace(id: $0, in: directory).hasDatabase() }
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
