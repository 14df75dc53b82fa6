public import Foundation

/// One encrypted SQLite database: open it with a key, run SQL on it.
///
/// ```swift
/// let db = SecureDatabaseStore(fullDatabasePath: path)
/// try db.open(with: "correct horse battery staple")
///
/// try db.executeUpdate("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, at INTEGER)")
/// try db.executeUpdate(
///     "INSERT INTO note (text, at) VALUES (?, ?)", values: ["buy milk", Date()])
/// ```
///
/// The file is an ordinary [SQLCipher 4](https://www.zetetic.net/sqlcipher/design/) file, which any
/// other SQLCipher 4 program opens with the same key.
///
/// Not thread-safe: one thread at a time may use a store and its result sets.
/// ``SecureDatabaseQueue`` makes calls from any thread safe. One store per file and process; a
/// second one on the same file would see the locks of the first.
///
/// - Important: In a child process made with `fork()` every call on a store that its parent has
///   opened throws `.backingStoreError` code 21, and closing it there touches no file. A file that
///   was open at the fork cannot be opened by the child, since SQLite takes the parent's locks for
///   its own.
public class SecureDatabaseStore {
    /// The place of the file, as it was given to the initializer, absolute.
    public let databaseURL: URL

    /// The settings, fixed at the initializer.
    public let configuration: SecureDatabaseConfiguration

    /// `URL` would turn a NUL into something else, and so hide it.
    let givenPath: String
    /// Non-nil for a file in the default directory.
    let givenFileName: String?
    /// While the initialization handler runs.
    var isCreating = false
    /// Whose turn it is to use this store, for all of its queues.
    let turn = SerialTurn()
    /// Counts the openings, so that others know when what they remember of the file is out of date.
    private(set) var generation = 0
    /// Non-nil while the store is open.
    var connection: Connection? {
        didSet {
            guard let connection else { return }
            generation += 1
            extensions.install(on: connection)
            connection.interruption = interruption
            watch(connection)
            changes.follow(connection, isReopened: true)
        }
    }
    /// The iterations over rows of the file that have connections of their own.
    let rows = RowRegister()
    /// Who observes what is committed.
    let changes = ChangeFeed()
    /// Held while the store is open for writing.
    var claim: FileClaim?
    /// Non-nil while the store is open but its connection had to be given up; see
    /// `SecureDatabaseStore+Rekey`.
    var reopening: Reopening?
    /// What the caller has added to the engine, for each connection that the store opens.
    var extensions = EngineExtensions()
    /// The only part of the store that other threads may use.
    let interruption = Interruption()
    /// Whether statements are refused; a pool's connections have one for all.
    var suspensionFlag: SuspensionFlag
    /// Of the queues of this store; a pool has its own state, and only the flag in common.
    let suspension = Suspension()
    /// What reads the file beside the store, with connections of its own, for its queues.
    let readings = RowRegister()
    /// What ends the statements of the present call before their time; see
    /// `SecureDatabaseStore+Deadline`.
    var bounds = CallBounds() {
        didSet {
            isBounded = !bounds.isUnbounded
            if let connection { watch(connection) }
        }
    }
    private var isBounded = false
    /// Whether a pool has further connections to the file, which a change of the key would break.
    var hasReaders = false
    /// How many result sets this store has made.
    var resultSetCount = 0
    /// The blocks that are running and have to be in a transaction.
    var transactionBlocks = TransactionBlocks()
    /// The end of the list of open result sets; each knows its neighbours.
    ///
    /// Unmanaged: a result set keeps its store alive, not the other way round, and takes itself out
    /// of the list before it goes.
    var newestResultSet: Unmanaged<SecureDatabaseResultSet>?

    /// Whether statements are kept, prepared, for the next call with the same SQL.
    ///
    /// Default: true.
    ///
    /// Up to 64 are kept, the least recently used leaves first. Setting false drops those kept.
    public var shouldCacheStatements: Bool {
        get { cachesStatements }
        set {
            cachesStatements = newValue
            if !newValue { clearCachedStatements() }
        }
    }
    /// Not public, since each look at a public variable is guarded against changes.
    private(set) var cachesStatements = true

    /// Names a database file in the default directory.
    ///
    /// That is the application-support directory of the platform and in it a folder of the running
    /// program, made when the store is opened: on Linux `$XDG_DATA_HOME` (or `~/.local/share`),
    /// then the name of the executable; on Apple platforms `Application Support`, then the bundle
    /// identifier (or the name of the executable).
    ///
    /// - Parameter databaseFileName: A file name with its extension; `open` refuses one with a `/`.
    public convenience init(databaseFileName: String = "SAPcpSDKDefaultSecureDatabaseStore.db") {
        self.init(databaseFileName: databaseFileName, configuration: .init())
    }

    /// Names a database file in the default directory, with settings of your own.
    ///
    /// - Parameters:
    ///   - databaseFileName: A file name with its extension, without a directory.
    ///   - configuration: Checked at open.
    public convenience init(
        databaseFileName: String, configuration: SecureDatabaseConfiguration
    ) {
        let path = DefaultDirectory.url.path + "/" + databaseFileName
        self.init(path: path, fileName: databaseFileName, configuration: configuration)
    }

    /// Names a database file anywhere.
    ///
    /// - Parameter fullDatabasePath: A path with the file name; a relative one starts at the
    ///   current directory. `open` makes the file's directory (mode 0700) when only that is
    ///   missing.
    public convenience init(fullDatabasePath: String) {
        self.init(fullDatabasePath: fullDatabasePath, configuration: .init())
    }

    /// Names a database file anywhere, with settings of your own.
    ///
    /// - Parameters:
    ///   - fullDatabasePath: A path with the file name; see ``init(fullDatabasePath:)``.
    ///   - configuration: Checked at open.
    public convenience init(
        fullDatabasePath: String, configuration: SecureDatabaseConfiguration
    ) {
        self.init(path: fullDatabasePath, fileName: nil, configuration: configuration)
    }

    /// Names a database file by its URL.
    ///
    /// - Parameters:
    ///   - url: A file URL; `open` fails for any other.
    ///   - configuration: Checked at open.
    public convenience init(url: URL, configuration: SecureDatabaseConfiguration = .init()) {
        // Of another URL there is no path: none that exists, and none that can be made.
        let path = url.isFileURL ? url.path : "/dev/null/\(url.absoluteString)"
        self.init(path: path, fileName: nil, configuration: configuration)
    }

    private init(
        path: String, fileName: String?, configuration: SecureDatabaseConfiguration
    ) {
        givenPath = path
        databaseURL = URL(fileURLWithPath: path, isDirectory: false)
        givenFileName = fileName
        self.configuration = configuration
        suspensionFlag = suspension.flag
    }

    deinit {
        connection?.close()
    }

    /// Whether the store is open and can be used.
    public func isOpen() -> Bool {
        if let connection { return connection.home.isCurrent }
        return reopening != nil
    }

    /// Closes the store: its result sets first, then its cached statements, then the file.
    ///
    /// An open transaction is rolled back. Closing a closed store does nothing; a closed store can
    /// be opened again. The key leaves the memory of this library and of the engine.
    ///
    /// Inside a function, a collation or a progress handler of the store it stays open, and the
    /// statement or the call that has called that fails with `.backingStoreError` code 21
    /// (SQLITE_MISUSE).
    public func close() {
        guard connection?.callbacks.refusesClose != true else {
            // Reported by the statement or the call that is running.
            connection?.refuseClose()
            return
        }
        rows.endAll(with: .closed)
        closeConnection()
        reopening = nil
        claim = nil
    }

    /// Closes the file, but lets nobody else claim it.
    func closeConnection() {
        guard let connection else { return }
        closeOpenResultSets()
        connection.close()
        self.connection = nil
    }

    /// Drops the statements that are kept for reuse, but none that a result set is using.
    public func clearCachedStatements() {
        connection?.statements.removeAll()
    }

    /// The open connection.
    ///
    /// - Throws: `SecureStorageError.closed`.
    func openConnection() throws -> Connection {
        if suspensionFlag.isOn { throw SecureStorageError.suspended }
        if let connection {
            try connection.home.requireCurrent()
            return connection
        }
        guard let reopening else { throw SecureStorageError.closed }
        let reopened = try reopening.open(configuration)
        self.reopening = nil
        connection = reopened
        return reopened
    }

    /// Whether what is no statement of this store, such as a copy of its file, may go on.
    ///
    /// - Throws: `.suspended`; as ``CallBounds/check()``.
    func requireGoingOn() throws {
        if suspensionFlag.isOn { throw SecureStorageError.suspended }
        try bounds.check()
    }

    /// The open connection, for a statement of the caller.
    ///
    /// - Throws: `.closed`; `CancellationError` for a call whose task is cancelled;
    ///   `.backingStoreError` code 9 (SQLITE_INTERRUPT) after a deadline, code 1 in a transaction
    ///   block whose transaction has ended, by SQLite (`ON CONFLICT ROLLBACK`, a full disk) or by
    ///   the block: what it writes could not be taken back any more.
    func workingConnection() throws -> Connection {
        let connection = try openConnection()
        if isBounded { try bounds.check() }
        try requireTransaction(on: connection)
        return connection
    }

    /// Refuses to go on in a transaction block whose transaction has ended.
    private func requireTransaction(on connection: Connection) throws {
        guard transactionBlocks.isEmpty || connection.isInTransaction else {
            throw SecureStorageError.statementFailed(
                .error, "the transaction of this block has ended; end the block before going on")
        }
    }

    /// Refuses to go on when a value's conversion, a function or a block has closed the store
    /// meanwhile, or ended the transaction of the block around it.
    func requireWorking(_ connection: Connection) throws {
        guard self.connection === connection else { throw SecureStorageError.closed }
        try requireTransaction(on: connection)
    }
}

@available(
    *, unavailable, message: "a store belongs to one thread at a time; share a SecureDatabaseQueue"
)
extension SecureDatabaseStore: Sendable {}
