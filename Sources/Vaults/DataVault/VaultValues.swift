internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// The open database of a vault: one table of names and values.
///
/// The type of a value is SQLite's own, TEXT or BLOB, so it cannot contradict the value.
final class VaultValues: Sendable {
    let queue: SecureDatabaseQueue
    private let file: VaultFile

    /// The name of a vault's key.
    static let keyName = "datavault"

    private static let schema =
        "CREATE TABLE value (name TEXT NOT NULL PRIMARY KEY, data NOT NULL) WITHOUT ROWID"
    private static let generationSchema = """
        CREATE TABLE IF NOT EXISTS datavault_generation (
            one INTEGER PRIMARY KEY CHECK (one = 1), generation INTEGER NOT NULL,
            incarnation BLOB NOT NULL)
        """
    private static let select = "SELECT data FROM value WHERE name = ?"
    private static let upsert = """
        INSERT INTO value (name, data) VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET data = excluded.data
        """
    private static let delete = "DELETE FROM value WHERE name = ?"
    private static let selectNames = "SELECT name, typeof(data) FROM value ORDER BY name"

    /// Creates the database of a new vault; a kill leaves it whole, or no file of its name.
    static func create(_ path: String, key: DataEncryptionKey) throws {
        try DataVaultError.writing {
            let store = try store(path)
            try store.open(with: .raw(databaseKey(key))) { db in
                do {
                    try db.executeUpdate(schema)
                    return nil
                } catch {
                    return error
                }
            }
            store.close()
        }
    }

    /// Opens the database of an existing vault, under the vault's lock; only for reading if the
    /// disk is full or read-only.
    init(_ path: String, key: DataEncryptionKey) throws {
        guard let file = VaultFile(path) else {
            throw DataVaultError.ioReadError(cause: Self.missing)
        }
        self.file = file
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        queue = try DataVaultError.reading {
            let hadLog = access(path + "-wal", F_OK) == 0
            do {
                return try Self.openedQueue(path, key, isReadOnly: false)
            } catch  where DiskState.refusesWrites(inDirectory: directory) {
                // What this attempt has left: nobody else opens the vault now.
                if !hadLog { for suffix in ["-wal", "-shm"] { unlink(path + suffix) } }
                return try Self.openedQueue(path, key, isReadOnly: true)
            }
        }
    }

    private static func openedQueue(
        _ path: String, _ key: DataEncryptionKey, isReadOnly: Bool
    ) throws -> SecureDatabaseQueue {
        let queue = SecureDatabaseQueue(databaseStore: try store(path, isReadOnly: isReadOnly))
        try queue.inDatabase { db in
            // Gone since the check by the caller: do not create a new one in its place.
            try db.open(with: .raw(databaseKey(key))) { _ in missing }
        }
        return queue
    }

    /// Checks that a key opens the database.
    static func requireKey(_ key: DataEncryptionKey, of path: String) throws {
        try VaultValues(path, key: key).close()
    }

    deinit { close() }

    private static func store(
        _ path: String, isReadOnly: Bool = false
    ) throws -> SecureDatabaseStore {
        var configuration = SecureDatabaseConfiguration()
        // One that is no longer referenced may still be closing while the next one opens.
        configuration.secondInstance = .allowed
        configuration.busyTimeout = .seconds(30)
        if isReadOnly { configuration.use = .readingOnFullDisk }
        return SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
    }

    static func databaseKey(_ key: DataEncryptionKey) throws -> SecretBytes {
        try key.derivedKey(for: "datavault database 1")
    }

    static let missing = EnvelopeError.damaged(
        reason: "the vault's database is missing although its record exists")

    /// Whether the vault still exists; destroying it unlinks the file even while it is open.
    var isThere: Bool { file.isThere }

    /// Whether the file also still has its own name; takes longer.
    var isInPlace: Bool { file.isInPlace }

    /// Closes the file, after the calls in progress on it.
    func close() {
        // The block does not throw, and waits for no one that waits for this thread.
        try? queue.inDatabase { $0.close() }
    }

    // MARK: - Keys

    /// Encrypts the database with another key; the one for the app's data is kept in it.
    func rekey(from old: DataEncryptionKey, to new: DataEncryptionKey) throws {
        try DataVaultError.writing {
            guard file.isInPlace else { throw Self.missing }
            try queue.inTransaction { db in
                try VaultEncryptionKeys.keep(old, in: db)
                return false
            }
            try queue.changeEncryptionKey(with: .raw(Self.databaseKey(new)))
        }
    }

    func encryptionKeys(of key: DataEncryptionKey) throws -> VaultEncryptionKeys {
        try DataVaultError.reading {
            try queue.inDatabase { try VaultEncryptionKeys(of: key, in: $0) }
        }
    }

    // MARK: - Generation

    /// Whether the disk was full or read-only when the vault was opened.
    var isReadOnly: Bool { queue.configuration.isReadOnly }

    func generation() throws -> VaultGeneration {
        try DataVaultError.reading { try queue.inDatabase { try Self.generation(in: $0) } }
    }

    private static func generation(in db: SecureDatabaseStore) throws -> VaultGeneration {
        guard try db.tableExists("datavault_generation") else { return VaultGeneration() }
        let rows = try db.executeQuery("SELECT generation, incarnation FROM datavault_generation")
        defer { rows.close() }
        guard try rows.next() else { return VaultGeneration() }
        guard let number = rows.int64(forColumnIndex: 0), number >= 0, number < .max else {
            throw EnvelopeError.damaged(reason: "the vault's generation is not a number")
        }
        return VaultGeneration(number: number, incarnation: rows.data(forColumnIndex: 1))
    }

    /// Stores the next generation, and returns it; that of another vault's database, such as a
    /// restored one, does not count.
    func advanceGeneration(from known: Int64, of incarnation: Data) throws -> Int64 {
        try DataVaultError.writing {
            var next = known
            try queue.inTransaction { db in
                let stored = try Self.generation(in: db)
                if stored.isOf(incarnation) { next = max(next, stored.number) }
                next += 1
                try db.executeUpdate(Self.generationSchema)
                try db.executeUpdate(
                    "INSERT OR REPLACE INTO datavault_generation VALUES (1, ?, ?)", next,
                    incarnation)
                return false
            }
            return next
        }
    }

    // MARK: - Values

    func string(_ name: String) throws -> String? {
        try row(name) { row in
            switch try row.type(forColumnIndex: 0) {
            case .text: break
            case .blob: throw DataVaultError.conversionError
            default: throw DataVaultError.dataTypeError
            }
            guard let text = row.string(forColumnIndex: 0) else {
                throw EnvelopeError.damaged(reason: "a string is not valid UTF-8")
            }
            return text
        }
    }

    func data(_ name: String) throws -> Data? { try bytes(name) { Data($0) } }

    func secret(_ name: String) throws -> SecretBytes? {
        try bytes(name) { SecretBytes(copying: $0) }
    }

    private func bytes<R: Sendable>(_ name: String, _ copy: (UnsafeRawBufferPointer) -> R) throws
        -> R?
    {
        try row(name) { row in
            guard let bytes = row.withUnsafeBytes(forColumnIndex: 0, copy) else {
                throw DataVaultError.dataTypeError
            }
            return bytes
        }
    }

    /// Returns what `read` makes of a name's row; nil if the name has no value.
    private func row<R: Sendable>(
        _ name: String, _ read: (SecureDatabaseResultSet) throws -> R
    ) throws -> R? {
        try DataVaultError.reading {
            try queue.inDatabase { db in
                let rs = try db.executeQuery(Self.select, values: [name])
                defer { rs.close() }
                return try rs.next() ? read(rs) : nil
            }
        }
    }

    func set(_ value: some SQLiteDatatypeBridgeable, _ name: String) throws {
        try DataVaultError.writing {
            guard file.isInPlace else { throw Self.missing }
            try queue.inDatabase { try $0.executeUpdate(Self.upsert, values: [name, value]) }
        }
    }

    /// Deletes a value, and returns whether it existed.
    func remove(_ name: String) throws -> Bool {
        try DataVaultError.writing {
            guard file.isInPlace else { throw Self.missing }
            return try queue.inDatabase { db in
                try db.executeUpdate(Self.delete, values: [name])
                return try db.changedRowCount() > 0
            }
        }
    }

    func names() throws -> [DataVaultDataName] {
        try DataVaultError.reading {
            try queue.inDatabase { db in
                let rs = try db.executeQuery(Self.selectNames)
                defer { rs.close() }
                var names: [DataVaultDataName] = []
                while try rs.next() {
                    guard let name = rs.string(forColumnIndex: 0) else {
                        throw EnvelopeError.damaged(reason: "a name is not valid UTF-8")
                    }
                    let type: DataVaultDataType =
                        switch rs.string(forColumnIndex: 1) {
                        case "text": .string
                        case "blob": .binary
                        default: .unknown
                        }
                    names.append(DataVaultDataName(name: name, type: type))
                }
                return names
            }
        }
    }
}
