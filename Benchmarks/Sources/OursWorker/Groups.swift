import SecureStorage
import Workers

extension WorkerCase {
    /// One row per `write` of a pool that waits for the disk at each commit.
    static let groupCases = [
        WorkerCase("group-write-1") { try write($0, tasks: 1) },
        WorkerCase("group-write-16") { try write($0, tasks: 16) },
        WorkerCase("group-write-64") { try write($0, tasks: 64) },
        WorkerCase("ungrouped-write-1") { try write($0, tasks: 1, groups: false) },
        WorkerCase("ungrouped-write-16") { try write($0, tasks: 16, groups: false) },
        WorkerCase("ungrouped-write-64") { try write($0, tasks: 64, groups: false) },
    ]

    private static func write(_ job: Job, tasks: Int, groups: Bool = true) throws -> Outcome {
        var configuration = SecureDatabaseConfiguration.benchmark()
        configuration.synchronous = .full
        configuration.groupsWrites = groups
        let pool = SecureDatabasePool(fullDatabasePath: job.path, configuration: configuration)
        try pool.open(with: .raw(SecretBytes(copying: SampleData.key)))
        defer { pool.close() }
        let outcome = try job.timed {
            inTasks(tasks, of: job) { number in
                try await pool.write { db in
                    try db.executeUpdate(
                        "INSERT INTO sample (name, amount) VALUES (?, ?)",
                        values: [SampleData.texts[number % SampleData.texts.count], number])
                }
            }
        }
        return outcome.checked(
            by: try pool.read { try $0.int64(forQuery: "SELECT count(*) FROM sample") })
    }
}
