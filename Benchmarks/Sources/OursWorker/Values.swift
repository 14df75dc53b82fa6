import Foundation
import SecureStorage
import Vaults
import Workers

extension WorkerCase {
    /// Sealed values of 100 bytes, each for a separate row, without a file.
    static let valueCases = [
        WorkerCase("seal-value") { job in
            let key = try DataEncryptionKey.random(name: "benchmark")
            let value = Data(repeating: 7, count: 100)
            return try job.timed {
                var sum: UInt64 = 0
                for id in job.ids {
                    sum &+= UInt64(
                        try key.seal(value, table: "t", column: "c", row: .integer(id)).count)
                }
                return sum
            }
        },
        WorkerCase("open-value") { job in
            try open(job) { key, sealed, id in
                try key.open(sealed, table: "t", column: "c", row: id).count
            }
        },
        WorkerCase("open-secret") { job in
            try open(job) { key, sealed, id in
                try key.openSecret(sealed, table: "t", column: "c", row: id).count
            }
        },
    ]

    private static func open(
        _ job: Job, _ body: (DataEncryptionKey, Data, RowIdentity) throws -> Int
    ) throws -> Outcome {
        let key = try DataEncryptionKey.random(name: "benchmark")
        let value = Data(repeating: 7, count: 100)
        let sealed = try job.ids.map {
            try key.seal(value, table: "t", column: "c", row: .integer($0))
        }
        return try job.timed {
            var sum: UInt64 = 0
            for (id, sealed) in zip(job.ids, sealed) {
                sum &+= UInt64(try body(key, sealed, .integer(id)))
            }
            return sum
        }
    }
}
