import Foundation
import SecureStorage
import Workers

extension WorkerCase {
    static let openingCases = [
        WorkerCase("pool-1-reader") { try readWithPool($0, readers: 1) },
        WorkerCase("pool-2-readers") { try readWithPool($0, readers: 2) },
        WorkerCase("open-raw") { job in
            try job.timed {
                for _ in 0..<50 { try SecureDatabaseStore.opened(job.path).close() }
                return 50
            }
        },
        WorkerCase("open-passphrase") { job in
            try job.timed {
                let store = SecureDatabaseStore(
                    fullDatabasePath: job.path, configuration: .benchmark())
                try store.open(with: SampleData.passphrase)
                store.close()
                return 1
            }
        },
        WorkerCase("pool-open-passphrase", openPool),
        WorkerCase("rekey", check: SampleData.checkRows) { db, _ in
            try db.changeEncryptionKey(with: SampleData.otherKey)
            return 0
        },
        WorkerCase("verify") { db, _ in
            guard try db.verifyIntegrity().isSound else { throw WorkerFailure("not sound") }
            return UInt64(try db.int(forQuery: "SELECT count(*) FROM sample") ?? 0)
        },
        WorkerCase("backup") { db, job in
            let copy = URL(fileURLWithPath: job.path + ".backup")
            try? FileManager.default.removeItem(at: copy)
            try db.backup(to: copy)
            try FileManager.default.removeItem(at: copy)
            return UInt64(try db.int(forQuery: "SELECT count(*) FROM sample") ?? 0)
        },
    ]

    private static func readWithPool(_ job: Job, readers: Int) throws -> Outcome {
        let pool = SecureDatabasePool(fullDatabasePath: job.path, configuration: .benchmark())
        try pool.open(with: .raw(SecretBytes(copying: SampleData.key)))
        defer { pool.close() }
        return timedThreads(readers) { gate in
            try pool.read { db in
                _ = try db.int64(forQuery: SampleData.warmRows)
                gate.wait()
                return try scan(db)
            }
        }
    }

    /// Opens a pool with a writer and five readers.
    private static func openPool(_ job: Job) throws -> Outcome {
        try job.timed {
            let pool = SecureDatabasePool(fullDatabasePath: job.path, configuration: .benchmark())
            try pool.open(with: .passphrase(SampleData.passphrase))
            // All five are in their blocks concurrently, so each has its own connection.
            let rows = timedThreads(5) { gate in
                try pool.read { db in
                    let rows = try db.int(forQuery: "SELECT count(*) FROM sample") ?? 0
                    gate.wait()
                    return UInt64(rows)
                }
            }
            pool.close()
            return rows.checksum
        }
    }
}
