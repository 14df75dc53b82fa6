import FaultyDisk
import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// The files that a crash has left on the disk, with every committed state of the rows.
struct DamagedState: Codable, Sendable {
    /// The files by their suffix to the database's name: "", "-wal", "-journal", "-salt".
    var files: [String: Data]
    /// The rows after each commit; a sound file shows the last.
    var committed: [[String]]
    var hasPlaintextHeader = false

    /// Small, so that a few thousand changed bytes hit every kind of byte.
    static let pageSize = 1024
    static let rows = "SELECT id || '|' || version || '|' || hex(note) FROM t ORDER BY id"

    static func configuration(
        hasPlaintextHeader: Bool = false,
        _ configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) -> SecureDatabaseConfiguration {
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher.pageSize = pageSize
        configuration.cipher.kdfIterations = 1
        configuration.cipher.plaintextHeaderSize = hasPlaintextHeader ? 32 : 0
        configuration.secondInstance = .allowed
        configure(&configuration)
        return configuration
    }

    /// Returns the current files of the database at `path`.
    static func files(of path: String) throws -> [String: Data] {
        var files: [String: Data] = [:]
        for suffix in ["", "-wal", "-journal", "-salt"] where access(path + suffix, F_OK) == 0 {
            files[suffix] = try Data(contentsOf: URL(fileURLWithPath: path + suffix))
        }
        return files
    }

    /// Writes the files into a new directory and returns the path of the database.
    ///
    /// The files get an old date, as those of a crash usually have.
    func lay() throws -> String {
        let shared = "/dev/shm"
        let parent = access(shared, W_OK) == 0 ? shared : NSTemporaryDirectory()
        let directory = parent + "/SecureStorageTests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        for (suffix, content) in files {
            let path = directory + "/test.db" + suffix
            try content.write(to: URL(fileURLWithPath: path))
            var times = Array(repeating: timeval(tv_sec: 1_000_000, tv_usec: 0), count: 2)
            utimes(path, &times)
        }
        return directory + "/test.db"
    }

    // MARK: - Making

    /// Commits a transaction that changes some of the rows and adds one.
    private static func commit(_ number: Int, _ db: SecureDatabaseStore) throws {
        try db.beginExclusiveTransaction()
        try db.executeUpdate(
            "UPDATE t SET version = ?, note = randomblob(300) WHERE id % 3 = ?", number, number % 3)
        try db.executeUpdate("INSERT INTO t VALUES (NULL, ?, randomblob(700))", number)
        try db.commit()
    }

    private static func makeTable(_ db: SecureDatabaseStore) throws {
        try db.executeStatements(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, version INTEGER, note BLOB);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
            INSERT INTO t SELECT i, 0, randomblob(400) FROM n;
            """)
    }

    private static func dump(_ db: SecureDatabaseStore) throws -> [String] {
        try db.strings(rows).compactMap { $0 }
    }

    /// Makes a file without sidecar files, with or without a plaintext header.
    static func atRest(hasPlaintextHeader: Bool = false) throws -> DamagedState {
        let database = try TemporaryDatabase()
        let db = SecureDatabaseStore(
            fullDatabasePath: database.path,
            configuration: configuration(hasPlaintextHeader: hasPlaintextHeader) {
                $0.journalMode = .delete
            })
        try db.open(with: TemporaryDatabase.key)
        try makeTable(db)
        let rows = try dump(db)
        db.close()
        return DamagedState(
            files: try files(of: database.path), committed: [rows],
            hasPlaintextHeader: hasPlaintextHeader)
    }

    /// Makes a log of eight commits; with `isMoved` the first five are also in the file.
    static func log(isMoved: Bool) throws -> DamagedState {
        let database = try TemporaryDatabase()
        let db = SecureDatabaseStore(
            fullDatabasePath: database.path, configuration: configuration())
        try db.open(with: TemporaryDatabase.key)
        try makeTable(db)
        try db.checkpoint(.truncate)
        var committed = [try dump(db)]
        let reader = SecureDatabaseStore(
            fullDatabasePath: database.path, configuration: configuration { $0.isReadOnly = true })
        for number in 1...8 {
            if isMoved, number == 6 {
                // A reader keeps the log from being restarted.
                try reader.open(with: TemporaryDatabase.key)
                try reader.beginDeferredTransaction()
                _ = try dump(reader)
                try db.checkpoint(.passive)
            }
            try commit(number, db)
            committed.append(try dump(db))
        }
        let files = try files(of: database.path)
        reader.close()
        db.close()
        return DamagedState(files: files, committed: committed)
    }

    /// Makes a hot journal of several parts, with a transaction larger than the cache.
    static func spilledJournal(_ mode: String) throws -> DamagedState {
        let database = try TemporaryDatabase()
        let db = SecureDatabaseStore(
            fullDatabasePath: database.path,
            configuration: configuration {
                $0.journalMode = .delete
                $0.cacheSize = 0
            })
        try db.open(with: TemporaryDatabase.key)
        try check(db.strings("PRAGMA journal_mode = \(mode)"), equals: [mode])
        try makeTable(db)
        for number in 1...3 { try commit(number, db) }
        let rows = try dump(db)
        try db.beginExclusiveTransaction()
        try db.executeUpdate("UPDATE t SET note = randomblob(400) WHERE id % 2 = 0")
        let files = try files(of: database.path)
        try db.rollback()
        db.close()
        return DamagedState(files: files, committed: [rows])
    }

    /// Makes a hot journal of one part, with a commit whose disk failed when some of the pages were
    /// in the file.
    static func brokenCommit(_ mode: String) async throws -> DamagedState {
        let database = try TemporaryDatabase()
        await #expect(processExitsWith: .success) {
            [path = database.path as String, mode = mode as String] in
            faulty_disk_install()
            for call in 1...200 {
                let place = path + "-\(call)"
                let db = SecureDatabaseStore(
                    fullDatabasePath: place,
                    configuration: DamagedState.configuration { $0.journalMode = .delete })
                try db.open(with: TemporaryDatabase.key)
                try check(db.strings("PRAGMA journal_mode = \(mode)"), equals: [mode])
                try DamagedState.makeTable(db)
                for number in 1...3 { try DamagedState.commit(number, db) }
                let rows = try DamagedState.dump(db)
                let before = try DamagedState.files(of: place)
                try db.beginExclusiveTransaction()
                try db.executeUpdate("UPDATE t SET note = randomblob(400) WHERE id % 2 = 0")
                try db.executeUpdate("INSERT INTO t VALUES (NULL, 9, randomblob(3000))")
                faulty_disk_fail_at(call, 1)
                let error = storageError { try db.commit() }
                let files = try DamagedState.files(of: place)
                faulty_disk_fail_at(0, 0)
                try require(error != nil, "no call left the pages half written")
                let pairs = zip(before[""] ?? Data(), files[""] ?? Data())
                guard files["-journal"]?.first == 0xd9, pairs.count(where: { $0 != $1 }) > 4000
                else { continue }
                try JSONEncoder().encode(DamagedState(files: files, committed: [rows]))
                    .write(to: URL(fileURLWithPath: path))
                return
            }
            Issue.record("no call left the pages half written")
        }
        return try JSONDecoder().decode(
            DamagedState.self, from: Data(contentsOf: database.url))
    }
}
