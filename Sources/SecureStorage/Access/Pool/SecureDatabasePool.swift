public import Foundation

/// Lets several threads read one file at the same time while one writes to it.
///
/// ```swift
/// let pool = SecureDatabasePool(fullDatabasePath: path)
/// try pool.open(with: .passphrase("correct horse battery staple"))
///
/// try pool.write { db in
///     try db.executeUpdate("CREATE TABLE IF NOT EXISTS note (text TEXT)")
///     try db.executeUpdate("INSERT INTO note VALUES (?)", values: ["buy milk"])
/// }
/// let count = try pool.read { db in try db.int(forQuery: "SELECT count(*) FROM note") }
/// ```
///
/// One connection writes, and up to ``SecureDatabaseConfiguration/maximumReaderCount`` others read.
/// They are opened when needed, with the key that was derived when the pool was opened. The file is
/// in WAL mode: readers never wait for a writer, nor a writer for readers.
///
/// Thread-safe. A block runs on the calling thread, which waits for its turn in order of arrival.
/// Inside a block of the same pool, `read(_:)` and `write(_:)` run immediately, as part of it; only
/// a write inside a read is an error. Neither the store nor a result set may leave a block: result
/// sets that it leaves open are closed at its end.
public final class SecureDatabasePool: SecureDatabaseWriter, @unchecked Sendable {
    // @unchecked: `connections` gives each connection to one thread at a time;
    // `configuredGeneration` is accessed only by the thread that has the writer.
    let connections: PoolConnections
    private let configure: @Sendable (SecureDatabaseStore) throws -> Void
    /// The opening of the writer for which `configure` was called.
    private var configuredGeneration = 0

    /// The location of the file, absolute, as it was given to the initializer.
    public let databaseURL: URL

    /// The settings, fixed at the initializer.
    public let configuration: SecureDatabaseConfiguration

    /// Names a database file anywhere.
    ///
    /// - Parameters:
    ///   - fullDatabasePath: A path with the file name; see
    ///     ``SecureDatabaseStore/init(fullDatabasePath:)``.
    ///   - configuration: Checked at open; journal mode WAL, at least one reader.
    ///   - configure: Called with each connection that the pool opens, before its first block, on
    ///     the thread that needs it: for functions, collations, limits. For a new file it is also
    ///     called before the initialization handler. If it throws, the caller of that block
    ///     receives the error, and the connection is closed. It cannot call the pool.
    public convenience init(
        fullDatabasePath: String, configuration: SecureDatabaseConfiguration = .init(),
        configure: @escaping @Sendable (SecureDatabaseStore) throws -> Void = { _ in }
    ) {
        self.init(
            SecureDatabaseStore(fullDatabasePath: fullDatabasePath, configuration: configuration),
            configure)
    }

    /// Names a database file in the default directory.
    ///
    /// - Parameters:
    ///   - databaseFileName: A file name with its extension; for the directory see
    ///     ``SecureDatabaseStore/init(databaseFileName:)``.
    ///   - configuration: As for ``init(fullDatabasePath:configuration:configure:)``.
    ///   - configure: As for ``init(fullDatabasePath:configuration:configure:)``.
    public convenience init(
        databaseFileName: String, configuration: SecureDatabaseConfiguration = .init(),
        configure: @escaping @Sendable (SecureDatabaseStore) throws -> Void = { _ in }
    ) {
        self.init(
            SecureDatabaseStore(databaseFileName: databaseFileName, configuration: configuration),
            configure)
    }

    /// Names a database file by its URL.
    ///
    /// - Parameters:
    ///   - url: A file URL; `open` fails for any other.
    ///   - configuration: As for ``init(fullDatabasePath:configuration:configure:)``.
    ///   - configure: As for ``init(fullDatabasePath:configuration:configure:)``.
    public convenience init(
        url: URL, configuration: SecureDatabaseConfiguration = .init(),
        configure: @escaping @Sendable (SecureDatabaseStore) throws -> Void = { _ in }
    ) {
        self.init(SecureDatabaseStore(url: url, configuration: configuration), configure)
    }

    /// The process that created the pool, the only one in which threads hold its locks.
    private let home = HomeProcess()

    var isAtHome: Bool { home.isCurrent }

    /// - Throws: `.backingStoreError` code `.misuse` in a child made with `fork()`.
    func requireHome() throws { try home.requireCurrent() }

    private init(
        _ writer: SecureDatabaseStore,
        _ configure: @escaping @Sendable (SecureDatabaseStore) throws -> Void
    ) {
        databaseURL = writer.databaseURL
        configuration = writer.configuration
        connections = PoolConnections(
            writer: writer, readerLimit: writer.configuration.maximumReaderCount)
        self.configure = configure
    }

    deinit { if home.isCurrent { connections.close(waiting: false) } }

    /// Calls `configure` for a connection that has just been opened.
    func prepare(_ store: SecureDatabaseStore) throws {
        // A call of the pool would wait for the slot or the turn that this one has.
        try PoolBlock.run(.setup, of: self, on: store) { try configure(store) }
    }

    /// Opens the writer again if its block, or a failure, has closed it.
    func prepareWriter(_ writer: SecureDatabaseStore) throws {
        guard writer.connection == nil || writer.session.generation != configuredGeneration else {
            return
        }
        _ = try writer.openConnection()
        // Creates the log: a reader that finds none would consider it its own to remove.
        try writer.openConnection().execute("SELECT 1 FROM sqlite_schema LIMIT 1")
        try prepare(writer)
        configuredGeneration = writer.session.generation
    }
}
