internal import CSQLCipher
internal import Foundation
internal import Logging

// Examines what a crash has left beside the file, before the engine acts on it.

extension Connection {
    /// Refuses a file whose journal or log would make the engine mix two states, and logs a warning
    /// about a log that has lost commits.
    ///
    /// - Throws: `.openFailed` code `.corrupt`; nothing was changed then.
    func examineSideFiles(_ cipher: PageCipher) throws {
        guard ["-journal", "-wal"].contains(where: { access(path + $0, F_OK) == 0 }) else { return }
        if let damage = try JournalExamination(path: path, cipher: cipher).damage(),
            syncsCommits || !damage.isSureWithFullOnly
        {
            throw damage.openingError(path)
        }
        guard let damage = try logDamage(cipher) else { return }
        guard !damage.mixesStates else { throw damage.openingError(path) }
        logger.warning("\"\(path)\": \(damage.description)")
    }

    /// Returns the damage to the log: commits in it that this connection does not find.
    func logDamage() throws -> LogDamage? {
        guard let key else { return nil }
        return try logDamage(PageCipher(key, configuration.cipher))
    }

    private func logDamage(_ cipher: PageCipher) throws -> LogDamage? {
        // Of grouped writes, several are on their way to the disk at a time.
        let syncsEach = syncsCommits && !configuration.groupsWrites
        return try LogExamination(path: path, cipher: cipher, syncsCommits: syncsEach).damage()
    }

    private var syncsCommits: Bool { configuration.synchronous == .full }

    /// Plays back the journal that a crash has left, through a temporary connection that may write.
    ///
    /// A read-only connection may not do so itself. This happens under SQLite's locks, and after
    /// `examineSideFiles`. Where this process may not write, it does nothing; `explainingJournal`
    /// reports that.
    func playBackJournal(_ key: DerivedKey) throws {
        guard configuration.isReadOnly, try hasJournal(), mayWrite else { return }
        var writable = configuration
        writable.isReadOnly = false
        let connection = try Connection(path: path, configuration: writable)
        defer { connection.close() }
        try connection.applyKey(key)
        try connection.proveKey()
    }

    /// Explains what to do about a journal that this process may not play back.
    func explainingJournal(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch SecureStorageError.backingStoreError(Int(SQLITE_READONLY), _)
            where configuration.isReadOnly && (try? hasJournal()) == true
        {
            throw SecureStorageError.statementFailed(
                .readOnly,
                "a crash left behind the journal \"\(path)-journal\", which must be played back before "
                    + "anything can be read, and this process may not write the file and its "
                    + "directory; open the file once from an account that may, or copy both files "
                    + "to your own directory and open the copy")
        }
    }

    private func hasJournal() throws -> Bool {
        try RollbackJournal(of: path, pageSize: configuration.cipher.pageSize) != nil
    }

    private var mayWrite: Bool {
        access(path, W_OK) == 0
            && access(DatabaseFile(resolvedPath: path).directoryPath, W_OK) == 0
    }
}
