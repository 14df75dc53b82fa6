public import Foundation

extension SecureDatabaseQueue {
    /// Names a database file by its URL, for a store that only this queue uses.
    ///
    /// - Parameters:
    ///   - url: A file URL; `open` fails for any other.
    ///   - configuration: Checked at open.
    public convenience init(url: URL, configuration: SecureDatabaseConfiguration = .init()) {
        self.init(databaseStore: SecureDatabaseStore(url: url, configuration: configuration))
    }

    /// Names a database file anywhere, for a store that only this queue uses.
    ///
    /// - Parameters:
    ///   - fullDatabasePath: A path with the file name; see
    ///     ``SecureDatabaseStore/init(fullDatabasePath:)``.
    ///   - configuration: Checked at open.
    public convenience init(
        fullDatabasePath: String, configuration: SecureDatabaseConfiguration = .init()
    ) {
        self.init(
            databaseStore: SecureDatabaseStore(
                fullDatabasePath: fullDatabasePath, configuration: configuration))
    }

    /// Names a database file in the default directory, for a store that only this queue uses.
    ///
    /// - Parameters:
    ///   - databaseFileName: A file name with its extension; for the directory see
    ///     ``SecureDatabaseStore/init(databaseFileName:)``.
    ///   - configuration: Checked at open.
    public convenience init(
        databaseFileName: String, configuration: SecureDatabaseConfiguration = .init()
    ) {
        self.init(
            databaseStore: SecureDatabaseStore(
                databaseFileName: databaseFileName, configuration: configuration))
    }

    /// The location of the file, absolute, as it was given to the initializer of the store.
    public var databaseURL: URL { store.databaseURL }

    /// The settings of the store, fixed at its initializer.
    public var configuration: SecureDatabaseConfiguration { store.configuration }

    /// Opens the store in its turn, and creates the file if it does not exist.
    ///
    /// Only checks the key if the store is open already.
    ///
    /// - Parameters:
    ///   - key: A passphrase or a raw key.
    ///   - initializationHandler: As for
    ///     ``SecureDatabaseStore/open(with:initializationHandler:)-(DatabaseKey,_)``.
    /// - Throws: As the store's; `.authenticationFailed` if it is open with another key.
    public func open(
        with key: DatabaseKey, initializationHandler: (SecureDatabaseStore) -> (any Error)?
    ) throws {
        let keys = try inTurn { db -> [DerivedKey] in
            if db.isOpen() { return db.source?.keys ?? [] }
            try db.open(with: key, initializationHandler: initializationHandler)
            return []
        }
        try DerivedKey.require(key, toBeIn: keys, configuration.cipher)
    }

    /// Whether the store is open and can be used; waits for its turn.
    public func isOpen() -> Bool { (try? inTurn { $0.isOpen() }) ?? false }

    /// Closes the store in its turn; see ``SecureDatabaseStore/close()``.
    ///
    /// Calls that arrive later throw `.closed`. Inside a block of this queue it closes the store
    /// immediately.
    public func close() { try? inTurn { $0.close() } }

    /// Re-encrypts the whole file with a new key, in its turn.
    ///
    /// Calls that arrive in the meantime wait for as long as reading and writing the whole file
    /// once takes.
    ///
    /// - Parameters:
    ///   - newKey: A passphrase or a raw key.
    ///   - progress: As for ``SecureDatabaseStore/changeEncryptionKey(with:progress:)``; it cannot
    ///     call the queue.
    /// - Throws: As the store's; what `progress` throws.
    public func changeEncryptionKey(
        with newKey: DatabaseKey, progress: FileProgress.Handler
    ) throws {
        try inTurn {
            $0.sharing.rows.endForKeyChange()
            try $0.changeEncryptionKey(with: newKey, progress: progress)
        }
    }

    /// Interrupts the running statements, whichever thread's turn it is.
    ///
    /// Thread-safe; does not wait for a turn. See ``SecureDatabaseStore/interrupt()``. The block
    /// that meets the error continues or throws it, and a transaction is then rolled back.
    public func interrupt() { interruption.interrupt() }
}
