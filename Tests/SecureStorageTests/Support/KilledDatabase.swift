import Foundation
import SecureStorage
import Testing
import TestSupport

/// A database whose process was killed: committed rows are only in its log, or its journal is hot.
enum KilledDatabase {
    static let rows = 50
    static let count = "SELECT count(*) FROM t"

    static func make(
        _ database: TemporaryDatabase, _ mode: SecureDatabaseConfiguration.JournalMode
    ) async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = database.path as String, mode = mode.rawValue as String] in
            var configuration = SecureDatabaseConfiguration()
            configuration.journalMode = try require(.init(rawValue: mode))
            configuration.cacheSize = 0
            let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
            try db.open(with: TemporaryDatabase.key)
            try db.executeUpdate("CREATE TABLE t (x)")
            for _ in 1...KilledDatabase.rows {
                try db.executeUpdate("INSERT INTO t VALUES (randomblob(2000))")
            }
            if mode == "delete" {
                // More than the cache holds: part of it is already in the file and must be rolled
                // back.
                try db.beginExclusiveTransaction()
                try db.executeUpdate("UPDATE t SET x = randomblob(4000)")
                try db.executeUpdate("INSERT INTO t SELECT randomblob(3000) FROM t, t AS u")
            }
            SuddenDeath.now()
        }
        let suffix = mode == .wal ? "-wal" : "-journal"
        try require(FileManager.default.fileExists(atPath: database.path + suffix))
    }
}
