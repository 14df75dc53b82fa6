import Foundation
import Logging
import SecureStorage
import Testing
import TestSupport

/// Changing a file's key, completely or not at all.
struct RekeyTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    /// A key of either kind.
    enum Key: Hashable, Sendable {
        case text(String)
        case data(Data)

        static let allKinds = [
            Key.text("a passphrase"), .data(Data((50..<82).map { UInt8($0) })),
            .text("x'\(String(repeating: "ab", count: 32))'"),
            // With its own salt, which becomes the file's.
            .text("x'\(String(repeating: "cd", count: 32))\(String(repeating: "5e", count: 16))'"),
        ]

        func open(_ db: SecureDatabaseStore) throws {
            switch self {
            case .text(let text): try db.open(with: text)
            case .data(let data): try db.open(with: data)
            }
        }

        func change(of db: SecureDatabaseStore) throws {
            switch self {
            case .text(let text): try db.changeEncryptionKey(with: text)
            case .data(let data): try db.changeEncryptionKey(with: data)
            }
        }
    }

    /// Returns a closed store with a cheap key derivation.
    private func store(
        _ mode: JournalMode, _ database: TemporaryDatabase? = nil
    ) -> SecureDatabaseStore {
        (database ?? self.database).store {
            $0.journalMode = mode
            $0.cipher.kdfIterations = 1000
        }
    }

    private func makeFile(_ key: Key, _ mode: JournalMode) throws -> SecureDatabaseStore {
        let db = store(mode)
        try key.open(db)
        try db.executeStatements(
            "CREATE TABLE t (x); INSERT INTO t VALUES ('row'), (randomblob(20000))")
        return db
    }

    // MARK: - Success

    @Test(arguments: JournalMode.allCases)
    func `the new key opens the file and the old one does not`(_ mode: JournalMode) throws {
        for old in Key.allKinds {
            for new in Key.allKinds.dropLast() where new != old {
                let database = try TemporaryDatabase()
                let db = store(mode, database)
                try old.open(db)
                try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('before')")

                try new.change(of: db)

                // The store remains usable.
                try db.executeUpdate("INSERT INTO t VALUES ('after')")
                try check(db.strings("SELECT x FROM t"), equals: ["before", "after"])
                // Other stores can open it with the new key immediately.
                let other = store(mode, database)
                try new.open(other)
                try check(other.int("SELECT count(*) FROM t"), equals: 2)
                other.close()
                db.close()
                check(
                    storageError { try old.open(db) }?.kind, equals: .authenticationFailed,
                    "\(old) to \(new)")
                try new.open(db)
                try check(db.strings("SELECT x FROM t"), equals: ["before", "after"])
                try check(db.strings("PRAGMA cipher_integrity_check"), equals: [])
                try check(database.fileNames().first, equals: "test.db")
            }
        }
    }

    @Test(arguments: JournalMode.allCases)
    func `a key may be changed repeatedly, even to itself`(_ mode: JournalMode) throws {
        let db = try makeFile(.text("0"), mode)
        for key in ["1", "1", "2", "0", "0"] {
            try db.changeEncryptionKey(with: key)
            try check(db.int("SELECT count(*) FROM t"), equals: 2)
        }
        db.close()
        try db.open(with: "0")
    }

    @Test(arguments: JournalMode.allCases)
    func `nothing encrypted under the old key is left in the files`(_ mode: JournalMode) throws {
        let db = try makeFile(.data(TemporaryDatabase.key), mode)
        db.close()
        let old = try Data(contentsOf: database.url)
        try db.open(with: TemporaryDatabase.key)
        try db.changeEncryptionKey(with: "new")

        let new = try Data(contentsOf: database.url)

        try require(new.count == old.count)
        for page in 0..<new.count / 4096 {
            let place = page * 4096 + 16..<(page + 1) * 4096
            check(new[place] != old[place], "page \(page + 1)")
        }
        try check(database.fileNames().allSatisfy { !$0.hasSuffix("-journal") })
        if mode == .wal {
            try check(Data(contentsOf: URL(fileURLWithPath: database.path + "-wal")).isEmpty)
        }
    }

    @Test func `statements cached before a re-key work after it`() throws {
        let db = try makeFile(.text("old"), .wal)
        for round in 1...3 {
            try db.executeUpdate("INSERT INTO t VALUES (?)", values: [round])
            try db.changeEncryptionKey(with: "key \(round)")
        }
        try check(db.int("SELECT count(*) FROM t"), equals: 5)
    }

    // MARK: - Progress

    @Test(arguments: JournalMode.allCases)
    func `progress is reported to the end`(_ mode: JournalMode) throws {
        let db = try makeFile(.text("old"), mode)
        try db.executeUpdate("INSERT INTO t VALUES (zeroblob(12000000))")
        var seen: [FileProgress] = []
        try db.changeEncryptionKey(with: .passphrase("new")) { seen.append($0) }
        check(seen.count > 10)
        check(seen.map(\.completed), equals: seen.map(\.completed).sorted())
        check(seen.last?.fraction, equals: 1)
        try check(db.int("SELECT count(*) FROM t"), equals: 3)
    }

    /// With a cache that must write pages out before the commit, and one that holds them all.
    @Test(arguments: JournalMode.allCases, [1 << 20, 64 << 20])
    func `an error thrown by progress keeps the old key`(_ mode: JournalMode, _ cacheSize: Int)
        throws
    {
        let db = database.store {
            $0.journalMode = mode
            $0.cacheSize = cacheSize
        }
        let new = Data(repeating: 7, count: 32)
        try db.open(with: TemporaryDatabase.key)
        try db.executeStatements(
            "CREATE TABLE t (x); INSERT INTO t VALUES ('row'), (zeroblob(4000000))")
        for limit in [0, 0.3] {
            #expect(throws: CancellationError.self) {
                try db.changeEncryptionKey(with: .raw(SecretBytes(copying: new))) {
                    if $0.fraction >= limit { throw CancellationError() }
                }
            }
            try check(db.int("SELECT count(*) FROM t"), equals: 2)
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            try db.executeUpdate("DELETE FROM t WHERE x = 1")
            let other = store(mode)
            check(
                storageError { try other.open(with: new) }?.kind, equals: .authenticationFailed)
            try other.open(with: TemporaryDatabase.key)
            if limit > 0 { try check(other.verifyIntegrity().isSound) }
        }
        // After the commit it is too late.
        try db.changeEncryptionKey(with: .raw(SecretBytes(copying: new))) {
            if $0.fraction >= 1 { throw CancellationError() }
        }
        db.close()
        try db.open(with: new)
        try check(db.verifyIntegrity().isSound)
    }

    // MARK: - Refusals

    /// Checks that `change` fails as expected and that the old key still opens the file.
    private func expectFailure(
        _ db: SecureDatabaseStore, old: Key, mode: JournalMode, mentioning word: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation, _ change: () throws -> Void
    ) throws {
        let error = storageError(change)
        check(error?.kind, equals: .encryptionKeyChangeFailed, sourceLocation: sourceLocation)
        let text = error?.description ?? "no error"
        if let word {
            check(text.contains(word), sourceLocation: sourceLocation)
        }
        check(!text.contains("secret"), sourceLocation: sourceLocation)
        check(db.isOpen(), sourceLocation: sourceLocation)
        try check(db.int("SELECT count(*) FROM t"), equals: 2, sourceLocation: sourceLocation)
        let other = store(mode)
        try old.open(other)
        try check(other.int("SELECT count(*) FROM t"), equals: 2, sourceLocation: sourceLocation)
    }

    @Test(arguments: JournalMode.allCases)
    func `a re-key in a transaction fails, and the transaction continues`(_ mode: JournalMode)
        throws
    {
        let db = try makeFile(.text("old"), mode)
        try db.beginDeferredTransaction()
        try expectFailure(db, old: .text("old"), mode: mode, mentioning: "transaction") {
            try db.changeEncryptionKey(with: "secret")
        }
        try check(db.isInTransaction())
        try db.executeUpdate("INSERT INTO t VALUES (3)")
        try db.commit()
        try db.changeEncryptionKey(with: "new")
        try check(db.int("SELECT count(*) FROM t"), equals: 3)
    }

    @Test(arguments: JournalMode.allCases)
    func `a re-key with an open result set fails, and the result set continues`(_ mode: JournalMode)
        throws
    {
        let db = try makeFile(.text("old"), mode)
        let rs = try db.executeQuery("SELECT x FROM t ORDER BY length(x)")
        try check(rs.next())
        try expectFailure(db, old: .text("old"), mode: mode, mentioning: "result set") {
            try db.changeEncryptionKey(with: "secret")
        }
        check(rs.string(forColumnIndex: 0), equals: "row")
        try check(rs.next())
        check(rs.data(forColumnIndex: 0)?.count, equals: 20000)
        rs.close()
        try db.changeEncryptionKey(with: "new")
    }

    @Test(arguments: JournalMode.allCases)
    func `a read-only store cannot re-key`(_ mode: JournalMode) throws {
        try makeFile(.text("old"), mode).close()
        let db = database.store {
            $0.isReadOnly = true
            $0.cipher.kdfIterations = 1000
        }
        try db.open(with: "old")
        try expectFailure(db, old: .text("old"), mode: mode, mentioning: "read-only") {
            try db.changeEncryptionKey(with: "secret")
        }
    }

    @Test func `the block of a batch cannot re-key`() throws {
        let db = try makeFile(.text("old"), .wal)
        var error: SecureStorageError?
        try db.executeStatements("SELECT 1 UNION SELECT 2") { _ in
            error = storageError { try db.changeEncryptionKey(with: "new") }
            return true
        }
        check(error?.kind, equals: .encryptionKeyChangeFailed)
        check(error?.description.contains("batch is running"), equals: true)
        try db.changeEncryptionKey(with: "new")
    }

    @Test func `an empty key and a key of the wrong length are refused`() throws {
        let db = try makeFile(.text("old"), .wal)
        try expectFailure(db, old: .text("old"), mode: .wal, mentioning: "empty") {
            try db.changeEncryptionKey(with: "")
        }
        for length in [0, 1, 31, 33, 64] {
            try expectFailure(db, old: .text("old"), mode: .wal, mentioning: "32 bytes") {
                try db.changeEncryptionKey(with: Data(repeating: 1, count: length))
            }
        }
    }

    @Test func `a closed store throws closed, whatever the key`() throws {
        let db = try makeFile(.text("old"), .wal)
        db.close()
        for key in ["new", ""] {
            check(storageError { try db.changeEncryptionKey(with: key) }, equals: .closed)
        }
        for length in [32, 31] {
            check(
                storageError { try db.changeEncryptionKey(with: Data(count: length)) },
                equals: .closed)
        }
    }

    @Test(arguments: JournalMode.allCases)
    func `another connection's lock prevents a re-key`(_ mode: JournalMode) throws {
        try makeFile(.text("old"), mode).close()
        let db = database.store {
            $0.journalMode = mode
            $0.cipher.kdfIterations = 1000
            $0.busyTimeout = .zero
        }
        try db.open(with: "old")
        let other = store(mode)
        try other.open(with: "old")
        try other.beginExclusiveTransaction()
        try other.executeUpdate("UPDATE t SET x = 'other' WHERE x = 'row'")

        let error = storageError { try db.changeEncryptionKey(with: "secret") }
        check(error?.kind, equals: .encryptionKeyChangeFailed)
        check(error?.code, equals: 5)

        try other.commit()
        try check(db.int("SELECT count(*) FROM t WHERE x = 'other'"), equals: 1)
        other.close()
        try db.changeEncryptionKey(with: "new")
    }

    /// In WAL mode a reader does not block the writer, only its checkpoint; in delete mode it
    /// blocks the writer.
    @Test(arguments: JournalMode.allCases)
    func `with an active reader exactly one key opens the file`(_ mode: JournalMode) throws {
        try makeFile(.text("old"), mode).close()
        let recorder = LogRecorder()
        let db = database.store {
            $0.journalMode = mode
            $0.cipher.kdfIterations = 1000
            $0.busyTimeout = .zero
            $0.logger = Logger(label: "test") { _ in recorder }
        }
        try db.open(with: "old")
        let reader = store(mode)
        try reader.open(with: "old")
        try reader.beginDeferredTransaction()
        try check(reader.int("SELECT count(*) FROM t"), equals: 2)

        let error = storageError { try db.changeEncryptionKey(with: "new") }

        switch mode {
        case .wal:
            check(error == nil)
            check(recorder.lines.contains { $0.contains("pages under the old key") })
        case .delete:
            check(error?.kind, equals: .encryptionKeyChangeFailed)
            check(error?.code, equals: 5)
            try check(!db.isInTransaction())
        }
        try check(db.int("SELECT count(*) FROM t"), equals: 2)
        reader.close()
        try db.executeUpdate("INSERT INTO t VALUES (3)")
        db.close()
        let (right, wrong) = error == nil ? ("new", "old") : ("old", "new")
        check(storageError { try db.open(with: wrong) }?.kind, equals: .authenticationFailed)
        try db.open(with: right)
        try check(db.int("SELECT count(*) FROM t"), equals: 3)
        try check(db.strings("PRAGMA cipher_integrity_check"), equals: [])
    }

    @Test(arguments: JournalMode.allCases)
    func `a key with another salt is refused, one with the file's own salt is accepted`(
        _ mode: JournalMode
    ) throws {
        // SQLCipher 4.6.1 writes the new salt into the journal's copy of page 1. After a kill the
        // file would have the new salt and the old key, and nothing would open it.
        let db = store(mode)
        try Key.allKinds[3].open(db)

        let error = storageError {
            try db.changeEncryptionKey(with: "x'\(hex("ab", 32))\(hex("77", 16))'")
        }
        check(error?.kind, equals: .encryptionKeyChangeFailed)
        check("\(error, default: "none")".contains("keeps its salt"))
        try db.changeEncryptionKey(with: "x'\(hex("ab", 32))\(hex("5e", 16))'")

        db.close()
        try db.open(with: "x'\(hex("ab", 32))'")
    }

    private func hex(_ byte: String, _ count: Int) -> String {
        String(repeating: byte, count: count)
    }
}
