import GRDB
import Workers

extension WorkerCase {
    static let openingCases = [
        WorkerCase("pool-1-reader") { try readWithPool($0, readers: 1) },
        WorkerCase("pool-2-readers") { try readWithPool($0, readers: 2) },
        WorkerCase("open-raw") { job in
            try job.timed {
                for _ in 0..<50 { try open(job, .raw) }
                return 50
            }
        },
        WorkerCase("open-passphrase") { job in
            try job.timed {
                try open(job, .passphrase)
                return 1
            }
        },
        WorkerCase("pool-open-passphrase", openPool),
    ]

    private static func open(_ job: Job, _ configuration: Configuration) throws {
        let queue = try DatabaseQueue(path: job.path, configuration: configuration)
        _ = try queue.inDatabase { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema")
        }
        try queue.close()
    }

    private static func readWithPool(_ job: Job, readers: Int) throws -> Outcome {
        let pool = try DatabasePool(path: job.path, configuration: .raw)
        let outcome = timedThreads(readers) { gate in
            try pool.read { db in
                _ = try Int64.fetchOne(db, sql: SampleData.warmRows)
                gate.wait()
                return try scan(db)
            }
        }
        try pool.close()
        return outcome
    }

    /// Opens a pool with a writer and five readers.
    private static func openPool(_ job: Job) throws -> Outcome {
        try job.timed {
            let pool = try DatabasePool(path: job.path, configuration: .passphrase)
            // All five are in their blocks concurrently, so each has its own connection.
            let rows = timedThreads(5) { gate in
                try pool.read { db in
                    let rows = try Int.fetchOne(db, sql: "SELECT count(*) FROM sample") ?? 0
                    gate.wait()
                    return UInt64(rows)
                }
            }
            try pool.close()
            return rows.checksum
        }
    }
}
