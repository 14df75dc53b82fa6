import SecureStorage
import SecureSync
import TestSupport
import Testing

/// The declaration of tables as the file keeps it.
struct SyncedTablesFileTests {
    private let home: TemporaryDatabase

    init() throws { home = try TemporaryDatabase() }

    private func install(_ tables: SyncedTables, in pool: SecureDatabasePool) throws {
        try pool.write { try Capture(tables).install(in: $0) }
    }

    @Test func `another program reads what the last engine has declared`() throws {
        let pool = try home.openPool()
        defer { pool.close() }
        try check(SyncedTables(declaredIn: pool).isEmpty)
        try pool.write {
            try $0.executeStatements(
                """
                CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, a, b, c);
                CREATE TABLE "set" (id TEXT PRIMARY KEY NOT NULL, a);
                CREATE TABLE number (id INTEGER PRIMARY KEY, a);
                """)
        }
        var tables = SyncedTables()
        tables.add("NOTE", together: [["a", "b"]])
        tables.add("set", merging: .row)
        tables.add("number", ids: .random)
        tables.add(keyValueStore: "My settings, 100 %")
        try install(tables, in: pool)
        let read = try SyncedTables(declaredIn: pool)
        check(read.declarations, equals: tables.declarations)
        check(read.declarations.compactMap(\.keyValueStore), equals: ["My settings, 100 %"])

        var fewer = SyncedTables()
        fewer.add("note")
        try install(fewer, in: pool)
        try check(SyncedTables(declaredIn: pool).declarations, equals: fewer.declarations)
    }

    @Test func `a declaration that cannot be read is reported`() throws {
        let pool = try home.openPool()
        defer { pool.close() }
        var tables = SyncedTables()
        tables.add("note")
        try pool.write {
            try $0.executeStatements("CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, a)")
        }
        try install(tables, in: pool)
        try pool.write {
            try $0.executeUpdate("UPDATE securestorage_sync_table SET declaration = '{}'")
        }
        #expect(
            throws: SyncError.damaged("securestorage_sync_table", "a declaration is not readable")
        ) {
            try SyncedTables(declaredIn: pool)
        }
    }
}
