public import Foundation
internal import SecureStoragePlatform

/// A store of values under string keys in an encrypted database.
///
/// ```swift
/// let settings = SecureKeyValueStore(fullDatabasePath: path)
/// try settings.open(with: "correct horse battery staple")
///
/// try settings.put("dark", forKey: "theme")
/// try settings.put(3, forKey: "launches")
/// let launches = try settings.get("launches", default: 0)
/// ```
///
/// Holds three kinds of values and records the kind of each: plain values (`String`, `Data`,
/// `Date`, `Bool` and numbers), stored as SQLite's own types; `Codable` values, stored as JSON; and
/// objects with `NSCoding`, stored as keyed archives. A value must be read as the kind that was
/// stored.
///
/// A subclass can add calls and override how the file is opened, closed and re-keyed.
///
/// A key is any string, compared byte by byte. Thread-safe; several instances, named stores and
/// processes may share one file. `Docs/FileFormats.md` describes the file format.
open class SecureKeyValueStore: @unchecked Sendable {
    // @unchecked: all properties are constant, `hasTable` has a lock, and `known` is accessed in
    // turns of `queue` only.

    /// The database that holds the store.
    public let database: any SecureDatabaseWriter
    /// The database again, if it is a queue: its calls are inlined.
    let queue: SecureDatabaseQueue?
    /// Whether the table has been found or created, which a pool's readers cannot do.
    let hasTable = Locked(false)
    /// The table of the queue's only connection; those of a pool have it among their findings.
    @exclusivity(unchecked) private var known: (generation: Int, table: KeyValueTable)?

    /// The name of this store in its file.
    public let name: String
    private let nameBytes: [UInt8]

    /// The name of a store that is created without one.
    public static let defaultName = "default"

    private static let defaultFileName = "SAPcpSDKDefaultSecureKeyValueStore.db"

    /// Creates a store in the default file of the default directory; see
    /// ``SecureDatabaseStore/init(databaseFileName:)``.
    public init() {
        let queue = SecureDatabaseQueue(databaseFileName: Self.defaultFileName)
        (database, self.queue) = (queue, queue)
        (name, nameBytes) = (Self.defaultName, Array(Self.defaultName.utf8))
    }

    /// Creates a named store in the default file.
    ///
    /// - Parameter name: Any string without a NUL. Stores with different names are independent.
    public init(name: String) {
        let queue = SecureDatabaseQueue(databaseFileName: Self.defaultFileName)
        (database, self.queue) = (queue, queue)
        (self.name, nameBytes) = (name, Array(name.utf8))
    }

    /// Creates a named store in a file of the default directory.
    ///
    /// - Parameters:
    ///   - databaseFileName: A file name with its extension, without a directory.
    ///   - name: Any string without a NUL.
    public init(
        databaseFileName: String, name: String = SecureKeyValueStore.defaultName
    ) {
        let queue = SecureDatabaseQueue(databaseFileName: databaseFileName)
        (database, self.queue) = (queue, queue)
        (self.name, nameBytes) = (name, Array(name.utf8))
    }

    /// Creates a named store in a file at any path.
    ///
    /// - Parameters:
    ///   - fullDatabasePath: A path that includes the file name.
    ///   - name: Any string without a NUL.
    public init(
        fullDatabasePath: String, name: String = SecureKeyValueStore.defaultName
    ) {
        let queue = SecureDatabaseQueue(fullDatabasePath: fullDatabasePath)
        (database, self.queue) = (queue, queue)
        (self.name, nameBytes) = (name, Array(name.utf8))
    }

    /// Creates a named store in a file, with settings.
    ///
    /// - Parameters:
    ///   - url: A file URL; `open` fails for any other.
    ///   - configuration: Checked at open.
    ///   - name: Any string without a NUL.
    public init(
        url: URL, configuration: SecureDatabaseConfiguration = .init(),
        name: String = SecureKeyValueStore.defaultName
    ) {
        let queue = SecureDatabaseQueue(url: url, configuration: configuration)
        (database, self.queue) = (queue, queue)
        (self.name, nameBytes) = (name, Array(name.utf8))
    }

    /// Creates a named store in a database that the app also uses for other data.
    ///
    /// Calls of this store and of queues on the database take turns; opening or closing one opens
    /// or closes all. Calls made in a block of a queue, or of the database's
    /// ``SecureDatabaseStore/inSavePoint(_:)``, are part of that block's transaction. While a
    /// transaction that was begun directly on the database is open, calls outside a block throw
    /// `.backingStoreError` code `.misuse`, because nothing would be committed.
    ///
    /// - Parameters:
    ///   - databaseStore: A database that is open or will be opened later.
    ///   - name: Any string without a NUL.
    /// - Throws: As ``init(in:name:)``.
    public init(databaseStore: SecureDatabaseStore, name: String) throws {
        let queue = SecureDatabaseQueue(databaseStore: databaseStore)
        (database, self.queue) = (queue, queue)
        (self.name, nameBytes) = (name, Array(name.utf8))
        if queue.isOpen() { try makeTable() }
    }

    /// Creates a named store in the database of a queue or a pool.
    ///
    /// In a pool, reads run beside writes, as the pool's own. Calls made in a block of the queue or
    /// the pool are part of it: what a block of `write(_:)` puts is committed with its rows, and in
    /// one of `read(_:)` nothing can be put.
    ///
    /// - Parameters:
    ///   - database: A queue or a pool that is open or will be opened later, by itself or by this
    ///     store; closing either closes both.
    ///   - name: Any string without a NUL.
    /// - Throws: `.backingStoreError` when the database is open and the store's table can be
    ///   neither found nor created; `.openFailed` when a newer version of this library created it.
    public init(
        in database: any SecureDatabaseWriter, name: String = SecureKeyValueStore.defaultName
    ) throws {
        self.database = database
        self.queue = database as? SecureDatabaseQueue
        (self.name, nameBytes) = (name, Array(name.utf8))
        if database.isOpen() { try makeTable() }
    }

    // MARK: - Opening

    /// Opens the store's file with a passphrase, and creates it if it does not exist.
    ///
    /// - Parameter encryptionKey: As for
    ///   ``SecureDatabaseStore/open(with:initializationHandler:)-(String,_)``.
    /// - Throws: The errors of that call; `.openFailed` also when a newer version of this library
    ///   created the store.
    open func open(with encryptionKey: String) throws {
        try open(with: .passphrase(encryptionKey))
    }

    /// Opens the store's file with a raw key, and creates it if it does not exist.
    ///
    /// - Parameter encryptionKeyData: Exactly 32 random bytes.
    /// - Throws: As `open(with:)`.
    open func open(with encryptionKeyData: Data) throws {
        try open(with: .raw(SecretBytes(copying: encryptionKeyData)))
    }

    /// Opens the store's file with a key that is cleared from memory, and creates it if it does not
    /// exist.
    ///
    /// - Parameter key: A passphrase or a raw key.
    /// - Throws: As `open(with:)`.
    open func open(with key: DatabaseKey) throws {
        guard !database.isOpen() else { return }
        // A new file contains the table from the start.
        try database.open(with: key) { [name] db in
            do {
                _ = try KeyValueTable.prepare(name, in: db)
                return nil
            } catch {
                return error
            }
        }
        do {
            try makeTable()
        } catch {
            database.close()
            throw error
        }
    }

    /// Returns whether the store is open and can be used.
    open func isOpen() -> Bool {
        database.isOpen()
    }

    /// Closes the store's database; does nothing on a closed store.
    open func close() {
        database.close()
    }

    /// Re-encrypts the file with a new passphrase.
    ///
    /// After `.encryptionKeyChangeUnknown`, keep both keys and repeat the call.
    ///
    /// - Parameter newEncryptionKey: At least one byte.
    /// - Throws: As ``SecureDatabaseStore/changeEncryptionKey(with:)-(String)``.
    open func changeEncryptionKey(with newEncryptionKey: String) throws {
        try changeEncryptionKey(with: .passphrase(newEncryptionKey))
    }

    /// Re-encrypts the file with a new raw key.
    ///
    /// - Parameter newEncryptionKeyData: Exactly 32 random bytes.
    /// - Throws: As ``SecureDatabaseStore/changeEncryptionKey(with:)-(Data)``.
    open func changeEncryptionKey(with newEncryptionKeyData: Data) throws {
        try changeEncryptionKey(with: .raw(SecretBytes(copying: newEncryptionKeyData)))
    }

    /// Re-encrypts the file with a new key.
    ///
    /// - Parameter newKey: A passphrase or a raw key.
    /// - Throws: As ``SecureDatabaseStore/changeEncryptionKey(with:progress:)``.
    open func changeEncryptionKey(with newKey: DatabaseKey) throws {
        try database.changeEncryptionKey(with: newKey)
    }

    // MARK: - Access

    /// Runs `body` with a connection that reads and the store's table.
    func read<T>(
        _ body: (SecureDatabaseStore, KeyValueTable) throws -> sending T
    ) throws -> sending T {
        if queue == nil, !hasTable.withLock({ $0 }) {
            // Inside a block that reads this is an error, and the table may be there all the same.
            try? makeTable()
        }
        return try perform(.read) { db in
            try body(db, table(in: db))
        }
    }

    /// Runs `body`, which changes rows with single statements, with the store's table.
    func change<T>(
        _ body: (SecureDatabaseStore, KeyValueTable) throws -> sending T
    ) throws -> sending T {
        try perform(.write, groups: true) { db in
            try body(db, table(in: db))
        }
    }

    /// Runs `body` with the store's table in an exclusive transaction.
    func write(_ body: (SecureDatabaseStore, KeyValueTable) throws -> Void) throws {
        try perform(.write, groups: true) { db in
            // Before the transaction: `table(in:)` remembers nothing inside one.
            let table = try table(in: db)
            try db.inTransaction(.exclusive) { db in
                try body(db, table)
                return false
            }
        }
    }

    @inline(__always)
    private func perform<T>(
        _ kind: CallKind, groups: Bool = false,
        _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        guard let queue else {
            return try database.access.point.perform(kind, groups: groups, block)
        }
        return try queue.perform(kind, groups: groups, block)
    }

    private func makeTable() throws {
        try perform(.access) { db in _ = try table(in: db) }
        hasTable.withLock { $0 = true }
    }

    /// Returns the table, found or created once per connection, but not remembered where a
    /// transaction may roll it back, and another store get its number.
    func table(in db: SecureDatabaseStore) throws -> KeyValueTable {
        guard db.isOpen() else { throw SecureStorageError.closed }
        if let known, known.generation == db.session.generation { return known.table }
        if queue == nil, let table = db.session.findings[nameBytes] as? KeyValueTable {
            return table
        }
        let found =
            try db.canWrite ? KeyValueTable.prepare(name, in: db) : KeyValueTable.find(name, in: db)
        guard let table = found else {
            throw SecureStorageError.statementFailed(
                .readOnly, "the file has no key-value store of this name, and this call only reads")
        }
        if try db.configuration.isReadOnly || !db.isInTransaction() {
            if queue == nil {
                db.session.findings[nameBytes] = table
            } else {
                known = (db.session.generation, table)
            }
        }
        return table
    }
}
