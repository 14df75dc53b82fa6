import Foundation
import SecureStorage
import Testing
import TestSupport

/// Identifying a file by its bytes.
struct DiagnosisTests {
    typealias Finding = FileDiagnosis.Finding

    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    private static let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
    private static let wrongKey = DatabaseKey.raw(SecretBytes.random(count: 32))

    /// Returns the finding, and checks that diagnosing changed nothing, not even access times.
    private func finding(
        _ key: DatabaseKey? = Self.key, cipher: CipherConfiguration = .init(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Finding {
        try diagnosis(key, cipher: cipher, sourceLocation: sourceLocation).finding
    }

    private func diagnosis(
        _ key: DatabaseKey? = Self.key, cipher: CipherConfiguration = .init(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> FileDiagnosis {
        let content = try DirectorySnapshot(of: database.directory)
        // After the snapshot, which reads the files itself.
        let times = try times()
        let diagnosis = try SecureDatabaseStore.diagnose(
            at: database.url, key: key, cipher: cipher)
        try check(self.times(), equals: times, sourceLocation: sourceLocation)
        try check(
            DirectorySnapshot(of: database.directory), equals: content,
            sourceLocation: sourceLocation)
        return diagnosis
    }

    /// Returns the times of last access, modification and status change of all files.
    private func times() throws -> [String: [Int]] {
        var times: [String: [Int]] = [:]
        for name in try database.fileNames() {
            var status = stat()
            try require(lstat(database.directory.path + "/" + name, &status) == 0)
            #if os(Linux)
                times[name] = [status.st_atim, status.st_mtim, status.st_ctim]
                    .flatMap { [$0.tv_sec, $0.tv_nsec] }
            #endif
        }
        return times
    }

    /// Makes a file of ten pages, with three rows and without sidecar files.
    private func makeFile(_ rows: Int = 3) throws -> Data {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeUpdate("CREATE TABLE t (x)")
        try db.beginTransaction()
        for _ in 0..<rows { try db.executeUpdate("INSERT INTO t VALUES (randomblob(10000))") }
        try db.commit()
        db.close()
        return try Data(contentsOf: database.url)
    }

    /// Overwrites bytes without recreating the file.
    private func patch(_ bytes: [UInt8], at offset: Int) throws {
        let file = try FileHandle(forWritingTo: database.url)
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    // MARK: - Files that are not encrypted databases

    @Test func `a missing file is reported as missing, and its sidecar files are named`() throws {
        try check(finding(), equals: .missing)
        try Data("log".utf8).write(to: URL(fileURLWithPath: database.path + "-wal"))
        let diagnosis = try diagnosis()
        check(diagnosis.finding, equals: .missing)
        check(diagnosis.reasons.contains { $0.contains("-wal") })
    }

    @Test(arguments: [0, 1]) func `a file of one byte or none is empty`(_ size: Int) throws {
        try Data(count: size).write(to: database.url)
        try check(finding(), equals: .empty)
    }

    @Test func `a directory and a symbolic link are not databases`() throws {
        try FileManager.default.createDirectory(
            at: database.url, withIntermediateDirectories: false)
        try check(finding(), equals: .notADatabase)
        try FileManager.default.removeItem(at: database.url)
        try FileManager.default.createSymbolicLink(
            atPath: database.path, withDestinationPath: "/etc/passwd")
        try check(finding(), equals: .notADatabase)
    }

    @Test func `a plain SQLite file is not encrypted, with and without a key`() throws {
        try Fixture.copy("plaintext.db", to: database)
        try check(finding(), equals: .notEncrypted)
        try check(finding(nil), equals: .notEncrypted)
        try check(finding(.passphrase("whatever")), equals: .notEncrypted)
    }

    @Test(arguments: [54, 4096, 40960])
    func `text and zeros are not a database`(_ size: Int) throws {
        let text = String(repeating: "A line of text, and no database.\n", count: size / 32 + 1)
        for content in [Data(text.utf8.prefix(size)), Data(count: size)] {
            try content.write(to: database.url)
            try check(finding(), equals: .notADatabase)
            try check(finding(nil), equals: .notADatabase)
        }
    }

    @Test func `random bytes may be a database under another key`() throws {
        try Data((0..<40960).map { _ in .random(in: 0...255) }).write(to: database.url)
        try check(finding(), equals: .wrongKey)
        try check(finding(nil), equals: .keyNeeded)
        // But not if they are not whole pages.
        try Data((0..<40900).map { _ in .random(in: 0...255) }).write(to: database.url)
        try check(finding(), equals: .notADatabase)
    }

    // MARK: - Keys and formats

    @Test func `a sound file is reported as sound, under a passphrase too`() throws {
        _ = try makeFile()
        let diagnosis = try diagnosis()
        check(diagnosis.finding, equals: .ok)
        check(diagnosis.description.contains("10 of 10 pages"))
        try check(finding(nil), equals: .keyNeeded)

        let other = try TemporaryDatabase()
        let db = other.store()
        try db.open(with: "a passphrase")
        db.close()
        try check(
            SecureDatabaseStore.diagnose(at: other.url, key: .passphrase("a passphrase"))
                .finding, equals: .ok)
    }

    @Test func `a wrong key is reported as a wrong key`() throws {
        _ = try makeFile()
        try check(finding(Self.wrongKey), equals: .wrongKey)
        try check(finding(.passphrase("a guess")), equals: .wrongKey)
    }

    @Test func `an invalid key is an error`() throws {
        _ = try makeFile()
        check(
            storageError {
                _ = try SecureDatabaseStore.diagnose(
                    at: database.url, key: .raw(SecretBytes.random(count: 31)))
            }?.kind, equals: .authenticationFailed)
    }

    @Test(arguments: [1, 2, 3]) func `the formats of SQLCipher 1 to 3 are identified`(
        _ version: Int
    ) throws {
        try Fixture.copy("sqlcipher-\(version)-passphrase.db", to: database)
        try check(
            finding(.passphrase(Fixture.passphrase)), equals: .legacyFormat(version: version))
        if version == 2 {
            check([.wrongKey, .notADatabase].contains(try finding(.passphrase("another"))))
        }
        try FileManager.default.removeItem(at: database.url)
        try Fixture.copy("sqlcipher-\(version)-raw-key.db", to: database)
        // With a raw key, versions 2 and 3 are the same.
        try check(
            finding(.raw(SecretBytes(copying: Fixture.rawKey))),
            equals: .legacyFormat(version: max(version, version == 2 ? 3 : version)))
    }

    @Test func `files of SQLCipher 4 by another program are sound`() throws {
        try Fixture.copy("sqlcipher-4-passphrase.db", to: database)
        try check(finding(.passphrase(Fixture.passphrase)), equals: .ok)
        try FileManager.default.removeItem(at: database.url)
        try Fixture.copy("sqlcipher-4-raw-key.db", to: database)
        try check(finding(.raw(SecretBytes(copying: Fixture.rawKey))), equals: .ok)
    }

    @Test func `another page size and another HMAC are identified`() throws {
        let db = try database.openStore {
            $0.journalMode = .delete
            $0.cipher.pageSize = 8192
            $0.cipher.hmacAlgorithm = .sha256
        }
        db.close()

        var expected = CipherConfiguration()
        (expected.pageSize, expected.hmacAlgorithm) = (8192, .sha256)
        try check(finding(), equals: .otherCipher(expected))
        try check(finding(cipher: expected), equals: .ok)
        check(
            storageError { _ = try database.openStore() }?.description.contains("8192"),
            equals: true)
    }

    @Test func `a plaintext header is distinguished from a plain file, and its salt opens it`()
        throws
    {
        var cipher = CipherConfiguration()
        cipher.plaintextHeaderSize = 32
        cipher.salt = Data((1...16).map { UInt8($0) })
        let db = try database.openStore { $0.cipher = cipher }
        try db.executeUpdate("CREATE TABLE t (x)")
        db.close()

        try check(finding(), equals: .plaintextHeader)
        try check(finding(nil), equals: .plaintextHeader)
        try check(finding(cipher: cipher), equals: .ok)
        var wrongSalt = cipher
        wrongSalt.salt = Data(count: 16)
        try check(finding(cipher: wrongSalt) != .ok)
    }

    // MARK: - Damage

    @Test func `damaged pages are listed, including the first one`() throws {
        let whole = try makeFile()
        for pages in [[3], [1], [2, 10], [1, 5, 6], Array(1...9)] {
            try whole.write(to: database.url)
            for page in pages {
                let offset = (page - 1) * 4096 + 100
                try patch([whole[offset] ^ 4], at: offset)
            }
            try check(finding(), equals: .corrupt(pages: pages))
            // With another key, it is the key that is wrong.
            try check(finding(Self.wrongKey), equals: .wrongKey)
        }
    }

    @Test func `a swapped page, and a page of another file with the same key, are damaged`()
        throws
    {
        let whole = try makeFile()
        try patch([UInt8](whole[4096 * 2..<4096 * 3]), at: 4096 * 3)
        try check(finding(), equals: .corrupt(pages: [4]))

        let sibling = try TemporaryDatabase()
        let db = try sibling.openStore { $0.journalMode = .delete }
        try db.executeUpdate("CREATE TABLE t (x)")
        try db.executeUpdate("INSERT INTO t VALUES (randomblob(30000))")
        db.close()
        try whole.write(to: database.url)
        try patch([UInt8](try Data(contentsOf: sibling.url)[4096 * 2..<4096 * 3]), at: 4096 * 2)
        try check(finding(), equals: .corrupt(pages: [3]))
    }

    @Test func `with a raw key a changed salt is damage, not a wrong key`() throws {
        let whole = try makeFile()
        try patch([whole[5] ^ 1], at: 5)
        try check(finding(), equals: .corrupt(pages: [1]))
    }

    @Test(arguments: [4096 * 7, 4096 * 7 + 1, 4096 * 6 - 200, 4096 * 2, 4096, 5000])
    func `a file that was cut off is reported as truncated`(_ size: Int) throws {
        let whole = try makeFile()
        try whole.prefix(size).write(to: database.url)
        try check(finding(), equals: .truncated)
    }

    @Test(arguments: [1, 100, 4096, 5000])
    func `extra bytes at the end of the file are reported`(_ size: Int) throws {
        let whole = try makeFile()
        try (whole + Data(repeating: 7, count: size)).write(to: database.url)
        try check(finding(), equals: .corrupt(pages: [11]))
    }

    // MARK: - With sidecar files

    @Test func `pages in the log are counted`() throws {
        let db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (x)")
        for _ in 0..<5 { try db.executeUpdate("INSERT INTO t VALUES (randomblob(10000))") }
        let copy = try TemporaryDatabase()
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: database.path + suffix, toPath: copy.path + suffix)
        }
        db.close()
        let diagnosis = try SecureDatabaseStore.diagnose(at: copy.url, key: Self.key)
        check(diagnosis.finding, equals: .ok)
        check(diagnosis.reasons.contains { $0.contains("log contains") })
        check(diagnosis.description.contains("15 of 15 pages"))
    }

    @Test func `an interrupted transaction is diagnosed as it will be read`() throws {
        _ = try makeFile()
        let db = try database.openStore {
            $0.journalMode = .delete
            $0.cacheSize = 0
        }
        // Enough that pages reach the file before the commit.
        try db.executeStatements("BEGIN; UPDATE t SET x = randomblob(200000)")
        let copy = try TemporaryDatabase()
        for suffix in ["", "-journal"] {
            try FileManager.default.copyItem(
                atPath: database.path + suffix, toPath: copy.path + suffix)
        }
        db.close()
        let diagnosis = try SecureDatabaseStore.diagnose(at: copy.url, key: Self.key)
        check(diagnosis.finding, equals: .ok)
        check(diagnosis.reasons.contains { $0.contains("journal") })
        try check(copy.openStore().int("SELECT count(*) FROM t"), equals: 3)
    }

    /// As on a busy machine, a file that was written to while it was read looks unchanged.
    @Test func `a file that changes twice within a tick of the system's clock is examined again`()
        throws
    {
        let whole = try makeFile()
        try patch([whole[20_000] ^ 1], at: 20_000)
        var status = stat()
        try require(stat(database.path, &status) == 0)
        #if canImport(Darwin)
            let times = [status.st_atimespec, status.st_mtimespec]
        #else
            let times = [status.st_atim, status.st_mtim]
        #endif
        var isRepaired = false
        let diagnosis = try SecureDatabaseStore.diagnose(at: database.url, key: Self.key) {
            // At the end of the first pass.
            guard !isRepaired, $0.fraction == 1 else { return }
            isRepaired = true
            try patch([whole[20_000]], at: 20_000)
            try require(utimensat(AT_FDCWD, database.path, times, 0) == 0)
            usleep(100_000)
        }
        check(isRepaired)
        check(diagnosis.finding, equals: .ok, "\(diagnosis)")
    }

    @Test func `an open file that is written to is never reported as damaged`() throws {
        let db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (x)")
        let queue = SecureDatabaseQueue(databaseStore: db)
        let url = database.url
        let rounds = Rounds()
        let writer = Thread {
            while !rounds.isOver {
                try? queue.inDatabase {
                    try $0.executeUpdate("INSERT INTO t VALUES (randomblob(9000))")
                    try $0.executeUpdate("DELETE FROM t WHERE rowid < last_insert_rowid() - 20")
                }
            }
        }
        writer.start()
        let isEmpty = "SELECT count(*) = 0 FROM t"
        // On a busy machine, all of the diagnoses could otherwise be over before.
        while try queue.inDatabase({ try $0.int(isEmpty) }) == 1 { usleep(1_000) }
        for _ in 0..<3 {
            let diagnosis = try SecureDatabaseStore.diagnose(at: url, key: Self.key)
            check(diagnosis.finding, equals: .ok, "\(diagnosis)")
        }
        rounds.end()
        // Diagnosing must not have dropped its locks.
        try check(queue.inDatabase { try $0.int(isEmpty) }, equals: 0)
    }

    #if os(Linux)
        @Test func `diagnosing an open file drops none of its locks`() throws {
            let db = try database.openStore { $0.journalMode = .delete }
            try db.executeStatements("CREATE TABLE t (x); BEGIN EXCLUSIVE")
            defer { db.close() }

            try check(
                SecureDatabaseStore.diagnose(at: database.url, key: Self.key).finding, equals: .ok)

            let shell = try SQLCipherShell(
                database.path, key: "x'\(TemporaryDatabase.key.hex)'", "SELECT count(*) FROM t;")
            check(shell.errors.contains("locked"))
            check(shell.lines != ["0"])
        }
    #endif

    // MARK: - Progress and errors

    @Test func `progress is reported, and throwing from it ends the diagnosis`() throws {
        _ = try makeFile(500)
        var seen: [FileProgress] = []
        _ = try SecureDatabaseStore.diagnose(at: database.url, key: Self.key) { seen.append($0) }
        check(seen.count > 3)
        check(seen.map(\.completed), equals: seen.map(\.completed).sorted())
        check(seen.last?.fraction, equals: 1)
        #expect(throws: CancellationError.self) {
            try SecureDatabaseStore.diagnose(at: database.url, key: Self.key) {
                if $0.fraction > 0.5 { throw CancellationError() }
            }
        }
    }

    @Test func `the error of open contains the finding`() throws {
        let whole = try makeFile()
        try patch([whole[100] ^ 1], at: 100)
        let error = storageError { _ = try database.openStore() }
        check(error?.code, equals: 11)
        check(error?.description.contains("9 of 10 pages"), equals: true)
        check(error?.description.contains("page 1"), equals: true)
    }
}
