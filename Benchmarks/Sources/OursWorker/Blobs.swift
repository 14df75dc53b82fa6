import Foundation
import SecureStorage
import Workers

extension WorkerCase {
    /// One large value, in chunks of 64 KiB, through a pool.
    static let blobCases = [
        WorkerCase("blob-write") { job in
            try withPool(job) { pool in
                let outcome = try job.timed { inTask { try await write(job, pool) } }
                return outcome.checked(
                    by: try pool.read {
                        try $0.int64(forQuery: "SELECT length(payload) FROM sample")
                    })
            }
        },
        WorkerCase("blob-read") { job in
            try withPool(job) { pool in
                _ = inTask { try await write(job, pool) }
                return try job.timed {
                    inTask {
                        var sum: UInt64 = 0
                        let chunks = pool.chunks(
                            table: "sample", column: "payload", rowID: 1, chunkSize: 1 << 16)
                        for try await chunk in chunks {
                            sum &+= UInt64(chunk.count) &+ UInt64(chunk[chunk.startIndex])
                        }
                        return sum
                    }
                }
            }
        },
    ]

    private static func withPool(
        _ job: Job, _ body: (SecureDatabasePool) throws -> Outcome
    ) throws -> Outcome {
        let pool = SecureDatabasePool(
            fullDatabasePath: job.path, configuration: .benchmark(cacheSize: 2 << 20))
        try pool.open(with: .raw(SecretBytes(copying: SampleData.key)))
        defer { pool.close() }
        return try body(pool)
    }

    private static func write(_ job: Job, _ pool: SecureDatabasePool) async throws -> UInt64 {
        try await pool.write { try $0.executeUpdate("INSERT INTO sample (id) VALUES (1)") }
        let chunk = Data(repeating: 7, count: 1 << 16)
        // The slices share the chunk's memory.
        let chunks = AsyncStream<Data> { stream in
            for start in stride(from: 0, to: job.valueSize, by: chunk.count) {
                stream.yield(chunk.prefix(job.valueSize - start))
            }
            stream.finish()
        }
        try await pool.write(
            chunks, count: job.valueSize, table: "sample", column: "payload", rowID: 1)
        return 0
    }
}
