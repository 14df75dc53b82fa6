import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// The snippets about `BackupSchedule`; see `DocumentedSnippets`.
struct BackupScheduleSnippets {
    @Test func `copies at regular times, and back`() async throws {
        let database = try TemporaryDatabase()
        let pool = try database.openPool()
        try await pool.write { try $0.executeUpdate("CREATE TABLE note (text TEXT)") }
        let (databaseURL, key) = (database.url, TemporaryDatabase.key)
        let backupsURL = database.directory.appendingPathComponent("backups")
        // begin
        var settings = BackupSchedule.Settings()
        settings.every = .seconds(15 * 60)
        let schedule = try BackupSchedule(
            of: pool, in: backupsURL, name: "notes", settings: settings,
            onSuccess: { print("backup", $0.url.lastPathComponent) },
            onFailure: { print("no backup:", $0) })
        let running = Task { try await schedule.run() }
        // end
        while try schedule.backups().isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        running.cancel()
        _ = await running.result
        await pool.close()
        func restore() throws {
            // begin
            guard let newest = try schedule.backups().first else { return }
            let copy = SecureDatabaseStore(url: newest.url)
            try copy.open(with: key)
            try copy.backup(to: databaseURL, replacing: true)
            copy.close()
            // end
        }
        try restore()
        try check(database.openStore().tableExists("note"))
    }
}
