internal import Foundation

/// The pragmas that SQL may run, and their allowed values: one rule for each that SQLite 3.46 and
/// SQLCipher 4.6 know.
///
/// A pragma is refused where it would silently break what the store promises: that the file stays
/// encrypted, that a commit lasts, that a page is checked before it is used. What is the app's
/// decision (how SQL behaves, how much memory it uses, what fails with an error) is allowed. The
/// engine ignores pragmas that it does not know, so those have no rule.
struct PragmaRules {
    let configuration: SecureDatabaseConfiguration

    /// Returns why a statement of the app may not run a pragma, and what to do instead; nil when it
    /// may.
    ///
    /// The name is as spelled in the statement, the argument without quotes; the database is the
    /// schema in front of the name.
    func refusal(_ name: String, argument: String?, database: String?) -> String? {
        let name = name.lowercased()
        guard let (rule, reason) = rule(for: name) else { return nil }
        let isAllowed =
            switch (rule, argument?.lowercased()) {
            case (.free, _): true
            case (.never, _): false
            case (_, nil): true
            case (.looking, .some): false
            case (.values(let allowed), .some(let value)): allowed.contains(value)
            case (.setting(let allows), .some(let value)): allows(value, isMain(database))
            }
        // A name with this ending may be a key itself, where a quote is missing.
        let shown = name.hasSuffix("key") ? "with a key" : name
        return isAllowed ? nil : "PRAGMA \(shown) is refused: \(reason)"
    }

    private func isMain(_ database: String?) -> Bool {
        database.map { $0.lowercased() == "main" } ?? true
    }

    // MARK: - The rules

    enum Rule {
        /// Allowed with any value and without one.
        case free
        /// Refused even without a value, since the pragma acts or reveals something then too.
        case never
        /// Allowed without a value only.
        case looking
        /// Allowed with these values, in lower case, and without one.
        case values(Set<String>)
        /// Allowed with values that fit the configuration; `isMain` is false for an attached file.
        case setting((_ value: String, _ isMain: Bool) -> Bool)
    }

    /// Returns the rule of a pragma and the reason for it; nil for an unknown pragma.
    func rule(for name: String) -> (Rule, reason: String)? {
        // key, rekey, hexkey, hexrekey, textkey, textrekey: the key would change without the
        // store's knowledge and leave traces. No other pragma has this ending.
        if name.hasSuffix("key") {
            return (.never, "pass the key to open(with:) or changeEncryptionKey(with:)")
        }
        if Self.appsOwn.contains(name) { return (.free, "") }
        return durability(name) ?? safety(name) ?? process(name) ?? cipher(name)
    }

    /// Pragmas on which no promise of the store depends.
    private static let appsOwn: Set<String> = [
        // What is in the file, and what the engine knows. These only read.
        "collation_list", "compile_options", "data_version", "database_list", "foreign_key_check",
        "foreign_key_list", "freelist_count", "function_list", "index_info", "index_list",
        "index_xinfo", "integrity_check", "module_list", "page_count", "pragma_list", "quick_check",
        "table_info", "table_list", "table_xinfo",
        // Numbers for the app, and layout that does not affect any promise.
        "application_id", "user_version", "auto_vacuum", "encoding", "incremental_vacuum",
        "max_page_count", "default_cache_size", "legacy_file_format",
        // Memory and speed. Pages that leave the cache early are encrypted like all others.
        "analysis_limit", "automatic_index", "cache_size", "cache_spill", "optimize",
        "shrink_memory", "stats", "threads",
        // Waiting; see `SecureDatabaseConfiguration.busyTimeout`.
        "busy_timeout",
        // How SQL behaves on this connection. SQLite's manual has an app turn foreign keys and the
        // rewriting of names off for schema changes, and CHECKs for rows that are known.
        "case_sensitive_like", "defer_foreign_keys", "foreign_keys", "ignore_check_constraints",
        "legacy_alter_table", "query_only", "read_uncommitted", "recursive_triggers",
        "reverse_unordered_selects",
        // How columns are named and counted; SQLite calls these deprecated.
        "count_changes", "empty_result_callbacks", "full_column_names", "short_column_names",
        // For engines that are built for debugging.
        "parser_trace", "vdbe_addoptrace", "vdbe_debug", "vdbe_eqp", "vdbe_listing", "vdbe_trace",
        "lock_status",
    ]

    private static let on: Set<String> = ["on", "yes", "true", "1"]
    private static let off: Set<String> = ["off", "no", "false", "0"]

    /// Returns the rules that make a commit last and let other connections use the file.
    private func durability(_ name: String) -> (Rule, String)? {
        switch name {
        case "synchronous":
            return (
                .setting { value, _ in Self.level(value).map { $0 >= neededLevel } ?? false },
                "a power cut could undo commits; "
                    + "SecureDatabaseConfiguration.synchronous sets how durable a commit is"
            )
        case "journal_mode":
            return (
                .setting(allowsJournal),
                "a crash could damage the file, or other connections could wait for each other; "
                    + "SecureDatabaseConfiguration.journalMode sets it"
            )
        case "fullfsync", "checkpoint_fullfsync":
            let isNeeded = name == "checkpoint_fullfsync" || configuration.synchronous == .full
            return (
                .values(isNeeded ? Self.on : Self.on.union(Self.off)),
                "a power cut could undo commits; "
                    + "SecureDatabaseConfiguration.synchronous sets how durable a commit is"
            )
        case "locking_mode":
            return (
                .values(["normal"]),
                "other connections could not use the file, and suspend() could not release it; "
                    + "beginExclusiveTransaction() keeps others out"
            )
        case "wal_autocheckpoint":
            return (.looking, "the store runs checkpoints itself; see checkpoint(_:)")
        case "wal_checkpoint":
            // See Docs/Decisions/0004.
            return (
                .never,
                "concurrent with a commit it can damage the file in SQLite before 3.51.3; use checkpoint(_:)"
            )
        case "journal_size_limit" where configuration.keepsWriteAheadLog:
            return (
                .looking,
                "the log that SecureDatabaseConfiguration.keepsWriteAheadLog keeps must be emptied"
            )
        case "journal_size_limit": return (.free, "")
        default: return nil
        }
    }

    /// Returns the number of a `PRAGMA synchronous` level from NORMAL up; nil for OFF, and for a
    /// value that SQLite would guess at.
    private static func level(_ value: String) -> Int? {
        switch value {
        case "normal", "1", "on", "yes", "true": 1
        case "full", "2": 2
        case "extra", "3": 3
        default: nil
        }
    }

    private var neededLevel: Int {
        Self.level(configuration.synchronousLevel.lowercased()) ?? 3
    }

    /// Returns whether a journal mode is the configured one or as safe.
    ///
    /// TRUNCATE and PERSIST are as safe as DELETE. An attached file has its own mode, as does a
    /// file that keeps its mode; MEMORY and OFF are safe nowhere.
    private func allowsJournal(_ value: String, isMain: Bool) -> Bool {
        let isFree = !isMain || configuration.keepsJournalMode
        return switch value {
        case "wal": isFree || configuration.journalMode == .wal
        case "delete", "truncate", "persist": isFree || configuration.journalMode == .delete
        default: false
        }
    }

    /// Returns the rules that keep data from being written in plain, read unchecked or left over.
    private func safety(_ name: String) -> (Rule, String)? {
        switch name {
        case "temp_store":
            return (.values(["memory", "2"]), "a temporary file would be plain text")
        case "temp_store_directory", "data_store_directory":
            return (
                .looking,
                "temporary data stays in memory, and the directory applies to the whole process"
            )
        case "lock_proxy_file":
            return (.looking, "the locks are those of the file itself")
        case "mmap_size":
            return (.values(["0"]), "mapped pages would bypass the cipher's checks")
        case "secure_delete":
            return (.values(Self.on), "deleted rows are overwritten")
        case "cell_size_check":
            return (.values(Self.on), "pages are checked before they are used")
        case "trusted_schema":
            return (
                .values(Self.off),
                "the schema of an untrusted file could call functions not meant for it; "
                    + "create a function with isInnocuous if a schema must call it"
            )
        case "writable_schema":
            return (.values(Self.off), "change the schema with CREATE, ALTER and DROP")
        case "schema_version":
            return (.looking, "SQLite counts schema changes itself; use user_version")
        case "page_size":
            return (
                .setting { value, isMain in isMain && Int(value) == configuration.cipher.pageSize },
                "the file would become unreadable; CipherConfiguration.pageSize is for new files"
            )
        default: return nil
        }
    }

    /// Returns the rules for what belongs to the whole process.
    private func process(_ name: String) -> (Rule, String)? {
        switch name {
        case "hard_heap_limit", "soft_heap_limit":
            return (
                .looking,
                "it applies to the whole process; see SecureDatabaseConfiguration.cacheSize"
            )
        case "cipher_memory_security", "cipher_license", "cipher_add_random": return (.free, "")
        default: return nil
        }
    }

    /// Returns the rules for the cipher's settings.
    ///
    /// The way pages are read and written must not change under an open file; `cipher_default_…`
    /// and the log, which would show values, are process-wide.
    private func cipher(_ name: String) -> (Rule, String)? {
        // Works on the file by its name, with keys that it makes itself.
        if name == "cipher_migrate" {
            return (.never, "SecureDatabaseStore.migrate(at:key:) converts a file to the format")
        }
        guard name.hasPrefix("cipher_") || name.hasSuffix("kdf_iter") || name == "rekey_cipher"
        else { return nil }
        return (
            .looking,
            "it would make the file unreadable, or applies to the whole process; "
                + "SecureDatabaseConfiguration.cipher sets how the file is encrypted"
        )
    }
}

// MARK: - Statements from elsewhere

extension PragmaRules {
    /// Returns why a statement of a stranger may not run a pragma; nil when it may.
    ///
    /// Allowed are pragmas that only read, those that number the file, and those that a dump begins
    /// with where they have no effect.
    func refusalForStranger(
        _ name: String, argument: String?, database: String?, isInTransaction: Bool
    ) -> String? {
        let name = name.lowercased()
        if let refusal = refusal(name, argument: argument, database: database) { return refusal }
        let isAllowed: Bool
        switch (argument, name) {
        case (nil, _): isAllowed = !Self.acting.contains(name)
        case (.some, "foreign_keys"): isAllowed = isInTransaction  // has no effect there
        case (.some, _): isAllowed = Self.strangersOwn.contains(name)
        }
        return isAllowed
            ? nil : "PRAGMA \(name) is refused: untrusted SQL may not change settings"
    }

    /// Pragmas that act without a value too.
    private static let acting: Set<String> = [
        "incremental_vacuum", "optimize", "shrink_memory", "cipher_integrity_check",
    ]

    private static let strangersOwn: Set<String> = [
        "foreign_key_check", "foreign_key_list", "index_info", "index_list", "index_xinfo",
        "integrity_check", "quick_check", "table_info", "table_list", "table_xinfo",
        "application_id", "user_version", "defer_foreign_keys", "encoding",
    ]
}
