import Foundation
import ObjectStores
import SecureKeys
import SecureStorage
import SecureSync
import TestSupport
import Testing

/// Imports that have more rows than fit in a device's memory.
struct SyncImportTests {
    @Test(.disabled(if: Sanitizer.isPresent))
    func `an import of 80 MB is sent in little memory`() async throws {
        let folder = try TemporaryDatabase()
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let queue = SecureDatabaseQueue(url: URL(fileURLWithPath: path))
            try await queue.open(with: .raw(TemporaryDatabase.key))
            try await queue.write { db in
                try db.executeStatements("CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, text)")
            }
            var tables = SyncedTables()
            tables.add("note")
            let store = URL(fileURLWithPath: path).deletingLastPathComponent()
                .appendingPathComponent("store")
            let engine = try SyncEngine(
                queue, tables: tables, store: DirectoryObjectStore(directory: store),
                keyStore: InMemoryKeyStore())
            try await engine.createGroup(deviceName: "phone")
            // Row by row: SQLite has all rows of a SELECT in memory for a table with triggers.
            try await queue.write { db in
                for number in 0..<800 {
                    try db.executeUpdate(
                        "INSERT INTO note VALUES (?, randomblob(100000))", values: ["\(number)"])
                }
            }
            let before = peakMemory()
            let report = try await engine.syncOnce()
            check(report.sentBatches > 350)
            check(report.hasWrittenSnapshot)
            let more = peakMemory() - before
            check(more < 25 << 20, "\(more >> 20) MiB more")
        }
    }
}
