internal import CSQLCipher
internal import Foundation

extension Connection {
    /// Applies the configuration and the settings that make hostile files and slips harmless.
    func applySettings() throws {
        // Shadow tables and the schema are not writable by SQL; a double-quoted string is a name.
        for (option, value) in [
            (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_DQS_DML, 0),
            (SQLITE_DBCONFIG_DQS_DDL, 0), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        ] as [(Int32, Int32)] {
            try check(csqlcipher_db_config(handle, option, value))
        }
        try text("PRAGMA temp_store = MEMORY")  // a temporary file would be plain text
        try text("PRAGMA mmap_size = 0")  // mapped pages would bypass the cipher's checks
        try text("PRAGMA cell_size_check = ON")
        try text(
            "PRAGMA cache_size = \(-min(max(configuration.cacheSize, 1024) / 1024, Int(Int32.max)))"
        )
        try text("PRAGMA foreign_keys = \(configuration.foreignKeysEnabled ? "ON" : "OFF")")
        try text("PRAGMA synchronous = \(synchronous)")
        #if canImport(Darwin)
            // An fsync there does not reach the medium.
            let full = configuration.synchronous == .full ? "ON" : "OFF"
            try text("PRAGMA fullfsync = \(full)")
            try text("PRAGMA checkpoint_fullfsync = ON")
        #endif
        if !configuration.isReadOnly { try applyJournalMode() }
        if configuration.keepsWriteAheadLog { try keepWriteAheadLog() }
        try installAuthorizer()
        // What was prepared before has not been seen by it.
        statements.removeAll()
    }

    // FULL does not sync the directory after it has removed a journal: a power cut can bring the journal back,
    // and that takes back what was committed. EXTRA does.
    private var synchronous: String {
        switch (configuration.synchronous, configuration.journalMode) {
        case (.full, .delete): "EXTRA"
        case (.full, .wal): "FULL"
        case (.normal, _): "NORMAL"
        }
    }

    private func keepWriteAheadLog() throws {
        var keeps: Int32 = 1
        try check(sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &keeps))
        // With a limit, whichever, the last connection empties the log that it leaves.
        try text("PRAGMA journal_size_limit = \(16 << 20)")
    }

    private func applyJournalMode() throws {
        let wanted = configuration.journalMode.rawValue
        let mode = try text("PRAGMA journal_mode = \(wanted)")
        guard mode?.lowercased() == wanted else {
            throw SecureStorageError.statementFailed(
                .busy, "the journal mode stays \(mode ?? "unknown") instead of \(wanted)")
        }
    }
}
