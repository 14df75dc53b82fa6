import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Compacting a database, in place and into another file.
struct VacuumTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    private let database: TemporaryDatabase
    private var copy: URL { database.directory.appendingPathComponent("copy.db") }

    init() throws { database = try TemporaryDatabase() }

    /// Cipher settings that a file can have; the tests add a cheap key derivation.
    static let ciphers: [String: @Sendable (inout CipherConfiguration) -> Void] = [
        "default": { _ in },
        "small pages": { $0.pageSize = 1024 },
        "large pages": { $0.pageSize = 16384 },
        "HMAC-SHA1": { $0.hmacAlgorithm = .sha1 },
        "HMAC-SHA256, large pages": {
            $0.hmacAlgorithm = .sha256
            $0.pageSize = 65536
        },
        "another KDF": {
            $0.kdfAlgorithm = .pbkdf2HMACSHA256
        },
        "plaintext header": {
            $0.plaintextHeaderSize = 32
            $0.salt = Data((1...16).map { UInt8($0) })
        },
        "SQLCipher 3's": {
            $0.pageSize = 1024
            $0.hmacAlgorithm = .sha1
            $0.kdfAlgorithm = .pbkdf2HMACSHA1
        },
    ]

    /// Fills the file with rows and leaves most of its space free.
    private func fill(_ db: SecureDatabaseStore) throws {
        try db.executeStatements(
            """
            PRAGMA user_version = 7; PRAGMA application_id = 99;
            CREATE TABLE t (id INTEGER PRIMARY KEY, x);
            CREATE INDEX t_x ON t (x);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
            INSERT INTO t (id, x) SELECT i, randomblob(1000) FROM n;
            UPDATE t SET x = 'marker' WHERE id = 150;
            DELETE FROM t WHERE id % 10 <> 0;
            """)
    }

    private func expectContent(
        _ db: SecureDatabaseStore, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try check(db.int("SELECT count(*) FROM t"), equals: 30, sourceLocation: sourceLocation)
        try check(
            db.int("SELECT id FROM t WHERE x = 'marker'"), equals: 150,
            sourceLocation: sourceLocation)
        try check(db.userVersion, equals: 7, sourceLocation: sourceLocation)
        try check(db.applicationID, equals: 99, sourceLocation: sourceLocation)
        try check(
            db.strings("PRAGMA integrity_check"), equals: ["ok"], sourceLocation: sourceLocation)
        try check(
            db.strings("PRAGMA cipher_integrity_check"), equals: [], sourceLocation: sourceLocation)
        try check(db.int("PRAGMA freelist_count"), equals: 0, sourceLocation: sourceLocation)
    }

    private func openCopy(
        _ configuration: SecureDatabaseConfiguration? = nil
    ) throws -> SecureDatabaseStore {
        let db = SecureDatabaseStore(
            url: copy, configuration: configuration ?? database.store().configuration)
        try db.open(with: TemporaryDatabase.key)
        return db
    }

    // MARK: - In place

    @Test(arguments: ciphers.keys.sorted(), JournalMode.allCases)
    func `a file shrinks and keeps its cipher configuration`(
        _ cipher: String, _ mode: JournalMode
    ) throws {
        let configure = try require(Self.ciphers[cipher])
        let db = database.store {
            $0.journalMode = mode
            configure(&$0.cipher)
            $0.cipher.kdfIterations = 1000
        }
        try db.open(with: "a passphrase")
        try fill(db)
        try db.checkpoint(.truncate)
        let before = try db.sizeOnDisk()
        try db.vacuum()
        try check(db.sizeOnDisk() < before)
        try expectContent(db)
        db.close()
        try db.open(with: "a passphrase")
        try expectContent(db)
    }

    @Test func `with an active reader the file shrinks later`() throws {
        let db = try database.openStore { $0.busyTimeout = .seconds(3600) }
        try fill(db)
        try db.checkpoint(.truncate)
        let reader = try database.openStore()
        try reader.beginDeferredTransaction()
        try check(reader.int("SELECT count(*) FROM t"), equals: 30)
        let size = try Data(contentsOf: database.url).count
        try db.vacuum()
        try check(Data(contentsOf: database.url).count, equals: size)
        try check(reader.int("SELECT count(*) FROM t"), equals: 30)
        try reader.commit()
        try db.checkpoint(.truncate)
        try check(Data(contentsOf: database.url).count < size)
        try expectContent(db)
    }

    @Test
    func `a vacuum is refused in a transaction, beside a result set and by a read-only store`()
        throws
    {
        let db = try database.openStore()
        try fill(db)
        try db.beginDeferredTransaction()
        check(storageError { try db.vacuum() }?.code, equals: 1)
        try db.commit()
        let rs = try db.executeQuery("SELECT id FROM t")
        try check(rs.next())
        check(storageError { try db.vacuum() }?.code, equals: 1)
        rs.close()
        let reader = try database.openStore { $0.isReadOnly = true }
        check(storageError { try reader.vacuum() }?.code, equals: 8)
        db.close()
        check(storageError { try db.vacuum() }, equals: .closed)
    }

    // MARK: - Into another file

    @Test(arguments: ciphers.keys.sorted(), JournalMode.allCases)
    func `a copy is compact, and opens as the original does`(
        _ cipher: String, _ mode: JournalMode
    ) throws {
        let configure = try require(Self.ciphers[cipher])
        let db = database.store {
            $0.journalMode = mode
            configure(&$0.cipher)
            $0.cipher.kdfIterations = 1000
        }
        try db.open(with: "a passphrase")
        try fill(db)
        try db.vacuum(into: copy)
        try check(
            database.fileNames().filter { $0.hasPrefix("copy") || $0.hasPrefix(".") },
            equals: ["copy.db"])
        check(database.mode(of: "copy.db"), equals: 0o600)
        try check(SecureDatabaseStore.sizeOnDisk(at: copy) < db.sizeOnDisk())
        try check(
            Marker.places(in: [database.directory.path], patterns: [Data("marker".utf8)]),
            equals: [])
        let opened = SecureDatabaseStore(url: copy, configuration: db.configuration)
        // Which error a file with a plaintext header gives does not matter here.
        let other = SecureDatabaseStore(url: database.url, configuration: db.configuration)
        let error = storageError { try opened.open(with: TemporaryDatabase.key) }
        check(error != nil)
        check(
            error?.kind, equals: storageError { try other.open(with: TemporaryDatabase.key) }?.kind)
        try opened.open(with: "a passphrase")
        try expectContent(opened)
        try opened.executeUpdate("INSERT INTO t (x) VALUES (1)")
        try opened.changeEncryptionKey(with: "another passphrase")
        try check(db.int("SELECT count(*) FROM t"), equals: 30)
    }

    @Test(.enabled(if: SQLCipherShell.isInstalled))
    func `the sqlcipher shell opens a copy`() throws {
        let db = database.store {
            $0.cipher.pageSize = 8192
            $0.cipher.hmacAlgorithm = .sha256
        }
        try db.open(with: TemporaryDatabase.key)
        try fill(db)
        try db.vacuum(into: copy)
        let shell = try SQLCipherShell(
            copy.path, key: "x'\(TemporaryDatabase.key.hex)'",
            settings: ["cipher_page_size = 8192", "cipher_hmac_algorithm = HMAC_SHA256"],
            "SELECT count(*) FROM t; PRAGMA integrity_check; PRAGMA cipher_integrity_check;")
        check(shell.lines, equals: ["30", "ok"])
        check(shell.errors, equals: "")
    }

    @Test func `a copy has what is committed, by other connections too`() throws {
        let db = try database.openStore()
        try fill(db)
        let other = try database.openStore()
        try other.executeUpdate("UPDATE t SET x = 'other' WHERE id = 10")
        try other.beginImmediateTransaction()
        try other.executeUpdate("DELETE FROM t")
        try db.vacuum(into: copy)
        try other.rollback()
        let opened = try openCopy()
        try expectContent(opened)
        try check(opened.strings("SELECT x FROM t WHERE id = 10"), equals: ["other"])
    }

    @Test func `a read-only store, a queue and a pool make copies, beside result sets`() throws {
        let db = try database.openStore()
        try fill(db)
        let rs = try db.executeQuery("SELECT id FROM t")
        try check(rs.next())
        try db.vacuum(into: copy)
        try check(rs.next())
        rs.close()
        db.close()
        try SecureDatabaseStore.remove(at: copy)
        let reader = try database.openStore { $0.isReadOnly = true }
        try reader.vacuum(into: copy)
        reader.close()
        try expectContent(openCopy())
        let pool = try database.openPool()
        try pool.writeWithoutTransaction { [copy] in try $0.vacuum(into: copy, replacing: true) }
        try expectContent(openCopy())
    }

    @Test func `an existing target is replaced only on request`() throws {
        let db = try database.openStore()
        try fill(db)
        try Data("something else".utf8).write(to: copy)
        let error = storageError { try db.vacuum(into: copy) }
        check(error?.code, equals: 14)
        check(error?.description.contains("already exists"), equals: true)
        try check(Data(contentsOf: copy), equals: Data("something else".utf8))
        try db.vacuum(into: copy, replacing: true)
        try expectContent(openCopy())
        check(database.mode(of: "copy.db"), equals: 0o600)
    }

    @Test func `a target that is open, has sidecars or is the original is not replaced`() throws {
        let db = try database.openStore()
        try fill(db)
        check(
            storageError { try db.vacuum(into: database.url, replacing: true) }?.code, equals: 5)
        try db.vacuum(into: copy)
        let opened = try openCopy()
        check(storageError { try db.vacuum(into: copy, replacing: true) }?.code, equals: 5)
        opened.close()
        for suffix in ["-wal", "-journal", "-shm"] {
            let file = URL(fileURLWithPath: copy.path + suffix)
            try Data("of the copy".utf8).write(to: file)
            let error = storageError { try db.vacuum(into: copy, replacing: true) }
            check(error?.code, equals: 14)
            check(error?.description.contains(suffix), equals: true)
            try FileManager.default.removeItem(at: file)
        }
        for name in ["", "link"] {
            let url = database.directory.appendingPathComponent(name)
            if name == "link" {
                try FileManager.default.createSymbolicLink(at: url, withDestinationURL: copy)
            }
            check(storageError { try db.vacuum(into: url, replacing: true) }?.code, equals: 14)
        }
        try expectContent(openCopy())
    }

    @Test func `a copy is refused in a transaction and by a closed store`() throws {
        let db = try database.openStore()
        try db.beginDeferredTransaction()
        check(storageError { try db.vacuum(into: copy) }?.code, equals: 21)
        try db.commit()
        db.close()
        check(storageError { try db.vacuum(into: copy) }, equals: .closed)
        check(!FileManager.default.fileExists(atPath: copy.path))
    }

    @Test(arguments: [2, 5, -1])
    func `no copy is made of a damaged page`(_ page: Int) throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try fill(db)
        // The last page is the end of a long value; as zeros it would be a valid page.
        try db.executeUpdate("VACUUM")
        try db.executeUpdate("INSERT INTO t (x) VALUES (randomblob(30000))")
        db.close()
        var bytes = try Data(contentsOf: database.url)
        let index = page < 0 ? bytes.count / 4096 + page : page
        bytes[index * 4096 + 1000] ^= 1
        try bytes.write(to: database.url)
        let damaged = database.store { $0.journalMode = .delete }
        try damaged.open(with: TemporaryDatabase.key)
        let error = storageError { try damaged.vacuum(into: copy) }
        check(error?.kind, equals: .backingStoreError)
        try check(database.fileNames(), equals: ["test.db"])
    }

    #if os(Linux)
        @Test(.enabled(if: SmallDisk.isAvailable))
        func `no copy is made on a full disk`() async throws {
            let disk = try SmallDisk(kilobytes: 64)
            await #expect(processExitsWith: .success) {
                [path = database.path as String, directory = disk.directory.path as String] in
                let db = SecureDatabaseStore(fullDatabasePath: path)
                try db.open(with: TemporaryDatabase.key)
                try db.executeUpdate("CREATE TABLE t (x)")
                try db.executeUpdate("INSERT INTO t VALUES (randomblob(200000))")
                let copy = URL(fileURLWithPath: directory + "/copy.db")
                check(storageError { try db.vacuum(into: copy) }?.code, equals: 13)
                try check(FileManager.default.contentsOfDirectory(atPath: directory), equals: [])
                try check(db.int("SELECT length(x) FROM t"), equals: 200_000)
            }
        }
    #endif

    @Test(arguments: [false, true])
    func `a kill at any time leaves no copy, a complete one or the previous one`(
        _ replacing: Bool
    ) async throws {
        let db = try database.openStore()
        try fill(db)
        try db.executeUpdate("INSERT INTO t VALUES (1000, zeroblob(3000000))")
        try db.executeUpdate("DELETE FROM t WHERE id = 1000")
        db.close()
        var outcomes: [String: Int] = [:]
        var moment = SuddenDeath.Moment()
        for _ in 1...SuddenDeath.count(2) {
            try SecureDatabaseStore.remove(at: copy)
            if replacing {
                let old = try openCopy()
                try old.executeUpdate("CREATE TABLE before (x)")
            }
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    path = database.path as String, copy = copy.path as String,
                    replacing = replacing as Bool, delay = moment.next() as Int
                ] in
                let db = SecureDatabaseStore(fullDatabasePath: path)
                try db.open(with: TemporaryDatabase.key)
                SuddenDeath.after(microseconds: delay)
                try db.vacuum(into: URL(fileURLWithPath: copy), replacing: replacing)
                while true { pause() }
            }
            let isThere = SecureDatabaseStore.exists(at: copy)
            check(isThere || !replacing)
            var isNew = false
            if isThere {
                let opened = try openCopy()
                isNew = try opened.int("SELECT count(*) FROM sqlite_schema WHERE name = 't'") == 1
                if isNew {
                    try expectContent(opened)
                } else {
                    try check(opened.strings("SELECT name FROM sqlite_schema"), equals: ["before"])
                }
            }
            outcomes[isNew ? "new" : isThere ? "old" : "none", default: 0] += 1
            moment.note(wasTooLate: isNew)
            try database.openStore().vacuum(into: copy, replacing: isThere)
            try expectContent(openCopy())
        }
        SuddenDeath.report("vacuum into, replacing \(replacing): \(outcomes)")
    }
}
