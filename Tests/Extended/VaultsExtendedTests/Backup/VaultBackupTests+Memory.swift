import TestSupport

#if os(Linux)
    import Foundation
    import SecureStorage
    import Testing

    @testable import Vaults
    @testable import VaultsTests

    /// Tests of how much memory backups need.
    extension VaultBackupTests {
        /// The size of the database in megabytes: small by default, larger (300) in a campaign.
        static var megabytes: Int {
            environmentNumber("SECURESTORAGE_BACKUP_MEGABYTES", default: 24)
        }

        @Test(.enabled(if: !Sanitizer.isPresent))
        func `making and restoring a backup takes the same memory for a vault of any size`()
            async throws
        {
            let keys = try KeyFolder()
            let vault = try TestVault(rows: 1, keyStore: keys.store())
            try vault.withStore { store in
                try store.executeUpdate("CREATE TABLE large (data BLOB)")
                for _ in 0..<Self.megabytes {
                    try store.executeUpdate(
                        "INSERT INTO large VALUES (zeroblob(1048000))")
                }
            }
            let report = vault.place.directory.appendingPathComponent("peak")
            await #expect(processExitsWith: .success) {
                [
                    database = vault.url as URL, backup = vault.backup as URL,
                    report = report as URL,
                    keys = keys.url as URL,
                ] in
                try Self.work(database, backup, report, keys)
            }
            let text = try String(contentsOf: report, encoding: .utf8)
            let numbers = text.split(separator: " ").compactMap { Int($0) }
            try require(numbers.count == 3)
            let file = try require(
                FileManager.default.attributesOfItem(atPath: vault.backup.path)[.size] as? Int)
            check(file > Self.megabytes * 1_000_000)
            // SQLite's cache takes at most 16 MiB for each of two connections.
            check(numbers[2] - numbers[0] < 64 << 20, "\(text)")
            if Self.megabytes > 100 {
                print("a backup of \(file >> 20) MiB: \(numbers.map { $0 >> 20 }) MiB at most")
            }
        }

        private static func work(_ database: URL, _ backup: URL, _ report: URL, _ keys: URL) throws
        {
            let store = SecureDatabaseStore(url: database)
            try store.open(with: .raw(FileKeyStore(directory: keys).read("db"))) { _ in nil }
            let before = peakMemory()
            let code = RecoveryCode.random()
            try VaultBackup.make(
                of: SecureDatabaseQueue(databaseStore: store), at: backup, unlockedBy: [code])
            store.close()
            let made = peakMemory()
            let other = try TestVault(emptyWith: InMemoryKeyStore())
            try VaultBackup.restore(
                from: backup, to: other.url, unlockedBy: code, keyStore: other.keyStore,
                keyNames: TestVault.names)
            try Data("\(before) \(made) \(peakMemory())".utf8).write(to: report)
        }
    }
#endif
