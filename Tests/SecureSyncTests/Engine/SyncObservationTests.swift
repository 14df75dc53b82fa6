import SecureStorage
import SecureSync
import SyncTestKit
import TestSupport
import Testing

/// What observers of a synced file see.
struct SyncObservationTests {
    private let simulation: SyncSimulation

    init() {
        var tables = SyncedTables()
        tables.add("note")
        var migrations = SchemaMigrations()
        migrations.add("notes", sql: "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, text)")
        simulation = SyncSimulation(tables: tables, migrations: migrations)
    }

    @Test func `writes and what others have sent are changes of the app's tables only`()
        async throws
    {
        let (phone, laptop) = (
            try await simulation.device("phone"), try await simulation.device("laptop")
        )
        try await simulation.settle()
        var changes = laptop.database.changes().makeAsyncIterator()
        try await laptop.database.write {
            try $0.executeStatements("INSERT INTO note VALUES ('a', 'milk')")
        }
        await check(changes.next()?.tables.keys.sorted(), equals: ["note"])
        // Timestamps, sealed batches and positions.
        try await simulation.settle()
        try await phone.database.write {
            try $0.executeStatements("UPDATE note SET text = 'cream'")
        }
        try await simulation.settle()
        await check(changes.next()?.tables.keys.sorted(), equals: ["note"])
    }
}
