public import Foundation

/// Values under string keys, in an encrypted database.
///
/// ```swift
/// let settings = SecureKeyValueStore(fullDatabasePath: path)
/// try settings.open(with: "correct horse battery staple")
///
/// try settings.put("dark", forKey: "theme")
/// try settings.put(3, forKey: "launches")
/// let launches = try settings.getInt("launches", defaultValue: 0)
/// ```
///
/// Holds three kinds of values, and remembers which is which: plain ones (`String`, `Data`, `Date`,
/// `Bool` and numbers), stored as SQLite's own types, `Codable` values, stored as JSON, and objects
/// with `NSCoding`, stored as keyed archives. A value is read back as the kind it was put as.
///
/// A subclass adds calls of its own, and may override how the file is opened, closed and re-keyed.
///
/// Keys are any text, compared byte by byte. Thread-safe; several instances, named stores and
/// processes may use one file. The format of the file is described in `Docs/FileFormats.md`.
open class SecureKeyValueStore: @unchecked Sendable {
    // @unchecked: `table` is only touched in blocks of `queue`.
    let queue: SecureDatabaseQueue
    private var table: (generation: Int, table: KeyValueTable)?

    /// The name of this store in its file.
    public let name: String

    /// The name of a store that was given none.
    public static let defaultName = "default"

    private static let defaultFileName = "SAPcpSDKDefaultSecureKeyValueStore.db"

    /// The database of this store; use it on one thread only, and not beside this store's calls.
    public var secureDatabaseStore: SecureDatabaseStore { queue.databaseStore }

    /// A store in the default file of the default directory; see
    /// ``SecureDatabaseStore/init(databaseFileName:)``.
    public init() {
        queue = SecureDatabaseQueue(
            databaseStore: SecureDatabaseStore(databaseFileName: Self.defaultFileName))
        name = Self.defaultName
    }

    /// A named store in the default file.
    ///
    /// - Parameter name: Any text without a NUL; stores of other names in the file are independent.
    public init(name: String) {
        queue = SecureDatabaseQueue(
            databaseStore: SecureDatabaseStore(databaseFileName: Self.defaultFileName))
        self.name = name
    }

    /// A named store in a file of the default directory.
    ///
    /// - Parameters:
    ///   - databaseFileName: A file name with its extension, without a directory.
    ///   - name: Any text without a NUL.
    public init(databaseFileName: String, name: String = SecureKeyValueStore.defaultName) {
        queue = SecureDatabaseQueue(
            databaseStore: SecureDatabaseStore(databaseFileName: databaseFileName))
        self.name = name
    }

    /// A store in a file anywhere.
    ///
    /// - Parameters:
    ///   - fullDatabasePath: A path with the file name.
    ///   - name: Any text without a NUL.
    public init(fullDatabasePath: String, name: String = SecureKeyValueStore.defaultName) {
        queue = SecureDatabaseQueue(
            databaseStore: SecureDatabaseStore(fullDatabasePath: fullDatabasePath))
        self.name = name
    }

    /// A named store in a database that the app uses for other things as well.
    ///
    /// Calls of this store and of queues on the database take turns. Opening or closing one opens
    /// or closes all. What this store does in a block of a queue, or in the database's
    /// ``SecureDatabaseStore/inSavePoint(_:)``, is part of the transaction there. Beside a
    /// transaction that was begun on the database in no block, its calls throw `.backingStoreError`
    /// code 21: nothing would be stored yet.
    ///
    /// - Parameters:
    ///   - databaseStore: Open already, or opened later.
    ///   - name: Any text without a NUL.
    /// - Throws: `.backingStoreError` when the database is open and the store's table can be
    ///   neither found nor made; `.openFailed` when it was made by a newer version of this library.
    public init(databaseStore: SecureDatabaseStore, name: String) throws {
        queue = SecureDatabaseQueue(databaseStore: databaseStore)
        self.name = name
        try queue.inDatabase { db in
            if db.isOpen() { _ = try table(in: db) }
        }
    }

    // MARK: - Opening

    /// Opens the store's file with a passphrase, and makes it when it does not exist.
    ///
    /// - Parameter encryptionKey: As for
    ///   ``SecureDatabaseStore/open(with:initializationHandler:)-(String,_)``.
    /// - Throws: As there; `.openFailed` also when the store was made by a newer version of this
    ///   library.
    open func open(with encryptionKey: String) throws {
        try open(with: .passphrase(encryptionKey))
    }

    /// Opens the store's file with a raw key, and makes it when it does not exist.
    ///
    /// - Parameter encryptionKeyData: Exactly 32 random bytes.
    /// - Throws: As `open(with:)`.
    open func open(with encryptionKeyData: Data) throws {
        try open(with: .raw(SecretBytes(copying: encryptionKeyData)))
    }

    /// Opens the store's file with a key that is cleared from memory, and makes it when it does not
    /// exist.
    ///
    /// - Parameter key: A passphrase or a raw key.
    /// - Throws: As `open(with:)`.
    open func open(with key: DatabaseKey) throws {
        try queue.inTurn { db in
            guard !db.isOpen() else { return }
            // The table is part of a new file from its first moment.
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

    /// Whether the store is open and can be used.
    open func isOpen() -> Bool {
        (try? queue.inTurn { $0.isOpen() }) ?? false
    }

    /// Closes the store's database; harmless on a closed store.
    open func close() {
        try? queue.inTurn { $0.close() }
    }

    /// Re-encrypts the file with a new passphrase.
    ///
    /// After `.encryptionKeyChangeUnknown` keep both keys, and repeat the call.
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

    /// Runs `body` with the store's table, alone.
    func read<T>(
        _ body: (SecureDatabaseStore, KeyValueTable) throws -> sending T
    ) throws -> sending T {
        try queue.inDatabase { db in
            try body(db, table(in: db))
        }
    }

    /// Runs `body` with the store's table in an exclusive transaction.
    func write(_ body: (SecureDatabaseStore, KeyValueTable) throws -> Void) throws {
        try queue.inDatabase { db in
            // Before the transaction, where it can be remembered.
            let table = try table(in: db)
            try db.inTransaction(.exclusive) { db in
                try body(db, table)
                return false
            }
        }
    }

    /// The table, found or made once per opening, and within a transaction each time until then.
    func table(in db: SecureDatabaseStore) throws -> KeyValueTable {
        guard db.isOpen() else { throw SecureStorageError.closed }
        if let table, table.generation == db.generation { return table.table }
        let prepared = try KeyValueTable.prepare(name, in: db)
        // In a transaction of the app it may be taken back, and its number given to another store.
        if try !db.isInTransaction() { table = (db.generation, prepared) }
        return prepared
    }
}
