import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Connections to a file whose key another connection has changed.
struct ForeignRekeyTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    /// What changes the key.
    enum Changer: CaseIterable {
        case otherStore
        /// Leaves the new pages in the log, because its connection is not the last one.
        case otherProgram

        static var present: [Changer] { SQLCipherShell.isInstalled ? allCases : [.otherStore] }
    }

    let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    private static let newKey = Data((101...132).map { UInt8($0) })

    private func makeFile(_ mode: JournalMode = .wal) throws {
        let db = try database.openStore { $0.journalMode = mode }
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('row')")
        for _ in 0..<50 { try db.executeUpdate("INSERT INTO t VALUES (randomblob(3000))") }
        db.close()
    }

    private func changeKey(
        _ mode: JournalMode = .wal, by changer: Changer = .otherStore,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        switch changer {
        case .otherStore:
            let other = try database.openStore { $0.journalMode = mode }
            try other.changeEncryptionKey(with: Self.newKey)
            other.close()
        case .otherProgram:
            let shell = try SQLCipherShell(
                database.path, key: "x'\(TemporaryDatabase.key.hex)'",
                "PRAGMA wal_autocheckpoint = 0; PRAGMA rekey = \"x'\(Self.newKey.hex)'\"; "
                    + "SELECT count(*) FROM t;")
            check(shell.lines.last, equals: "51", sourceLocation: sourceLocation)
        }
    }

    /// Checks that the error reports the key change and mentions nothing that suggests a salvage.
    private func expectKeyChange(
        _ error: (any Error)?, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let text = error.map { "\($0)" } ?? "no error"
        check(
            (error as? SecureStorageError)?.kind, equals: .authenticationFailed, "\(text)",
            sourceLocation: sourceLocation)
        check(
            text.contains("another connection changed"), "\(text)", sourceLocation: sourceLocation)
        for word in ["damage", "salvage the", "logic error", "not a database", "malformed"] {
            check(!text.contains(word), "\(text)", sourceLocation: sourceLocation)
        }
        for key in [TemporaryDatabase.key, Self.newKey] {
            check(!text.lowercased().contains(key.hex.prefix(8)), sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: JournalMode.allCases, Changer.present)
    func `every call on a store reports that the key was changed`(
        _ mode: JournalMode, _ changer: Changer
    ) throws {
        try makeFile(mode)
        let db = try database.openStore { $0.journalMode = mode }
        try check(db.int("SELECT count(*) FROM t"), equals: 51)
        try changeKey(mode, by: changer)

        // A cached statement that was prepared before, then other reads and writes.
        expectKeyChange(storageError { _ = try db.int("SELECT count(*) FROM t") })
        expectKeyChange(storageError { try db.executeUpdate("INSERT INTO t VALUES (1)") })
        expectKeyChange(storageError { _ = try db.strings("SELECT x FROM t WHERE rowid = 1") })
        expectKeyChange(storageError { try db.executeUpdate("CREATE TABLE u (x)") })
        expectKeyChange(storageError { try db.beginExclusiveTransaction() })
        expectKeyChange(storageError { try db.executeStatements("BEGIN; SELECT * FROM t; COMMIT") })
        if try db.isInTransaction() { try db.rollback() }
        expectKeyChange(storageError { _ = try db.tableExists("t") })
        expectKeyChange(storageError { _ = try db.verifyIntegrity() })
        let copy = database.directory.appendingPathComponent("copy.db")
        expectKeyChange(storageError { try db.backup(to: copy) })
        expectKeyChange(storageError { try db.vacuum(into: copy) })
        check(!FileManager.default.fileExists(atPath: copy.path))

        // The remedy that the error names.
        db.close()
        try db.open(with: Self.newKey)
        try check(db.int("SELECT count(*) FROM t"), equals: 51)
        try check(db.verifyIntegrity().isSound)
    }

    @Test(arguments: JournalMode.allCases, Changer.present)
    func `the old key is reported as wrong, not as damage, and salvages nothing`(
        _ mode: JournalMode, _ changer: Changer
    ) throws {
        try makeFile(mode)
        let db = try database.openStore { $0.journalMode = mode }
        try check(db.int("SELECT count(*) FROM t"), equals: 51)
        try changeKey(mode, by: changer)
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        try check(
            SecureDatabaseStore.diagnose(at: database.url, key: key).finding, equals: .wrongKey)
        let saved = database.directory.appendingPathComponent("saved.db")
        let error = storageError {
            try SecureDatabaseStore.salvage(at: database.url, key: key, to: saved)
        }
        check(error?.kind, equals: .authenticationFailed, "\(error as Any)")
        check(!FileManager.default.fileExists(atPath: saved.path))
        try check(
            SecureDatabaseStore.diagnose(
                at: database.url, key: .raw(SecretBytes(copying: Self.newKey))
            ).finding, equals: .ok)
    }

    @Test(arguments: Changer.present)
    func `a queue, a pool and a key-value store report the change as well`(_ changer: Changer)
        throws
    {
        try makeFile()
        let queue = SecureDatabaseQueue(databaseStore: try database.openStore())
        let pool = try database.openPool()
        // One reader is open, and the pool has room for another.
        try check(pool.read { try $0.int("SELECT count(*) FROM t") }, equals: 51)
        let settings = try SecureKeyValueStore(
            databaseStore: try database.openStore(), name: "settings")
        try settings.put("dark", forKey: "theme")
        try changeKey(by: changer)

        expectKeyChange(storageError { try queue.inDatabase { _ = try $0.int("SELECT 1 FROM t") } })
        expectKeyChange(
            storageError {
                try queue.inExclusiveTransaction {
                    try $0.executeUpdate("INSERT INTO t VALUES (1)")
                    return false
                }
            })
        expectKeyChange(storageError { _ = try queue.verifyIntegrity() })
        let copy = database.directory.appendingPathComponent("copy.db")
        expectKeyChange(storageError { try queue.backup(to: copy) })
        expectKeyChange(storageError { _ = try pool.read { try $0.int("SELECT 1 FROM t") } })
        expectKeyChange(
            storageError { try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") } })
        expectKeyChange(storageError { _ = try settings.getString("theme") })
        expectKeyChange(storageError { try settings.put("light", forKey: "theme") })
    }

    @Test func `a pool's reader created after the change reports it, in tasks too`() async throws {
        try makeFile()
        let pool = try database.openPool()
        try changeKey()
        for _ in 1...2 {
            do {
                _ = try await pool.read { try $0.int("SELECT 1 FROM t") }
                Issue.record("no error")
            } catch {
                expectKeyChange(error)
            }
        }
    }

    @Test(.enabled(if: SQLCipherShell.isInstalled))
    func `a reader in a snapshot can read to the end`() throws {
        try makeFile()
        let db = try database.openStore { $0.cacheSize = 0 }
        try db.beginDeferredTransaction()
        let rs = try db.executeQuery("SELECT x FROM t")
        try check(rs.next())
        try changeKey(by: .otherProgram)
        var count = 1
        while try rs.next() { count += 1 }
        check(count, equals: 51)
        try check(db.int("SELECT count(*) FROM t"), equals: 51)
        rs.close()
        try db.commit()
        expectKeyChange(storageError { _ = try db.int("SELECT count(*) FROM t") })
    }

    @Test func `a key change of a file with a plaintext header is reported`() throws {
        func store() throws -> SecureDatabaseStore {
            try database.openStore { $0.cipher.plaintextHeaderSize = 32 }
        }
        let db = try store()
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (randomblob(30000))")
        let other = try store()
        try other.changeEncryptionKey(with: Self.newKey)
        other.close()
        expectKeyChange(storageError { _ = try db.strings("SELECT x FROM t") })
        expectKeyChange(storageError { try db.executeUpdate("INSERT INTO t VALUES (1)") })
    }

    // MARK: - Damage is still reported as damage

    @Test(arguments: [[1], [2], [1, 2, 3, 4]])
    func `damaged pages are not reported as a key change`(_ pages: [Int]) throws {
        try makeFile(.delete)
        let db = try database.openStore {
            $0.journalMode = .delete
            $0.cacheSize = 0
        }
        var bytes = try Data(contentsOf: database.url)
        for page in pages { bytes[page * 4096 - 2000] ^= 1 }
        let file = try FileHandle(forWritingTo: database.url)
        try file.write(contentsOf: bytes)
        try file.close()
        let error = storageError { _ = try db.strings("SELECT x FROM t") }
        let text = error?.description ?? "no error"
        check(error == nil || error?.kind == .backingStoreError, "\(text)")
        check(!text.contains("another connection changed"), "\(text)")
    }

    @Test(arguments: [0, 0x20] as [UInt8])
    func `an overwritten file is not reported as a key change`(_ byte: UInt8) throws {
        try makeFile(.delete)
        let db = try database.openStore {
            $0.journalMode = .delete
            $0.cacheSize = 0
        }
        try check(db.int("SELECT count(*) FROM t"), equals: 51)
        let size = try Data(contentsOf: database.url).count
        let file = try FileHandle(forWritingTo: database.url)
        try file.write(contentsOf: Data(repeating: byte, count: size))
        try file.close()
        let error = storageError { _ = try db.strings("SELECT x FROM t") }
        check(error?.kind, equals: .backingStoreError, "\(error as Any)")
        check(!"\(error as Any)".contains("another connection changed"))
    }
}
