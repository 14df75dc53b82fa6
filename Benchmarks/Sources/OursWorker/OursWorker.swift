import SecureStorage
import Workers

/// The library, through its public API.
@main
enum OursWorker {
    static func main() {
        Worker.main {
            let cipher = try SecureDatabaseStore.cipherVersion
            return (
                "SQLCipher \(cipher) on SQLite \(try SecureDatabaseStore.sqliteVersion)",
                WorkerCase.rowCases + WorkerCase.queueCases + WorkerCase.openingCases
                    + WorkerCase.groupCases + WorkerCase.blobCases + WorkerCase.valueCases
                    + WorkerCase.vaultCases
            )
        }
    }
}

extension SecureDatabaseConfiguration {
    static func benchmark(cacheSize: Int = 64 << 20) -> SecureDatabaseConfiguration {
        var configuration = SecureDatabaseConfiguration()
        configuration.synchronous = .normal
        configuration.cacheSize = cacheSize
        return configuration
    }
}

extension SecureDatabaseStore {
    static func opened(_ path: String, cacheSize: Int = 64 << 20) throws -> SecureDatabaseStore {
        let store = SecureDatabaseStore(
            fullDatabasePath: path, configuration: .benchmark(cacheSize: cacheSize))
        try store.open(with: SampleData.key)
        return store
    }
}

extension WorkerCase {
    /// Creates a case with an open store.
    ///
    /// The query `warm` reads the pages beforehand; `check` returns the checksum of the written
    /// data.
    init(
        _ name: String, cacheSize: Int = 64 << 20, warm: String? = nil, check: String? = nil,
        _ body: @escaping @Sendable (SecureDatabaseStore, Job) throws -> UInt64
    ) {
        self.init(name) { job in
            let store = try SecureDatabaseStore.opened(job.path, cacheSize: cacheSize)
            defer { store.close() }
            if let warm { _ = try store.int64(forQuery: warm) }
            let outcome = try job.timed { try body(store, job) }
            guard let check else { return outcome }
            return outcome.checked(by: try store.int64(forQuery: check))
        }
    }
}
