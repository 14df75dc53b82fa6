import SecureStorage
import Workers

/// The library, through its public API.
@main
enum OursWorker {
    static func main() {
        Worker.main {
            let cipher = try SecureDatabaseStore.cipherVersion
            let cases =
                WorkerCase.rowCases + WorkerCase.queueCases + WorkerCase.openingCases
                + WorkerCase.groupCases + WorkerCase.blobCases + WorkerCase.valueCases
                + WorkerCase.vaultCases
            return (
                "SQLCipher \(cipher) on SQLite \(try SecureDatabaseStore.sqliteVersion)",
                cases + cases.map { $0.observed() }
            )
        }
    }
}

extension SecureDatabaseConfiguration {
    static func benchmark(cacheSize: Int = 64 << 20) -> SecureDatabaseConfiguration {
        var configuration = SecureDatabaseConfiguration()
        configuration.synchronous = .normal
        configuration.cacheSize = cacheSize
        if let observer = ReportSums.current {
            configuration.statementObserver = { observer.add($0) }
        }
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

extension WorkerCase {
    /// The case with an observer of statements, under the name with `-observed`.
    fileprivate func observed() -> WorkerCase {
        WorkerCase(name + "-observed") { job in
            try ReportSums.$current.withValue(ReportSums()) { try run(job) }
        }
    }
}

/// An observer of statements that notes the least that is of use.
private final class ReportSums: @unchecked Sendable {
    // @unchecked: the counted cases run on one thread.
    @TaskLocal static var current: ReportSums?

    @exclusivity(unchecked) private var statements = 0
    @exclusivity(unchecked) private var rows = 0

    func add(_ report: StatementReport) {
        statements += 1
        rows += report.rowCount
    }
}
