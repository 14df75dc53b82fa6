import Foundation
import GRDB
import Workers

/// GRDB on SQLCipher; SQLCipher's shared library is loaded before SQLite.
@main
enum GRDBWorker {
    static func main() {
        Worker.main {
            (
                "GRDB 7.10.0, \(try engine())",
                WorkerCase.rowCases + WorkerCase.queueCases + WorkerCase.openingCases
                    + WorkerCase.groupCases
            )
        }
    }

    private static func engine() throws -> String {
        try DatabaseQueue().inDatabase { db in
            let cipher = try String.fetchOne(db, sql: "PRAGMA cipher_version")
            guard let cipher, !cipher.isEmpty else {
                throw WorkerFailure(
                    "GRDB runs on a SQLite without encryption, which is no comparison; "
                        + "name the SQLCipher library in LD_PRELOAD")
            }
            let version = try String.fetchOne(db, sql: "SELECT sqlite_version()") ?? ""
            return "SQLCipher \(cipher) on SQLite \(version)"
        }
    }
}

extension Configuration {
    /// Keys each connection with `key`, in SQLCipher's syntax.
    static func benchmark(key: String, cacheKilobytes: Int = 65536) -> Configuration {
        var configuration = Configuration()
        configuration.journalMode = .wal
        configuration.maximumReaderCount = 5
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA key = \"\(key)\"")
            guard try String.fetchOne(db, sql: "PRAGMA cipher_version")?.isEmpty == false else {
                throw WorkerFailure("this connection does not encrypt")
            }
            // As on all sides.
            try db.execute(
                sql: """
                    PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;
                    PRAGMA cache_size = -\(cacheKilobytes); PRAGMA synchronous = NORMAL
                    """)
        }
        return configuration
    }

    static let rawKey = "x'" + SampleData.key.map { String(format: "%02x", $0) }.joined() + "'"

    static var raw: Configuration { benchmark(key: rawKey) }
    static var passphrase: Configuration { benchmark(key: SampleData.passphrase) }
}

extension WorkerCase {
    /// Creates a case with an open queue.
    ///
    /// The query `warm` reads the pages beforehand; `check` returns the checksum of the written
    /// data.
    init(
        queue name: String, cacheKilobytes: Int = 65536, warm: String? = nil, check: String? = nil,
        _ body: @escaping @Sendable (DatabaseQueue, Job) throws -> UInt64
    ) {
        self.init(name) { job in
            let queue = try DatabaseQueue(
                path: job.path,
                configuration: .benchmark(key: Configuration.rawKey, cacheKilobytes: cacheKilobytes)
            )
            if let warm { _ = try queue.inDatabase { try Int64.fetchOne($0, sql: warm) } }
            var outcome = try job.timed { try body(queue, job) }
            if let check {
                outcome = outcome.checked(
                    by: try queue.inDatabase { try Int64.fetchOne($0, sql: check) })
            }
            try queue.close()
            return outcome
        }
    }
}
