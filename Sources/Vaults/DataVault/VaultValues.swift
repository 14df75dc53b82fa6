internal import Foundation
internal import SecureStorage

/// The open database of a vault: one table of names and values.
///
/// The type of a value is SQLite's own, TEXT or BLOB, so it cannot contradict the value.
final class VaultValues: Sendable {
    private let queue: SecureDatabaseQueue
    private let file: VaultFile

    private static let schema =
        "CREATE TABLE value (name TEXT NOT NULL PRIMARY KEY, data NOT NULL) WITHOUT ROWID"
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

    /// Opens the database of an existing vault.
    init(_ path: String, key: DataEncryptionKey) throws {
        guard let file = VaultFile(path) else {
            throw DataVaultError.ioReadError(cause: Self.missing)
        }
        self.file = file
        let store = try Self.store(path)
        queue = SecureDatabaseQueue(databaseStore: store)
        try DataVaultError.reading {
            try queue.inDatabase { db in
                // Gone since the check above: do not create a new one in its place.
                try db.open(with: .raw(Self.databaseKey(key))) { _ in Self.missing }
            }
        }
    }

    deinit { close() }

    private static func store(_ path: String) throws -> SecureDatabaseStore {
        var configuration = SecureDatabaseConfiguration()
        // One that is no longer referenced may still be closing while the next one opens.
        configuration.secondInstance = .allowed
        configuration.busyTimeout = .seconds(30)
        return SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
    }

    private static func databaseKey(_ key: DataEncryptionKey) throws -> SecretBytes {
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

    // MARK: - Values

    func string(_ name: String) throws -> String? {
        try DataVaultError.reading {
            try queue.inDatabase { db in
                let rs = try db.executeQuery(Self.select, values: [name])
                defer { rs.close() }
                guard try rs.next() else { return nil }
                switch try rs.type(forColumnIndex: 0) {
                case .text: break
                case .blob: throw DataVaultError.conversionError
                default: throw DataVaultError.dataTypeError
                }
                guard let text = rs.string(forColumnIndex: 0) else {
                    throw EnvelopeError.damaged(reason: "a string is not valid UTF-8")
                }
                return text
            }
        }
    }

    func data(_ name: String) throws -> Data? {
        try DataVaultError.reading {
            try queue.inDatabase { db in
                let rs = try db.executeQuery(Self.select, values: [name])
                defer { rs.close() }
                guard try rs.next() else { return nil }
                guard let data = rs.data(forColumnIndex: 0) else {
                    throw DataVaultError.dataTypeError
                }
                return data
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
