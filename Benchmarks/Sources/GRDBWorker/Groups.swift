import GRDB
import Workers

extension WorkerCase {
    /// One row per `write` of a pool that waits for the disk at each commit.
    static let groupCases = [
        WorkerCase("group-write-1") { try write($0, tasks: 1) },
        WorkerCase("group-write-16") { try write($0, tasks: 16) },
        WorkerCase("group-write-64") { try write($0, tasks: 64) },
    ]

    private static func write(_ job: Job, tasks: Int) throws -> Outcome {
        let pool = try DatabasePool(path: job.path, configuration: .raw)
        // A pool sets NORMAL when it opens its writer.
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2 else {
                throw WorkerFailure("this connection does not wait for the disk")
            }
        }
        let outcome = try job.timed {
            inTasks(tasks, of: job) { number in
                try await pool.write { db in
                    let statement = try db.cachedStatement(
                        sql: "INSERT INTO sample (name, amount) VALUES (?, ?)")
                    try statement.execute(arguments: [
                        SampleData.texts[number % SampleData.texts.count], number,
                    ])
                }
            }
        }
        let rows = try pool.read { try Int64.fetchOne($0, sql: "SELECT count(*) FROM sample") }
        try pool.close()
        return outcome.checked(by: rows)
    }
}
