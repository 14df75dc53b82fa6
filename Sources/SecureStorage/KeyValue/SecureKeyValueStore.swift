public import Foundation

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
    // @unchecked: `table` is only accessed in blocks of `queue`.
    let queue: SecureDatabaseQueue
    @exclusivity(unchecked) private var table: (generation: Int, table: KeyValueTable)?

    /// The name of this store in its file.
    public let name: String

    /// The name of a store that is created without one.
    public static let defaultName = "default"

    private static let defaultFileName = "SAPcpSDKDefaultSecureKeyValueStore.db"

    /// The database of this store; use it on one thread only, and not during this store's calls.
    public var secureDatabaseStore: SecureDatabaseStore { queue.databaseStore }

    /// Creates a store in the default file of the default directory; see
    /// ``SecureDatabaseStore/init(databaseFileName:)``.
    public init() {
        queue = SecureDatabaseQueue(
            databaseStore: SecureDatabaseStore(databaseFileName: Self.defaultFileName))
        name = Self.defaultName
    }

    /// Creates a named store in the default file.
    ///
    /// - Parameter name: Any string without a NUL. Stores with different names are independent.
    public init(name: String) {
        queue = SecureDatabaseQueue(
            databaseStore: SecureDatabaseStore(databaseFileName: Self.defaultFileName))
        self.name = name
    }

    /// Creates a named store in a file of the default directory.
    ///
    /// - Parameters:
    ///   - databaseFileName: A file name with its extension, without a directory.
    ///   - name: Any string without a NUL.
    public init(databaseFileName: String, name: String = SecureKeyValueStore.defaultName) {
        queue = SecureDatabaseQueue(
            databaseStore: SecureDatabaseStore(databaseFileName: databaseFileName))
        self.name = name
    }

    /// Creates a named store in a file at any path.
    ///
    /// - Parameters:
    ///   - fullDatabasePath: A path that includes the file name.
    ///   - name: Any string without a NUL.
    public init(fullDatabasePath: String, name: String = SecureKeyValueStore.defaultName) {
        queue = SecureDatabaseQueue(
            databaseStore: SecureDatabaseStore(fullDatabasePath: fullDatabasePath))
        self.name = name
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
    /// - Throws: `.backingStoreError` when the database is open and the store's table can be
    ///   neither found nor created; `.openFailed` when a newer version of this library created it.
    public init(databaseStore: SecureDatabaseStore, name: String) throws {
        queue = SecureDatabaseQueue(databaseStore: databaseStore)
        self.name = name
        try queue.inDatabase { db in
            if db.isOpen() { _ = try table(in: db) }
        }
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
        try queue.inTurn { db in
            guard !db.isOpen() else { return }
            // A new file contains the table from the start.
            try db.open(with: key) { db in
                do {
                    _ = try KeyValueTable.prepare(name, in: db)
                    return nil
                } catch {
                    return error
                }
            }
            do {
                _ = try table(in: db)
            } catch {
                db.close()
                throw error
            }
        }
    }

    /// Returns whether the store is open and can be used.
    open func isOpen() -> Bool {
        (try? queue.inTurn { $0.isOpen() }) ?? false
    }

    /// Closes the store's database; does nothing on a closed store.
    open func close() {
        try? queue.inTurn { $0.close() }
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
        try queue.inTurn { try $0.changeEncryptionKey(with: newKey) }
    }

    // MARK: - Access

    /// Runs `body` with exclusive access to the database and the store's table.
    func read<T>(
        _ body: (SecureDatabaseStore, KeyValueTable) throws -> sending T
    ) throws -> sending T {
        try queue.perform(.read) { db in
            try body(db, table(in: db))
        }
    }

    /// Runs `body`, which changes rows with single statements, with the store's table.
    func change<T>(
        _ body: (SecureDatabaseStore, KeyValueTable) throws -> sending T
    ) throws -> sending T {
        try queue.perform(.write, groups: true) { db in
            try body(db, table(in: db))
        }
    }

    /// Runs `body` with the store's table in an exclusive transaction.
    func write(_ body: (SecureDatabaseStore, KeyValueTable) throws -> Void) throws {
        try queue.perform(.write, groups: true) { db in
            // Before the transaction: `table(in:)` caches nothing inside one.
            let table = try table(in: db)
            try db.inTransaction(.exclusive) { db in
                try body(db, table)
                return false
            }
        }
    }

    /// Returns the table, found or created once per opening, but not cached inside a transaction.
    func table(in db: SecureDatabaseStore) throws -> KeyValueTable {
        guard db.isOpen() else { throw SecureStorageError.closed }
        if let table, table.generation == db.session.generation { return table.table }
        let prepared = try KeyValueTable.prepare(name, in: db)
        // An app's transaction may roll the table back, and another store may get its number.
        if try !db.isInTransaction() { table = (db.session.generation, prepared) }
        return prepared
    }
}
