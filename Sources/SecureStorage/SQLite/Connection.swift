internal import CSQLCipher
internal import Foundation
internal import Logging

/// The sole owner of a `sqlite3` handle, keyed and set up.
///
/// Not thread-safe: its store or queue sees to it that one thread at a time is here.
final class Connection {
    let home = HomeProcess()
    /// Non-nil until `close()`.
    ///
    /// No C function may be called with nil: an engine that is built without
    /// `SQLITE_ENABLE_API_ARMOR` ends the process then. See `requireHandle()`.
    private(set) var handle: OpaquePointer?
    let path: String
    let configuration: SecureDatabaseConfiguration
    /// What opens the file now; kept, locked and cleared at the end, to open it again when the
    /// engine fails in the middle of a re-key.
    var key: DerivedKey?
    /// Whether the key has opened the file: before that, a failure says that it is wrong, and no
    /// statement may run.
    var isProven = false
    /// Whether statements that write are refused, as those of a block that only reads.
    var refusesWrites = false
    let statements = StatementCache(capacity: 64)
    /// Of the steps so far, for `Connection+DamagedPages`: pages that were not in the cache
    /// (`SQLITE_DBSTATUS_CACHE_MISS`), and `SQLITE_FCNTL_DATA_VERSION` of the main database.
    var knownCacheMisses: Int32 = 0
    var knownDataVersion: UInt32 = 0
    /// Whether the library's own reading has found a damaged page; see `hasDamagedPage()`.
    var knowsDamage = false
    /// Asks whether the pager is in its error state; made when first needed.
    var pagerProbe: OpaquePointer?
    var callbacks = Callbacks()
    /// What the authorizer was last asked about, for the statement that is being prepared.
    var preparedControl: TransactionControl?
    /// See `Connection+Watching`.
    var watcher: (() -> Bool)?
    /// See `Connection+LockWaits`.
    var lockWait = LockWait()
    var neverWaits = false
    /// Whether the app has prepared a `PRAGMA busy_timeout` with a value.
    var setsBusyTimeout = false
    /// Whose SQL is prepared and run at the moment.
    var origin = SQLOrigin.app
    /// Why the authorizer has refused something since the last statement was prepared.
    var refusal: String?
    /// Those of the app's functions that a schema, or SQL from elsewhere, must not call; in lower
    /// case.
    var directFunctions: Set<String> = []
    /// Prepared by the caller, and ended with the connection.
    var keptStatements: [ObjectIdentifier: Statement] = [:]
    /// Non-nil while somebody observes what is committed; see `Connection+Changes`.
    var recorder: ChangeRecorder?
    /// Non-nil while the tables are noted that statements read.
    var readTables: Set<String>?
    /// What other threads end this connection's statements with.
    var interruption: Interruption? {
        didSet { interruption?.attach(handle) }
    }
    /// False for a read-only connection that found no log: SQLite makes one, empty, to read a WAL
    /// file, and a read-only connection does not remove it.
    private let madeNoSideFiles: Bool
    /// Non-nil for a file that is read without locks; see `FileStamp.ofUntouchable`.
    let untouchable: FileStamp?
    /// Counted as open until `close()`; nil when there was no file.
    private var openFile: FileIdentity?

    var logger: Logger { configuration.logger }

    /// Opens `path`, reads the schema as the proof of the key, and applies the settings.
    ///
    /// - Throws: `.backingStoreError` with SQLite's code; code 26 (SQLITE_NOTADB) is a wrong key,
    ///   or a file that is no SQLCipher database of this configuration. `.notEncrypted`.
    static func open(
        _ path: String, key: Key, configuration: SecureDatabaseConfiguration
    ) throws -> Connection {
        let engine = try Engine.shared(announcingTo: configuration.logger)
        let connection = try Connection(path: path, configuration: configuration)
        do {
            try connection.refuseReadOnlyFallback()
            let derived = try connection.derive(key)
            let cipher = try PageCipher(derived, configuration.cipher)
            switch key {
            case .new: break
            case .given:
                try connection.refuseMisstatedSizes(cipher)
                try connection.proveFirstPage(cipher)
                try connection.examineSideFiles(cipher)
                try connection.explainingJournal { try connection.playBackJournal(derived) }
            case .derived:
                // After a suspension others may have had the file.
                guard connection.isAlone else { break }
                try connection.refuseMisstatedSizes(cipher)
                try connection.examineSideFiles(cipher)
            }
            try connection.applyKey(derived)
            try connection.applyDefences()
            try connection.explainingJournal { try connection.proveKey() }
            try connection.keepSalt()
            try connection.applySettings()
            connection.installCheckpointing(engine)
            return connection
        } catch {
            connection.close()
            throw error
        }
    }

    /// Opens the file without a key; for `open`.
    init(path: String, configuration: SecureDatabaseConfiguration) throws {
        self.path = path
        self.configuration = configuration
        madeNoSideFiles =
            !configuration.isReadOnly || FileManager.default.fileExists(atPath: path + "-wal")
        untouchable = FileStamp.ofUntouchable(path, configuration)
        // The file exists: it is made beforehand, with its mode, and never by SQLite. NOMUTEX since
        // one thread at a time is the rule anyway; NOFOLLOW since a link could lead anywhere.
        let flags =
            (configuration.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE)
            | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE
        openFile = FileIdentity(path)
        if let openFile { try OpenFiles.shared.begin(openFile) }
        // Into a variable of its own: a property that C code may write to is guarded at each later
        // read.
        var opened: OpaquePointer?
        let code =
            untouchable == nil
            ? sqlite3_open_v2(path, &opened, flags, nil)
            : sqlite3_open_v2(FileStamp.immutableURI(path), &opened, flags | SQLITE_OPEN_URI, nil)
        // On failure there is a handle as well, for the message; deinit closes it.
        handle = opened
        try check(code)
    }

    /// SQLite opens a file that it may not write for reading only; the first write would fail then.
    private func refuseReadOnlyFallback() throws {
        guard !configuration.isReadOnly, try sqlite3_db_readonly(requireHandle(), "main") == 1
        else { return }
        throw SecureStorageError.statementFailed(
            .readOnly, "the file may not be written; set isReadOnly to read it")
    }

    deinit { close() }

    /// Finalises every statement and closes the handle.
    ///
    /// The last connection of a WAL file check-points and removes its side files. Twice is
    /// harmless.
    func close() {
        guard let handle else { return }
        guard home.isCurrent else {
            // Even closing would write: it ends transactions, and moves and removes the log. What
            // the engine has in memory stays, and its descriptors, until the child ends or calls
            // exec.
            self.handle = nil
            key = nil
            return
        }
        interruption?.detach(handle)
        statements.removeAll()
        for statement in keptStatements.values {
            statement.isCached = false
            // One in use ends when it is given back.
            if !statement.isInUse { statement.finalize() }
        }
        keptStatements.removeAll()
        sqlite3_finalize(pagerProbe)
        pagerProbe = nil
        stopRecording()
        // One that came while nothing ran would end the last checkpoint, and leave the log behind.
        dropIdleInterruption()
        emptyKeptLog()
        // With every statement of this connection finalised this cannot be refused. close_v2, so
        // that a statement that is still held somewhere keeps the handle alive and not a dangling
        // pointer.
        _ = sqlite3_close_v2(handle)
        self.handle = nil
        if let openFile { OpenFiles.shared.end(openFile) }
        if !madeNoSideFiles { removeSideFiles() }
    }

    /// Lets SQLite remove the empty log and index of a read-only connection: under its locks, and
    /// only when nobody else uses them, as the last connection that could write does at its end.
    private func removeSideFiles() {
        guard let key, FileManager.default.fileExists(atPath: path + "-wal") else { return }
        var writable = configuration
        writable.isReadOnly = false
        // Where writing is not allowed there is nothing to be removed either.
        guard let cleaner = try? Connection(path: path, configuration: writable) else { return }
        defer { cleaner.close() }
        do {
            try cleaner.refuseMisstatedSizes(PageCipher(key, configuration.cipher))
            try cleaner.applyKey(key)
            try cleaner.proveKey()
        } catch {
            logger.debug("the log of \"\(path)\" stays: \(error)")
        }
    }

    /// The handle, for a call that needs one.
    ///
    /// - Throws: `.closed`: code of the caller, such as a row's block or a value's conversion, has
    ///   closed the store while it was in use.
    func requireHandle() throws(SecureStorageError) -> OpaquePointer {
        guard let handle else { throw .closed }
        return handle
    }

    // MARK: - Results

    /// The one funnel for result codes: returns on success, else throws SQLite's code and message.
    func check(_ code: Int32, sql: @autoclosure () -> String? = nil) throws {
        guard code != SQLITE_OK else { return }
        throw failure(code, sql: sql())
    }

    /// The error for `code`, with the message of the last call on this connection.
    func failure(_ code: Int32, sql: String? = nil) -> SecureStorageError {
        let code = ResultCode(code)
        if let ended = interrupted(code, sql) { return ended }
        if let refused = refused(code, sql) { return refused }
        let reason = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "the store is closed"
        if let foreignRekey = foreignRekey(code, reason) { return foreignRekey }
        if code == .noMemory, hasDamagedPage() { return .damagedPage(in: sql) }
        return .engineFailed(code, reason, code.hint, in: sql)
    }

    /// The error for a statement that the authorizer has refused; nil for all others.
    ///
    /// SQLite's code is SQLITE_AUTH, but for functions SQLITE_ERROR.
    func refused(_ code: ResultCode, _ sql: String?) -> SecureStorageError? {
        guard [.notAuthorized, .error].contains(code.primary), let reason = refusal else {
            return nil
        }
        refusal = nil
        // The reason may be shown where the statement, and what SQLite says of it, may not.
        let shown = sql.flatMap { SQLText.holdsKey($0) ? nil : $0 }
        return .statementFailed(.notAuthorized, reason, in: shown)
    }

    // MARK: - Statements

    /// A statement for `sql`, from the cache where it is free, else prepared anew.
    ///
    /// A new one enters the cache when `cached` is true. Whoever gets it gives it back.
    func statement(for sql: String, cached: Bool = true) throws -> Statement {
        if let statement = statements.checkOut(sql) { return statement }
        let keeps = cached && !SQLText.holdsKey(sql)
        let statement = try Statement(sql, on: self, persistent: keeps)
        if keeps { statements.insertCheckedOut(statement) }
        return statement
    }

    /// Runs one statement without values and discards its rows.
    func execute(_ sql: String) throws {
        let statement = try statement(for: sql)
        defer { statement.giveBack() }
        try statement.run()
    }

    /// Runs a statement that is not worth keeping and returns the text of its first column and row.
    @discardableResult
    func text(_ sql: String) throws -> String? {
        let statement = try Statement(sql, on: self, persistent: false)
        return try statement.step() ? statement.column(0).text : nil
    }

    // MARK: - State

    var lastInsertRowID: Int64 { handle.map { sqlite3_last_insert_rowid($0) } ?? 0 }

    var changedRowCount: Int {
        recorder?.countBeforeLog ?? handle.map { Int(sqlite3_changes64($0)) } ?? 0
    }

    /// False for a closed connection, whose transaction was rolled back.
    var isInTransaction: Bool { handle.map { sqlite3_get_autocommit($0) == 0 } ?? false }
}
