internal import CSQLCipher
internal import Foundation
internal import Logging

/// The SQLCipher that this process is linked with: what it is, and its process-wide state.
struct Engine: @unchecked Sendable {
    // @unchecked: `keeper` is only kept, never used.

    /// SQLite's version, for example `3.46.1`.
    let sqliteVersion: String
    /// SQLCipher's version, for example `4.6.1 community`.
    let cipherVersion: String
    /// The cryptographic library behind SQLCipher, for example `openssl`.
    let cipherProvider: String
    /// A connection that stays open for the life of the process: the last one to close would tear
    /// SQLCipher's global state down while another thread opens its first.
    private let keeper: OpaquePointer

    /// SQLite 3.7.0 to 3.51.2 can damage a WAL file when two connections check-point and write at
    /// the same instant ("WAL-reset bug", fixed in 3.51.3): see `Connection.installCheckpointing`.
    var hasWALResetBug: Bool { sqlite3_libversion_number() < 3_051_003 }

    /// The engine, examined once per process.
    ///
    /// - Throws: `.openFailed` when the linked library is not SQLCipher 4 or later: a program that also loads
    ///   the system's SQLite can end up with that one, and would write plain text.
    static func shared(announcingTo logger: Logger) throws -> Engine {
        let engine = try examined.get()
        if firstLogger.takeTurn() { engine.announce(to: logger) }
        return engine
    }

    static let examined: Result<Engine, SecureStorageError> = Result(catching: examine)
    private static let firstLogger = FirstTurn()

    private static func examine() throws(SecureStorageError) -> Engine {
        func unusable(_ reason: String) -> SecureStorageError {
            .openFailed(code: Int(SQLITE_MISUSE), message: reason)
        }
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY
        guard sqlite3_open_v2(":memory:", &handle, flags, nil) == SQLITE_OK, let handle else {
            sqlite3_close(handle)
            throw unusable("the SQLite engine cannot start; is memory exhausted?")
        }
        // Any key starts SQLCipher's machinery, which then logs to standard error unless told not
        // to; the level is the process's, and can be lowered only now.
        _ = sqlite3_key_v2(handle, "main", "engine", 6)
        guard let version = text(of: "PRAGMA cipher_version", handle), isSupported(version)
        else {
            sqlite3_close(handle)
            throw unusable(
                "the linked SQLite \(String(cString: sqlite3_libversion())) is not SQLCipher 4 or later, so "
                    + "nothing would be encrypted; link SQLCipher before any other SQLite")
        }
        _ = text(of: "PRAGMA cipher_log_level = NONE", handle)
        return Engine(
            sqliteVersion: String(cString: sqlite3_libversion()), cipherVersion: version,
            cipherProvider: text(of: "PRAGMA cipher_provider", handle) ?? "unknown",
            keeper: handle)
    }

    /// Whether `version`, such as `4.6.1 community`, is 4 or later.
    static func isSupported(_ version: String) -> Bool {
        Int(version.prefix { $0.isNumber }).map { $0 >= 4 } ?? false
    }

    /// The first column of the first row, or nil.
    static func text(of sql: String, _ handle: OpaquePointer?) -> String? {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW, let text = sqlite3_column_text(statement, 0)
        else { return nil }
        return String(cString: text)
    }

    /// Says once per process, to the first logger, which engine this is.
    private func announce(to logger: Logger) {
        logger.debug(
            "engine",
            metadata: [
                "sqlcipher": "\(cipherVersion)", "sqlite": "\(sqliteVersion)",
                "provider": "\(cipherProvider)",
            ])
        if hasWALResetBug {
            logger.debug(
                """
                SQLite \(sqliteVersion) has the WAL-reset bug (fixed in 3.51.3); \
                checkpoints are taken under the writer lock
                """)
        }
    }
}

/// Tells the first caller from all later ones.
private final class FirstTurn: @unchecked Sendable {
    // @unchecked: `taken` is only touched under `lock`.
    private let lock = NSLock()
    private var taken = false

    func takeTurn() -> Bool {
        lock.withLock {
            defer { taken = true }
            return !taken
        }
    }
}
