import Foundation
import SecureStorage
import Vaults
import Workers

extension WorkerCase {
    /// Strings of an unlocked vault that locks itself, and the same ones in a key-value store of
    /// equal size.
    static let vaultCases = [
        WorkerCase("vault-get") { job in
            try inNewDirectory { directory in
                var policy = DataVaultPasswordPolicy()
                policy.lockTimeout = 3600
                let vault = try DataVaultContainer(directory: directory)
                    .create(id: "benchmark", password: "", policy: policy)
                for name in names { try vault.setString(name, value: "value of \(name)") }
                return try read(job) { try vault.getString($0) }
            }
        },
        WorkerCase("store-get") { job in
            try inNewDirectory { directory in
                let url = directory.appendingPathComponent("store.db")
                let store = SecureKeyValueStore(fullDatabasePath: url.path)
                try store.open(with: .raw(.random(count: 32)))
                for name in names { try store.put("value of \(name)", forKey: name) }
                return try read(job) { try store.getString($0) }
            }
        },
    ]

    private static let names = (0..<500).map { "name \($0)" }

    private static func read(_ job: Job, _ get: (String) throws -> String?) throws -> Outcome {
        let wanted = job.ids.map { names[Int($0) % names.count] }
        return try job.timed {
            var sum: UInt64 = 0
            for name in wanted { sum &+= checksum(try get(name) ?? "") }
            return sum
        }
    }

    private static func inNewDirectory<R>(_ body: (URL) throws -> R) throws -> R {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("benchmark-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url) }
        return try body(url)
    }
}
