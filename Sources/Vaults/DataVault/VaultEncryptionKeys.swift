internal import Foundation
internal import SecureStorage

/// The keys for data that an app encrypts: the present one follows from the vault's key; those from
/// before the vault's key was another one are in the database, and only open.
struct VaultEncryptionKeys {
    let present: DataEncryptionKey
    /// By their age, the oldest first.
    let former: [DataEncryptionKey]

    private static let schema = """
        CREATE TABLE IF NOT EXISTS datavault_former_key (
            number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)
        """

    /// Reads those of a vault with this key.
    init(of key: DataEncryptionKey, in db: SecureDatabaseStore) throws {
        former = try Self.former(in: db)
        present = try Self.derived(from: key, number: former.count + 1)
    }

    private static func former(in db: SecureDatabaseStore) throws -> [DataEncryptionKey] {
        guard try db.tableExists("datavault_former_key") else { return [] }
        let rows = try db.executeQuery(
            "SELECT number, bytes FROM datavault_former_key ORDER BY number")
        defer { rows.close() }
        var keys: [DataEncryptionKey] = []
        while try rows.next() {
            let bytes = rows.withUnsafeBytes(forColumnIndex: 1) { SecretBytes(copying: $0) }
            guard rows.int(forColumnIndex: 0) == keys.count + 1, let bytes, bytes.count == 32 else {
                throw EnvelopeError.damaged(reason: "a former key of the vault is not readable")
            }
            keys.append(try DataEncryptionKey(name: name(keys.count + 1), bytes: bytes))
        }
        return keys
    }

    /// Keeps the key for the app's data that follows from `key`, before the vault gets another one;
    /// in a write transaction.
    static func keep(_ key: DataEncryptionKey, in db: SecureDatabaseStore) throws {
        try db.executeUpdate(schema)
        let number = try former(in: db).count + 1
        try derived(from: key, number: number).material.secret().withData {
            try db.executeUpdate(
                "INSERT INTO datavault_former_key (number, bytes) VALUES (?, ?)",
                values: [number, $0])
        }
    }

    private static func derived(
        from key: DataEncryptionKey, number: Int
    ) throws -> DataEncryptionKey {
        try DataEncryptionKey(
            name: name(number), bytes: key.derivedKey(for: "datavault encryption 1"))
    }

    private static func name(_ number: Int) -> String {
        number == 1 ? "datavault encryption" : "datavault encryption \(number)"
    }

    /// The former key of this name, for opening a stream; the present one if there is none.
    func key(named name: String) -> DataEncryptionKey {
        former.first { $0.name == name } ?? present
    }

    /// Opens what one of the keys has sealed.
    func open(_ data: Data, table: String, column: String, row: RowIdentity) throws -> Data {
        do {
            return try present.open(data, table: table, column: column, row: row)
        } catch let error as EnvelopeError {
            guard case .notAuthentic = error else { throw error }
            for key in former.reversed() {
                if let opened = try? key.open(data, table: table, column: column, row: row) {
                    return opened
                }
            }
            throw error
        }
    }

    func clear() {
        present.clear()
        for key in former { key.clear() }
    }
}
