public import Foundation
public import SecureStorage

/// The identity of a vault's database, and the number of backups made of it.
///
/// It is stored in the database itself, in the table `securestorage_vault`, which the first backup
/// creates; so it is restored with the database.
public struct VaultIdentity: Sendable, Equatable {
    /// A random id.
    public let id: UUID

    /// A number that grows with each backup.
    ///
    /// Two devices restored from one backup count independently.
    public let generation: UInt64

    /// Reads the identity of an open database.
    ///
    /// - Parameter store: The database, which may be read-only.
    /// - Returns: The identity; nil if the database was never backed up.
    /// - Throws: `SecureStorageError`.
    public static func read(in store: SecureDatabaseStore) throws -> VaultIdentity? {
        guard try store.tableExists("securestorage_vault") else { return nil }
        let rows = try store.executeQuery("SELECT id, generation FROM securestorage_vault")
        defer { rows.close() }
        guard try rows.next(), let id = rows.data(forColumnIndex: 0), id.count == 16,
            let generation = rows.int64(forColumnIndex: 1), generation > 0
        else { return nil }
        return VaultIdentity(id: UUID(id), generation: UInt64(generation))
    }

    /// Counts one more backup.
    static func advance(in store: SecureDatabaseStore) throws {
        try store.executeUpdate(
            """
            CREATE TABLE IF NOT EXISTS securestorage_vault (
                one INTEGER PRIMARY KEY CHECK (one = 1), id BLOB NOT NULL,
                generation INTEGER NOT NULL)
            """)
        try store.executeUpdate(
            """
            INSERT INTO securestorage_vault VALUES (1, ?, 1)
            ON CONFLICT (one) DO UPDATE SET generation = generation + 1
            """, Data(RandomBytes.make(16)))
    }
}
