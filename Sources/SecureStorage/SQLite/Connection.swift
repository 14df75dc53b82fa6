internal import CSQLCipher
internal import Foundation
internal import Logging

/// The sole owner of a `sqlite3` handle, keyed and set up.
///
/// Not thread-safe: its store or queue ensures that only one thread at a time uses it.
final class Connection {
    let home = HomeProcess()
    /// The engine's handle; non-nil until `close()`.
    ///
    /// No C function may be called with nil: an engine built without `SQLITE_ENABLE_API_ARMOR` then
    /// crashes the process. See `requireHandle()`.
    @exclusivity(unchecked) private(set) var handle: OpaquePointer?
    /// The byte at which SQLite found the error of the last statement that could not be prepared;
    /// -1 if it has no place.
    var errorOffset = -1
    let path: String
    let configuration: SecureDatabaseConfiguration
    /// The key that opens the file now.
    ///
    /// Kept in locked memory, and cleared at the end, to open the file again when the engine fails
    /// during a re-key.
    var key: DerivedKey?
    /// Whether the key has opened the file.
    ///
    /// Before that, a failure means that the key is wrong, and no statement may run.
    @exclusivity(unchecked) var isProven = false
    let statements = StatementCache(capacity: 64)
    @exclusivity(unchecked) var callbacks = Callbacks()
    /// Why a tokenizer has failed, which the engine's message does not say.
    ///
    /// Not one of `callbacks`, which each step reads: with another text in it, the compiler copies
    /// it each time.
    @exclusivity(unchecked) var tokenizerMessage: String?
    let authorizer = AuthorizerState()
    let waits = WaitState()
    let damage = DamageState()
    /// What the connections of the store have done; the store's own, once it has this connection.
    @exclusivity(unchecked) var activity = Activity()
    /// Measures each statement; nil unless the configuration has an observer or a threshold.
    ///
    /// Unmanaged, since each statement would retain it twice; `ownedMonitor` keeps it.
    @exclusivity(unchecked) private(set) var monitor: Unmanaged<StatementMonitor>?
    private var ownedMonitor: StatementMonitor? {
        didSet { monitor = ownedMonitor.map { .passUnretained($0) } }
    }
    /// The commits that wait for the disk together; most connections have none.
    private(set) lazy var groupCommit = GroupCommit()
    /// Whether some of them may not be on the disk.
    @exclusivity(unchecked) var hasGroupedCommits = false
    /// Statements that the caller has prepared; finalised with the connection.
    var keptStatements: [ObjectIdentifier: Statement] = [:]
    /// The pages in the log when a checkpoint was last tried; see `Connection+Checkpoint`.
    @exclusivity(unchecked) var pagesAtCheckpoint: Int32 = 0
    /// Records commits; non-nil while the connection is observed (see `Connection+Changes`).
    @exclusivity(unchecked) var recorder: ChangeRecorder?
    /// Lets other threads end this connection's statements.
    var interruption: Interruption? {
        didSet { interruption?.attach(handle) }
    }
    let found: FoundFile

    /// The file as it was found.
    struct FoundFile {
        /// False for a read-only connection that found no log.
        ///
        /// To read a WAL file SQLite creates an empty log, which a read-only connection does not
        /// remove.
        let madeNoSideFiles: Bool
        /// Non-nil for a file that is read without locks; see `FileStamp.ofUntouchable`.
        let untouchable: FileStamp?
        /// The file, counted as open until `close()`; nil when it did not exist.
        let identity: FileIdentity?
    }

    var logger: Logger { configuration.logger }

    /// Opens `path`, reads the schema as the proof of the key, and applies the settings.
    ///
    /// - Throws: `.notEncrypted`; `.backingStoreError` with SQLite's code, where 26 (SQLITE_NOTADB)
    ///   means a wrong key, or a file that is not an SQLCipher database of this configuration.
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
                // During a suspension other processes may have used the file.
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
            try connection.installTransactionHooks()
            // Not before, since the statements of the opening are nobody's.
            connection.ownedMonitor = StatementMonitor(configuration)
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
        // The file exists: it is created beforehand, with its mode, and never by SQLite. NOMUTEX
        // since only one thread at a time uses the connection; NOFOLLOW since a link could lead
        // anywhere.
        let flags =
            (configuration.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE)
            | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE
        found = FoundFile(
            madeNoSideFiles: !configuration.isReadOnly
                || FileManager.default.fileExists(atPath: path + "-wal"),
            untouchable: FileStamp.ofUntouchable(path, configuration),
            identity: FileIdentity(path))
        if let identity = found.identity { try OpenDescriptors.shared.begin(identity) }
        // A local variable: a property that C code may write to needs an exclusivity check at each
        // later read.
        var opened: OpaquePointer?
        let code =
            found.untouchable == nil
            ? sqlite3_open_v2(path, &opened, flags, nil)
            : sqlite3_open_v2(FileStamp.immutableURI(path), &opened, flags | SQLITE_OPEN_URI, nil)
        // A failed open also returns a handle, for the message; deinit closes it.
        handle = opened
        try check(code)
    }

    /// Refuses a file that SQLite could open only for reading, where the first write would fail.
    private func refuseReadOnlyFallback() throws {
        guard !configuration.isReadOnly, try sqlite3_db_readonly(requireHandle(), "main") == 1
        else { return }
        throw SecureStorageError.statementFailed(
            .readOnly, "no permission to write the file; set isReadOnly to read it")
    }

    deinit { close() }

    /// Finalises every statement and closes the handle.
    ///
    /// The last connection of a WAL file checkpoints it and removes its sidecar files. A second
    /// call is harmless.
    func close() {
        guard let handle else { return }
        guard home.isCurrent else {
            // Even closing would write: it ends transactions, and moves and removes the log. The
            // engine's memory and descriptors stay until the child ends or calls exec.
            self.handle = nil
            key = nil
            return
        }
        interruption?.detach(handle)
        activity.closed = pageCounts
        statements.removeAll()
        for statement in keptStatements.values {
            statement.use.isCached = false
            // A statement in use is finalised when it is given back.
            if !statement.use.isInUse { statement.finalize() }
        }
        keptStatements.removeAll()
        sqlite3_finalize(damage.pagerProbe)
        damage.pagerProbe = nil
        stopRecording()
        if hasGroupedCommits { groupCommit.end() }
        // An interruption that arrived while nothing ran would end the last checkpoint and keep the
        // log.
        dropIdleInterruption()
        emptyKeptLog()
        // This cannot be refused, since every statement of this connection is finalised. With
        // close_v2, a statement that is still held somewhere keeps the handle alive instead of a
        // dangling pointer.
        _ = sqlite3_close_v2(handle)
        self.handle = nil
        if let identity = found.identity { OpenDescriptors.shared.end(identity) }
        if !found.madeNoSideFiles { removeSideFiles() }
    }

    /// Lets SQLite remove the empty log and index of a read-only connection.
    ///
    /// SQLite does so under its locks and only if no other connection uses them, as when the last
    /// connection that could write closes.
    private func removeSideFiles() {
        guard let key, FileManager.default.fileExists(atPath: path + "-wal") else { return }
        var writable = configuration
        writable.isReadOnly = false
        // Where writing is not allowed, nothing can be removed either.
        guard let cleaner = try? Connection(path: path, configuration: writable) else { return }
        defer { cleaner.close() }
        do {
            try cleaner.refuseMisstatedSizes(PageCipher(key, configuration.cipher))
            try cleaner.applyKey(key)
            try cleaner.proveKey()
        } catch {
            logger.debug("the log of \"\(path)\" was not removed: \(error)")
        }
    }

    /// Returns the handle, for a call that needs one.
    ///
    /// - Throws: `.closed` when the caller's code, such as a row's block or a value's conversion,
    ///   has closed the store while it was in use.
    func requireHandle() throws(SecureStorageError) -> OpaquePointer {
        guard let handle else { throw .closed }
        return handle
    }

    // MARK: - Results

    /// Checks a result code: returns on success, else throws SQLite's code and message.
    func check(_ code: Int32, sql: @autoclosure () -> String? = nil) throws {
        guard code != SQLITE_OK else { return }
        throw failure(code, sql: sql())
    }

    // MARK: - Statements

    /// Returns a statement for `sql`, from the cache if it is free there, else newly prepared.
    ///
    /// A new one enters the cache when `cached` is true and `sql` cannot hold a key. The caller
    /// gives it back.
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
        recorder?.log.countBefore ?? handle.map { Int(sqlite3_changes64($0)) } ?? 0
    }

    var totalChangeCount: Int64 { handle.map { sqlite3_total_changes64($0) } ?? 0 }

    /// Whether a transaction is open; false for a closed connection, whose transaction was rolled
    /// back.
    var isInTransaction: Bool { handle.map { sqlite3_get_autocommit($0) == 0 } ?? false }
}
