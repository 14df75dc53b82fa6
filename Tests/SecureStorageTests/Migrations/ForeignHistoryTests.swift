import Foundation
import SecureStorage
import Testing
import TestSupport

/// A migration history that this library did not write.
struct ForeignHistoryTests {
    @Test func `a history that names a step twice is an error`() async throws {
        await #expect(processExitsWith: .success) {
            let database = try TemporaryDatabase()
            let db = try database.openStore()
            var migrations = SchemaMigrations()
            migrations.add("one", sql: "CREATE TABLE t (x)")
            try migrations.apply(to: db)
            try db.executeStatements(
                """
                CREATE TABLE copy AS SELECT * FROM securestorage_migration;
                DROP TABLE securestorage_migration;
                ALTER TABLE copy RENAME TO securestorage_migration;
                INSERT INTO securestorage_migration SELECT 2, name, checksum, 0
                    FROM securestorage_migration;
                """)
            check(storageError { _ = try migrations.pending(in: db) }?.code, equals: 21)
        }
    }
}
