public import Foundation
public import SecureStorage

/// Which vault a database is, and how many backups were made of it.
///
/// It lies in the database itself, in the table `securestorage_vault`, which the first backup
/// makes; so it is restored with it.
public struct VaultIdentity: Sendable, Equatable {
    /// A random id.
    public let id: UUID

    /// Grows with each backup.
    ///
    /// Two devices that were restored from one backup count on independently.
    public let generation: UInt64

    /// The identity of an open database.
    ///
    /// - Parameter store: Also of a read-only one.
    /// - Returns: nil when no backup was ever made of it.
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

    /// Counts one backup more.
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
