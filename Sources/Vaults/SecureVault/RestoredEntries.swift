internal import Foundation
internal import SecureStorage

/// Entries that the key store of a restored vault gets when the vault is first opened.
///
/// Until then they lie in the database, in a table of their own: they have to take the place of the old ones
/// together with the database, and that only has one name.
enum RestoredEntries {
    private static let table = "securestorage_restored"

    /// Puts them into a database that has no name yet.
    static func put(_ entries: [(name: String, data: Data)], into db: SecureDatabaseStore) throws {
        try db.executeUpdate("DROP TABLE IF EXISTS \(table)")
        try db.executeUpdate(
            """
            CREATE TABLE \(table) (
                position INTEGER PRIMARY KEY, name TEXT NOT NULL, data BLOB NOT NULL)
            """)
        for entry in entries {
            try db.executeUpdate(
                "INSERT INTO \(table) (name, data) VALUES (?, ?)", values: [entry.name, entry.data])
        }
    }

    /// Moves them, if there are any: in their order, and again from the beginning after a crash.
    ///
    /// Under the lock of a transaction, so that no other process has moved them, and changed the password, meanwhile.
    static func move(
        from database: SecureVaultDatabase, to keystore: any SecureStorageKeyStoreProvider
    ) throws {
        do {
            guard try database.read({ try $0.tableExists(table) }) else { return }
            try database.write { db in
                guard try db.tableExists(table) else { return }
                let entries = try read(in: db)
                for entry in entries {
                    try keystore.writeData(
                        entry.data, named: entry.name, serviceName: keystore.keychainServiceName)
                }
                if !entries.contains(where: { $0.name == keystore.generatedPasswordEntryName }) {
                    try keystore.clearGeneratedPassword()
                }
                try db.executeUpdate("DROP TABLE \(table)")
            }
        } catch {
            throw SecureVaultError.make(of: error) { .databaseError(cause: $0) }
        }
    }

    private static func read(in db: SecureDatabaseStore) throws -> [(name: String, data: Data)] {
        let rows = try db.executeQuery("SELECT name, data FROM \(table) ORDER BY position")
        defer { rows.close() }
        var entries: [(name: String, data: Data)] = []
        while try rows.next() {
            guard let name = rows.string(forColumnIndex: 0),
                let data = rows.data(forColumnIndex: 1)
            else { throw SecureVaultError.encodingFailed }
            entries.append((name, data))
        }
        return entries
    }
}
