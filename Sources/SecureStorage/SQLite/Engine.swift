internal import CSQLCipher
internal import Foundation
internal import Logging
internal import SecureStoragePlatform

/// The SQLCipher that this process is linked with, and its process-wide state.
struct Engine: Sendable {
    let description: SecureDatabaseEngine
    /// A connection that stays open for the life of the process.
    ///
    /// Otherwise the last connection to close would tear down SQLCipher's global state while
    /// another thread opens its first one.
    // nonisolated(unsafe): it is only kept, never used.
    nonisolated(unsafe) private let keeper: OpaquePointer

    /// Whether the engine has the "WAL-reset bug", which is fixed in SQLite 3.51.3.
    ///
    /// SQLite 3.7.0 to 3.51.2 can damage a WAL file when two connections checkpoint and write at
    /// the same instant: see `Connection.installCheckpointing`.
    var hasWALResetBug: Bool { sqlite3_libversion_number() < 3_051_003 }

    /// Returns the engine, examined once per process.
    ///
    /// - Throws: `.openFailed` when the linked library is not SQLCipher 4 or later: a program that
    ///   also loads the system's SQLite can end up with that one, and would write plain text.
    static func shared(announcingTo logger: Logger) throws -> Engine {
        let engine = try examined.get()
        let isFirst = isAnnounced.withLock { isAnnounced in
            defer { isAnnounced = true }
            return !isAnnounced
        }
        if isFirst { engine.announce(to: logger) }
        return engine
    }

    static let examined: Result<Engine, SecureStorageError> = Result(catching: examine)
    private static let isAnnounced = Locked(false)

    private static func examine() throws(SecureStorageError) -> Engine {
        func unusable(_ reason: String) -> SecureStorageError {
            .openFailed(code: Int(SQLITE_MISUSE), message: reason)
        }
        // Fails if other code has started the engine, which cannot be changed then.
        let clearsFreedMemory = csqlcipher_clear_freed_memory() == SQLITE_OK
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY
        guard sqlite3_open_v2(":memory:", &handle, flags, nil) == SQLITE_OK, let handle else {
            sqlite3_close(handle)
            throw unusable("the SQLite engine cannot start; is the memory exhausted?")
        }
        // Any key starts SQLCipher's machinery, which then logs to standard error unless that is
        // disabled; the level is process-wide, and can be lowered only now.
        _ = sqlite3_key_v2(handle, "main", "engine", 6)
        guard let version = text(of: "PRAGMA cipher_version", handle), isSupported(version)
        else {
            sqlite3_close(handle)
            throw unusable(
                "the linked SQLite \(String(cString: sqlite3_libversion())) is not SQLCipher 4 or later, so "
                    + "nothing would be encrypted; link SQLCipher before any other SQLite")
        }
        _ = text(of: "PRAGMA cipher_log_level = NONE", handle)
        let sqliteVersion = String(cString: sqlite3_libversion())
        let options = compileOptions()
        return Engine(
            description: SecureDatabaseEngine(
                sqliteVersion: sqliteVersion, cipherVersion: version,
                provider: text(of: "PRAGMA cipher_provider", handle) ?? "unknown",
                providerVersion: text(of: "PRAGMA cipher_provider_version", handle),
                options: options, clearsFreedMemory: clearsFreedMemory,
                weaknesses: SecureDatabaseEngine.Weakness.of(
                    sqlite: sqliteVersion, options: options)),
            keeper: handle)
    }

    /// Returns the options in alphabetical order; none when the engine was built without the list.
    private static func compileOptions() -> [String] {
        var options: [String] = []
        while let option = sqlite3_compileoption_get(Int32(options.count)) {
            options.append(String(cString: option))
        }
        return options.sorted()
    }

    /// Whether `version`, such as `4.6.1 community`, is 4 or later.
    static func isSupported(_ version: String) -> Bool {
        Int(version.prefix { $0.isNumber }).map { $0 >= 4 } ?? false
    }

    /// Returns the first column of the first row, or nil.
    static func text(of sql: String, _ handle: OpaquePointer?) -> String? {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW, let text = sqlite3_column_text(statement, 0)
        else { return nil }
        return String(cString: text)
    }

    /// Logs, once per process and to the first logger, which engine this is, and warns of an old
    /// one.
    private func announce(to logger: Logger) {
        logger.debug(
            "engine",
            metadata: [
                "sqlcipher": "\(description.cipherVersion)",
                "sqlite": "\(description.sqliteVersion)",
                "provider": "\(description.providerVersion ?? description.provider)",
            ])
        for weakness in description.weaknesses where weakness.isAvoided {
            logger.debug("\(weakness): \(weakness.summary)")
        }
        let met = description.weaknesses.filter { !$0.isAvoided }
        guard !met.isEmpty else { return }
        logger.warning(
            """
            the engine has known weaknesses; use a newer one for untrusted SQL or files: see \
            SecureDatabaseStore.engine
            """,
            metadata: [
                "engine":
                    "SQLCipher \(description.cipherVersion), SQLite \(description.sqliteVersion)",
                "weaknesses": .array(met.map { .string($0.description) }),
            ])
    }
}

extension Engine {
    static var isThreadSafe: Bool { sqlite3_threadsafe() != 0 }
}
