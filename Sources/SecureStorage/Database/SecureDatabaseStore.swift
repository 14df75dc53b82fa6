public import Foundation
internal import SecureStoragePlatform

/// An encrypted SQLite database: open it with a key and run SQL on it.
///
/// ```swift
/// let db = SecureDatabaseStore(fullDatabasePath: path)
/// try db.open(with: "correct horse battery staple")
///
/// try db.executeUpdate(
///     "CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, text TEXT, at INTEGER)")
/// try db.executeUpdate(
///     "INSERT INTO note (text, at) VALUES (?, ?)", values: ["buy milk", Date()])
/// ```
///
/// The file is an ordinary [SQLCipher 4](https://www.zetetic.net/sqlcipher/design/) file, which any
/// other SQLCipher 4 program opens with the same key.
///
/// Not thread-safe: only one thread at a time may use a store and its result sets.
/// ``SecureDatabaseQueue`` makes calls from any thread safe. Use one store per file and process; a
/// second store on the same file contends with the first one's locks.
///
/// - Important: In a child process created with `fork()`, every call on a store that its parent
///   opened throws `.backingStoreError` code `.misuse`, and closing the store there does not touch
///   any file. The child cannot open a file that was open at the fork, since SQLite mistakes the
///   parent's locks for its own.
public class SecureDatabaseStore {
    /// The absolute URL of the file, as passed to the initializer.
    public let databaseURL: URL

    /// The settings, fixed at initialization.
    public let configuration: SecureDatabaseConfiguration

    /// Receives calls and statements for metrics and traces; nil if neither is set.
    let instruments: Instruments?

    /// The path as given: `URL` would convert a NUL into something else and so hide it.
    let givenPath: String
    /// The file name; non-nil for a file in the default directory.
    let givenFileName: String?
    let session = StoreSession()
    let sharing = StoreSharing()
    /// The turn that serializes use of this store by all of its queues.
    let turn = SerialTurn()
    /// The handle for interrupting statements; the only part of the store that other threads may
    /// use.
    let interruption = Interruption()
    /// The connection; non-nil while the store is open.
    var connection: Connection? {
        get { session.connection }
        set {
            session.connection = newValue
            guard let newValue else { return }
            session.generation += 1
            session.findings = [:]
            newValue.activity = session.activity
            extensions.install(on: newValue)
            newValue.interruption = interruption
            watch(newValue)
            sharing.changes.follow(newValue, isReopened: true)
        }
    }
    /// The caller's additions to the engine, installed on each connection that the store opens.
    var extensions = EngineExtensions()
    /// The conditions that end the statements of the current call early; see
    /// `SecureDatabaseStore+Deadline`.
    var bounds = CallBounds() {
        didSet {
            isBounded = !bounds.isUnbounded
            if let connection { watch(connection) }
        }
    }
    @exclusivity(unchecked) private var isBounded = false

    /// Whether prepared statements are cached for the next call with the same SQL.
    ///
    /// Default: true.
    ///
    /// Up to 64 are cached, and the least recently used is evicted first. Setting false drops the
    /// cached statements.
    public var shouldCacheStatements: Bool {
        get { cachesStatements }
        set {
            cachesStatements = newValue
            if !newValue { clearCachedStatements() }
        }
    }
    /// Not public, since every access to a public variable incurs a dynamic exclusivity check.
    @exclusivity(unchecked) private(set) var cachesStatements = true

    /// Creates a store for a database file in the default directory.
    ///
    /// That is a folder named after the running program in the platform's application-support
    /// directory, created when the store is opened: on Linux, `$XDG_DATA_HOME` (or
    /// `~/.local/share`), then the name of the executable; on Apple platforms,
    /// `Application Support`, then the bundle identifier (or the name of the executable).
    ///
    /// - Parameter databaseFileName: A file name with its extension; `open` refuses one with a `/`.
    public convenience init(databaseFileName: String = "SAPcpSDKDefaultSecureDatabaseStore.db") {
        self.init(databaseFileName: databaseFileName, configuration: .init())
    }

    /// Creates a store for a database file in the default directory, with custom settings.
    ///
    /// - Parameters:
    ///   - databaseFileName: A file name with its extension, without a directory.
    ///   - configuration: Validated by `open`.
    public convenience init(
        databaseFileName: String, configuration: SecureDatabaseConfiguration
    ) {
        let path = DefaultDirectory.url.path + "/" + databaseFileName
        self.init(path: path, fileName: databaseFileName, configuration: configuration)
    }

    /// Creates a store for a database file at any path.
    ///
    /// - Parameter fullDatabasePath: A path with the file name; a relative path is resolved against
    ///   the current directory. If only the file's directory is missing, `open` creates it (mode
    ///   0700).
    public convenience init(fullDatabasePath: String) {
        self.init(fullDatabasePath: fullDatabasePath, configuration: .init())
    }

    /// Creates a store for a database file at any path, with custom settings.
    ///
    /// - Parameters:
    ///   - fullDatabasePath: A path with the file name; see ``init(fullDatabasePath:)``.
    ///   - configuration: Validated by `open`.
    public convenience init(
        fullDatabasePath: String, configuration: SecureDatabaseConfiguration
    ) {
        self.init(path: fullDatabasePath, fileName: nil, configuration: configuration)
    }

    /// Creates a store for a database file at a URL.
    ///
    /// - Parameters:
    ///   - url: A file URL; `open` fails for any other.
    ///   - configuration: Validated by `open`.
    public convenience init(url: URL, configuration: SecureDatabaseConfiguration = .init()) {
        // Any other URL has no path; this path does not exist and cannot be created.
        let path = url.isFileURL ? url.path : "/dev/null/\(url.absoluteString)"
        self.init(path: path, fileName: nil, configuration: configuration)
    }

    /// - Parameters:
    ///   - path: The path of the file.
    ///   - fileName: The name that was given instead of a path.
    ///   - configuration: Validated by `open`.
    ///   - instruments: Those of the queue or pool that reads with this store; nil makes them.
    init(
        path: String, fileName: String?, configuration: SecureDatabaseConfiguration,
        instruments: Instruments? = nil
    ) {
        givenPath = path
        databaseURL = URL(fileURLWithPath: path, isDirectory: false)
        givenFileName = fileName
        self.configuration = configuration.instrumented(forFileAt: path, instruments)
        self.instruments = self.configuration.instrumentation.instruments
    }

    deinit {
        connection?.close()
    }

    /// Returns whether the store is open and can be used.
    public func isOpen() -> Bool {
        if let connection { return connection.home.isCurrent }
        return session.reopening != nil
    }

    /// Closes the store: first its result sets, then its cached statements, then the file.
    ///
    /// An open transaction is rolled back. Closing a closed store does nothing; a closed store can
    /// be reopened. The key is erased from the memory of this library and of the engine.
    ///
    /// Inside a function, collation or progress handler of the store, the store stays open, and the
    /// statement or call that invoked the handler fails with `.backingStoreError` code `.misuse`
    /// (SQLITE_MISUSE).
    public func close() {
        guard connection?.callbacks.refusesClose != true else {
            // The running statement or call reports it.
            connection?.refuseClose()
            return
        }
        sharing.rows.endAll(with: .closed)
        closeConnection()
        session.reopening = nil
        session.claim = nil
    }

    /// Closes the file but keeps the claim on it.
    func closeConnection() {
        guard let connection else { return }
        closeOpenResultSets()
        connection.close()
        self.connection = nil
    }

    /// Drops the cached statements, except those that a result set is using.
    public func clearCachedStatements() {
        connection?.statements.removeAll()
    }

    /// Returns the open connection, reopening it if necessary.
    ///
    /// - Throws: `.closed`; `.suspended`; `.backingStoreError` code `.misuse` in a child made with
    ///   `fork()`; any error thrown by reopening.
    func openConnection() throws -> Connection {
        if sharing.suspensionFlag.isOn { throw SecureStorageError.suspended }
        if let connection {
            try connection.home.requireCurrent()
            return connection
        }
        guard let reopening = session.reopening else { throw SecureStorageError.closed }
        let reopened = try reopening.open(configuration)
        session.reopening = nil
        connection = reopened
        return reopened
    }

    /// Checks that work other than a statement of this store, such as copying its file, may
    /// continue.
    ///
    /// - Throws: `.suspended`; the errors of ``CallBounds/check()``.
    func requireGoingOn() throws {
        if sharing.suspensionFlag.isOn { throw SecureStorageError.suspended }
        try bounds.check()
    }

    /// Returns the open connection for a statement of the caller.
    ///
    /// - Throws: `.closed`; `CancellationError` for a call whose task is cancelled;
    ///   `.backingStoreError` code `.interrupted` after a deadline, code `.error` in a transaction
    ///   block whose transaction was ended by SQLite (`ON CONFLICT ROLLBACK`, a full disk) or by
    ///   the block: further writes could no longer be rolled back.
    func workingConnection() throws -> Connection {
        let connection = try openConnection()
        if isBounded { try bounds.check() }
        try requireTransaction(on: connection)
        return connection
    }

    /// Throws in a transaction block whose transaction has ended.
    private func requireTransaction(on connection: Connection) throws {
        guard session.transactionBlocks.isEmpty || connection.isInTransaction else {
            throw SecureStorageError.statementFailed(
                .error,
                "the transaction of this block has ended; leave the block before running further statements"
            )
        }
    }

    /// Throws when a value's conversion, a function or a block has since closed the store or ended
    /// the transaction of the enclosing block.
    func requireWorking(_ connection: Connection) throws {
        guard self.connection === connection else { throw SecureStorageError.closed }
        try requireTransaction(on: connection)
    }
}

@available(
    *, unavailable, message: "a store belongs to one thread at a time; share a SecureDatabaseQueue"
)
extension SecureDatabaseStore: Sendable {}
