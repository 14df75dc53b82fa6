internal import CSQLCipher
internal import Foundation

extension Connection {
    /// Makes hostile files and mistakes harmless, before anything of the file is read.
    func applyDefences() throws {
        // SQL cannot write shadow tables and the schema; functions that a schema calls are not
        // trusted.
        try check(csqlcipher_db_config(requireHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1))
        try check(csqlcipher_db_config(requireHandle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0))
        try set([
            "temp_store = MEMORY",  // a temporary file would be plain text
            "mmap_size = 0",  // mapped pages would bypass the cipher's checks
            "cell_size_check = ON",
        ])
        // Before anything of the file is read, and before the authorizer is there.
        try installTokenizers()
    }

    /// Sets PRAGMAs that report nothing.
    ///
    /// In one call of the engine, since each statement of its own takes a tenth of the time that
    /// opening a file takes.
    func set(_ pragmas: [String]) throws {
        let sql = pragmas.map { "PRAGMA \($0)" }.joined(separator: ";")
        try check(sqlite3_exec(requireHandle(), sql, nil, nil, nil), sql: sql)
    }

    /// Whether nobody needs the file after a power cut.
    ///
    /// The settings of a temporary database may be used for another file, such as its backup.
    private var isTemporary: Bool {
        configuration.temporaryFolder.map { path.hasPrefix($0.path + "/") } ?? false
    }

    /// Applies the configuration.
    func applySettings() throws {
        // Double quotes mark a name, never a string.
        try check(csqlcipher_db_config(requireHandle(), SQLITE_DBCONFIG_DQS_DML, 0))
        try check(csqlcipher_db_config(requireHandle(), SQLITE_DBCONFIG_DQS_DDL, 0))
        try set([
            "cache_size = \(-min(max(configuration.cacheSize, 1024) / 1024, Int(Int32.max)))",
            "foreign_keys = \(configuration.foreignKeysEnabled ? "ON" : "OFF")",
            "synchronous = \(isTemporary ? "OFF" : configuration.synchronousLevel)",
            // On Darwin an fsync does not reach the medium; elsewhere these two have no effect.
            "fullfsync = \(configuration.synchronous == .full ? "ON" : "OFF")",
            "checkpoint_fullfsync = ON",
        ])
        if !configuration.isReadOnly, !configuration.keepsJournalMode { try applyJournalMode() }
        if configuration.keepsWriteAheadLog { try keepWriteAheadLog() }
        authorizer.origin = configuration.runsUntrustedSQL ? .stranger : .app
        try installAuthorizer()
        // The authorizer has not seen the statements that were prepared before.
        statements.removeAll()
    }

    /// Moves the log that is kept beside the file into it and truncates it, when this connection
    /// closes.
    ///
    /// Does nothing if a transaction of another connection is in the way. The last connection does
    /// this by itself, but a read-only one cannot.
    func emptyKeptLog() {
        guard configuration.keepsWriteAheadLog, !configuration.isReadOnly, isProven,
            let handle, ((try? file.status("-wal"))??.st_size ?? 0) > 0
        else { return }
        if isInTransaction { _ = sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
        _ = checkpoint(SQLITE_CHECKPOINT_TRUNCATE, of: "main", waiting: false)
    }

    private func keepWriteAheadLog() throws {
        var keeps: Int32 = 1
        try check(
            sqlite3_file_control(requireHandle(), "main", SQLITE_FCNTL_PERSIST_WAL, &keeps))
        // With any limit, the last connection empties the log that it leaves.
        try set(["journal_size_limit = \(16 << 20)"])
    }

    private func applyJournalMode() throws {
        let wanted = configuration.journalMode.rawValue
        let mode = try text("PRAGMA journal_mode = \(wanted)")
        guard mode?.lowercased() == wanted else {
            throw SecureStorageError.statementFailed(
                .busy, "the journal mode remains \(mode ?? "unknown") instead of \(wanted)")
        }
    }
}

extension SecureDatabaseConfiguration {
    /// The value of `PRAGMA synchronous`.
    ///
    /// FULL does not sync the directory after it has removed a journal: a power cut can bring the
    /// journal back, which then undoes a commit. EXTRA does, and equals FULL with a log.
    var synchronousLevel: String {
        switch (synchronous, journalMode) {
        case (.full, .delete): "EXTRA"
        case (.full, .wal): keepsJournalMode ? "EXTRA" : "FULL"
        case (.normal, _): "NORMAL"
        }
    }
}
