internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

/// Entries that the key store of a restored vault receives when the vault is first opened.
///
/// Until then they are kept in a separate table of the database: they must replace the old ones
/// together with the database, and only the database is replaced in a single step. They are sealed
/// with a key derived from the database's, so write access to the database alone does not control
/// what the key store receives.
struct RestoredEntries {
    private static let table = "securestorage_restored"

    var entries: [(name: String, secret: SecretBytes)] = []

    /// Stores the entries in a database that has no name yet and whose key is `key`.
    func put(into db: SecureDatabaseStore, key: SecretBytes) throws {
        var writer = ByteWriter(capacity: 4096)
        for entry in entries {
            writer.part(entry.name)
            entry.secret.withUnsafeBytes { writer.part($0) }
        }
        var bytes = writer.bytes
        writer = ByteWriter(capacity: 0)  // otherwise it would share the bytes
        let sealed = try Self.sealing(key).seal(
            SecretBytes(erasing: &bytes), table: Self.table, column: "entries", row: 1)
        try db.executeUpdate("DROP TABLE IF EXISTS \(Self.table)")
        try db.executeUpdate(
            """
            CREATE TABLE \(Self.table) (
                one INTEGER PRIMARY KEY CHECK (one = 1), entries BLOB NOT NULL)
            """)
        try db.executeUpdate("INSERT INTO \(Self.table) VALUES (1, ?)", sealed)
    }

    /// Moves the entries, if any, to the key store in order; after a crash it starts over.
    ///
    /// It holds the lock of a transaction, so that no other process can move them and change the
    /// password in the meantime.
    static func move(
        from database: any SecureDatabaseWriter, to keystore: any SecureStorageKeyStoreProvider
    ) throws {
        do {
            guard try database.read({ try $0.tableExists(table) }) else { return }
            try database.write { db in
                guard try db.tableExists(table) else { return }
                // Entries that do not open were not stored by a restore of this vault.
                if let key = try VaultKeyEntries(keystore: keystore).read(keystore.l1KeyEntryName),
                    let restored = try? RestoredEntries(in: db, key: key)
                {
                    try restored.store(in: keystore)
                }
                try db.executeUpdate("DROP TABLE \(table)")
            }
            // A power failure must not restore them after the password was changed.
            try database.checkpoint()
        } catch {
            throw SecureVaultError.make(of: error) { .databaseError(cause: $0) }
        }
    }

    private init(in db: SecureDatabaseStore, key: SecretBytes) throws {
        let sealed = try db.data(forQuery: "SELECT entries FROM \(Self.table)") ?? Data()
        let secret = try Self.sealing(key).openSecret(
            sealed, table: Self.table, column: "entries", row: 1)
        try secret.withUnsafeBytes { bytes in
            var rest = bytes[...]
            func part() throws -> UnsafeRawBufferPointer {
                let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
                guard rest.count >= 4 + length else { throw SecureVaultError.encodingFailed }
                defer { rest = rest.dropFirst(4 + length) }
                return UnsafeRawBufferPointer(rebasing: rest.dropFirst(4).prefix(length))
            }
            while !rest.isEmpty {
                let name = String(decoding: try part(), as: UTF8.self)
                entries.append((name, SecretBytes(copying: try part())))
            }
        }
    }

    init() {}

    private func store(in keystore: any SecureStorageKeyStoreProvider) throws {
        for entry in entries {
            try VaultKeyEntries(keystore: keystore).store(entry.secret, forName: entry.name)
        }
        // Wrong passwords of the vault that was there.
        try keystore.removeData(
            named: LevelTries.entryName, serviceName: keystore.keychainServiceName)
        if !entries.contains(where: { $0.name == keystore.generatedPasswordEntryName }) {
            try keystore.clearGeneratedPassword()
        }
    }

    private static func sealing(_ key: SecretBytes) throws -> DataEncryptionKey {
        try DataEncryptionKey(name: "SecureVault restored", bytes: key)
    }
}
