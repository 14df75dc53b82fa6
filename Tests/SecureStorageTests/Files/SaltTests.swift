import Foundation
import SecureStorage
import Testing
import TestSupport

/// Files with a plaintext header, whose salt is stored in a separate file.
struct SaltTests {
    private let database: TemporaryDatabase
    private var salt: URL { database.directory.appendingPathComponent("test.db-salt") }
    private static let header = Data("SQLite format 3\0".utf8)

    init() throws { database = try TemporaryDatabase() }

    private func open(
        _ key: DatabaseKey = .raw(SecretBytes(copying: TemporaryDatabase.key)), at url: URL? = nil,
        configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) throws -> SecureDatabaseStore {
        var configuration = database.store(configure: configure).configuration
        configuration.cipher.plaintextHeaderSize = 32
        configuration.cipher.kdfIterations = 1000
        let db = SecureDatabaseStore(url: url ?? database.url, configuration: configuration)
        try db.open(with: key)
        return db
    }

    private func makeFile(_ key: DatabaseKey = .raw(SecretBytes(copying: TemporaryDatabase.key)))
        throws
    {
        let db = try open(key)
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('stored')")
        db.close()
    }

    private func expectStored(_ db: SecureDatabaseStore) throws {
        try check(db.strings("SELECT x FROM t"), equals: ["stored"])
        try check(db.verifyIntegrity().isSound)
        db.close()
    }

    private func other(_ name: String) -> URL { database.directory.appendingPathComponent(name) }

    // MARK: - Keeping the salt

    @Test func `a changed byte of a plaintext header is damage, unless the file opens`() throws {
        try makeFile()
        var cipher = CipherConfiguration()
        cipher.plaintextHeaderSize = 32
        cipher.kdfIterations = 1000
        let original = try Data(contentsOf: database.url)
        var damaged = 0
        // Byte 20, the reserved bytes, may have other values that the pages contradict.
        for offset in 16..<32 where offset != 20 {
            for change: UInt8 in [0x01, 0x10, 0x9b] {
                var bytes = original
                bytes[offset] ^= change
                try bytes.write(to: database.url)
                let finding = try SecureDatabaseStore.diagnose(
                    at: database.url, key: .raw(SecretBytes(copying: TemporaryDatabase.key)),
                    cipher: cipher
                ).finding
                guard finding == .ok else {
                    damaged += 1
                    continue
                }
                #expect(throws: Never.self, "byte \(offset)") { try expectStored(open()) }
            }
        }
        // The page's size, the version to read, and the three fractions.
        check(damaged >= 6 * 3)
    }

    @Test func `a file with a plaintext header opens again and again`() throws {
        try makeFile()
        for _ in 1...environmentNumber("SECURESTORAGE_OPENINGS", default: 150) {
            let db = try open()
            try db.executeUpdate("UPDATE t SET x = 'stored'")
            db.close()
        }
        try expectStored(open())
        try check(Data(contentsOf: database.url).prefix(16), equals: Self.header)
        try check(database.fileNames(), equals: ["test.db", "test.db-salt"])
        let mode = try FileManager.default.attributesOfItem(atPath: salt.path)[.posixPermissions]
        check(mode as? Int, equals: 0o600)
    }

    @Test(arguments: SecureDatabaseConfiguration.JournalMode.allCases)
    func `a passphrase reopens the file in both journal modes`(
        _ mode: SecureDatabaseConfiguration.JournalMode
    ) throws {
        let key = DatabaseKey.passphrase("correct horse")
        let db = try open(key) { $0.journalMode = mode }
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('stored')")
        db.close()
        try expectStored(open(key) { $0.journalMode = mode })
        let error = storageError { _ = try open(.passphrase("wrong")) { $0.journalMode = mode } }
        check(error?.kind, equals: .authenticationFailed, "\(error?.description ?? "")")
    }

    @Test func `the salt file holds the engine's salt`() throws {
        try makeFile()
        let db = try open()
        let known = try require(db.strings("PRAGMA cipher_salt").first ?? nil)
        try check(String(contentsOf: salt, encoding: .utf8).contains("\n\(known)\n"))
    }

    @Test func `a re-key keeps the salt`() throws {
        try makeFile()
        let before = try Data(contentsOf: salt)
        let db = try open()
        try db.changeEncryptionKey(with: Data(repeating: 9, count: 32))
        db.close()
        try check(Data(contentsOf: salt), equals: before)
        try expectStored(open(.raw(SecretBytes(copying: Data(repeating: 9, count: 32)))))
        try check(Data(contentsOf: database.url).prefix(16), equals: Self.header)
    }

    @Test func `a copy opens elsewhere with its salt file, and not without it`() throws {
        try makeFile()
        let directory = other("elsewhere")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        let copy = directory.appendingPathComponent("copy.db")
        try FileManager.default.copyItem(at: database.url, to: copy)
        let error = storageError { _ = try open(at: copy) }
        check(error?.kind, equals: .openFailed)
        check(error?.description.contains("salt file -salt is missing"), equals: true)
        try check(
            FileManager.default.contentsOfDirectory(atPath: directory.path), equals: ["copy.db"])
        try FileManager.default.copyItem(
            at: salt, to: directory.appendingPathComponent("copy.db-salt"))
        try expectStored(open(at: copy))
    }

    @Test func `processes that create a file at the same time agree on its salt`() async throws {
        let path = database.path
        await withTaskGroup(of: Void.self) { group in
            for number in 1...6 {
                group.addTask {
                    await #expect(processExitsWith: .success) {
                        [path = path as String, number = number as Int] in
                        var configuration = SecureDatabaseConfiguration()
                        configuration.cipher.plaintextHeaderSize = 32
                        configuration.busyTimeout = .seconds(120)
                        let db = SecureDatabaseStore(
                            fullDatabasePath: path, configuration: configuration)
                        try db.open(with: TemporaryDatabase.key) { db in
                            storageError { try db.executeUpdate("CREATE TABLE t (x)") }
                        }
                        try db.executeUpdate("INSERT INTO t VALUES (?)", number)
                    }
                }
            }
        }
        try check(open().int("SELECT count(*) FROM t"), equals: 6)
    }

    // MARK: - Lost and found

    @Test func `a file without its salt stays unchanged, and the error says what is missing`()
        throws
    {
        try makeFile()
        try FileManager.default.removeItem(at: salt)
        let before = try DirectorySnapshot(of: database.directory)
        let error = storageError { _ = try open() }
        check(error?.kind, equals: .openFailed)
        check(error?.description.contains("-salt is missing"), equals: true)
        var cipher = CipherConfiguration()
        cipher.plaintextHeaderSize = 32
        let diagnosis = try SecureDatabaseStore.diagnose(
            at: database.url, key: .raw(SecretBytes(copying: TemporaryDatabase.key)), cipher: cipher
        )
        check(diagnosis.finding, equals: .plaintextHeader)
        check(diagnosis.reasons.contains { $0.contains("-salt is missing") })
        try check(DirectorySnapshot(of: database.directory), equals: before)
    }

    @Test func `a damaged salt file is distinguished from a missing one and a wrong key`() throws {
        try makeFile()
        let whole = try Data(contentsOf: salt)
        for position in whole.indices {
            var damaged = whole
            damaged[position] ^= 1
            try damaged.write(to: salt)
            let error = storageError { _ = try open() }
            check(error?.code, equals: 11, "byte \(position)")
            check(error?.description.contains("-salt is damaged"), equals: true, "byte \(position)")
        }
        for length in 0..<whole.count {
            try whole.prefix(length).write(to: salt)
            check(storageError { _ = try open() }?.code, equals: 11, "\(length) bytes")
        }
        try whole.write(to: salt)
        try expectStored(open())
    }

    @Test func `a key with the salt restores a missing or damaged salt file`() throws {
        try makeFile()
        let whole = try Data(contentsOf: salt)
        let db = try open()
        let known = try require(db.strings("PRAGMA cipher_salt").first ?? nil)
        db.close()
        let bytes = stride(from: 0, to: 32, by: 2).compactMap {
            UInt8(known.dropFirst($0).prefix(2), radix: 16)
        }
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key), salt: Data(bytes))
        for damage in [nil, Data("nonsense".utf8)] {
            try FileManager.default.removeItem(at: salt)
            try damage?.write(to: salt)
            try expectStored(open(key))
            try check(Data(contentsOf: salt), equals: whole)
            try expectStored(open())
        }
    }

    @Test func `an open pool restores a missing salt file`() throws {
        let pool = try database.openPool { $0.cipher.plaintextHeaderSize = 32 }
        try pool.write {
            try $0.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('stored')")
        }
        let whole = try Data(contentsOf: salt)
        try FileManager.default.removeItem(at: salt)
        // After a block that closes the writer, the next block reopens it.
        try pool.writeWithoutTransaction { $0.close() }
        try pool.write { try $0.executeUpdate("UPDATE t SET x = 'stored'") }
        try check(Data(contentsOf: salt), equals: whole)
    }

    @Test func `a salt whose file is missing is not replaced`() throws {
        try makeFile()
        let file = try Data(contentsOf: database.url)
        try FileManager.default.removeItem(at: database.url)
        let error = storageError { _ = try open() }
        check(error?.description.contains("its salt file -salt exists"), equals: true)
        try file.write(to: database.url)
        try expectStored(open())
        // remove(at:) removes it with the rest.
        try FileManager.default.removeItem(at: database.url)
        try check(SecureDatabaseStore.remove(at: database.url))
        try check(database.fileNames().isEmpty)
        try makeFile()
    }

    @Test func `the right one of two salts that a kill can leave is chosen`() throws {
        try makeFile()
        let first = try String(contentsOf: salt, encoding: .utf8)
        let file = try Data(contentsOf: database.url)
        try SecureDatabaseStore.remove(at: database.url)
        try makeFile()
        let second = try String(contentsOf: salt, encoding: .utf8)
        func line(_ text: String) -> String {
            String(text.split(separator: "\n")[1])
        }
        check(line(first) != line(second))
        for lines in [[line(first), line(second)], [line(second), line(first)]] {
            try file.write(to: database.url)
            let body = "SecureStorage salt 1\n" + lines.map { $0 + "\n" }.joined()
            let sum = try ChildProcess("sha256sum", [], input: Data(body.utf8)).output.prefix(64)
            try (body + "sha256 \(sum)\n").write(to: salt, atomically: false, encoding: .utf8)
            try expectStored(open())
            // From now on it is the only one.
            try check(String(contentsOf: salt, encoding: .utf8), equals: first)
        }
    }

    @Test func `the right key with another salt is not reported as wrong`() throws {
        try makeFile()
        var cipher = CipherConfiguration()
        cipher.plaintextHeaderSize = 32
        cipher.salt = Data(count: 16)
        let diagnosis = try SecureDatabaseStore.diagnose(
            at: database.url, key: .raw(SecretBytes(copying: TemporaryDatabase.key)), cipher: cipher
        )
        check(diagnosis.finding, equals: .plaintextHeader)
        check(diagnosis.reasons.contains { $0.contains("the salt is not the file's") })
    }

    // MARK: - Operations on the file

    @Test func `the salt file is moved, removed and measured with its file`() throws {
        try makeFile()
        let sizes = try [database.url, salt].map { try Data(contentsOf: $0).count }
        try check(SecureDatabaseStore.sizeOnDisk(at: database.url), equals: sizes.reduce(0, +))
        try SecureDatabaseStore.move(at: database.url, to: other("moved.db"))
        try check(database.fileNames(), equals: ["moved.db", "moved.db-salt"])
        try expectStored(open(at: other("moved.db")))
        try SecureDatabaseStore.remove(at: other("moved.db"))
        try check(database.fileNames().isEmpty)
    }

    @Test func `copies have their own salt file, even when they replace a file`() throws {
        try makeFile()
        let db = try open()
        for url in [
            other("backup.db"), other("compact.db"), other("rekeyed.db"), other("export.db"),
        ] {
            for isReplacing in [false, true] {
                switch url.lastPathComponent {
                case "backup.db": try db.backup(to: url, replacing: isReplacing)
                case "compact.db": try db.vacuum(into: url, replacing: isReplacing)
                case "rekeyed.db":
                    try db.backup(
                        to: url, key: .raw(SecretBytes(copying: TemporaryDatabase.key)),
                        replacing: isReplacing)
                default:
                    try db.export(
                        to: url, key: .raw(SecretBytes(copying: TemporaryDatabase.key)),
                        cipher: db.configuration.cipher, replacing: isReplacing)
                }
                try expectStored(open(at: url))
            }
        }
        db.close()
        try check(database.fileNames().count, equals: 10)
    }

    @Test func `a plaintext header is added in place, and removed again`() throws {
        let plain = try database.openStore()
        try plain.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('stored')")
        plain.close()
        var cipher = CipherConfiguration()
        cipher.plaintextHeaderSize = 32
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        let old = try require(
            SecureDatabaseStore.migrate(at: database.url, key: key, to: cipher))
        try check(Data(contentsOf: database.url).prefix(16), equals: Self.header)
        try expectStored(
            database.openStore { $0.cipher = cipher })
        try SecureDatabaseStore.remove(at: old)

        let before = try Data(contentsOf: salt)
        let kept = try require(
            SecureDatabaseStore.migrate(at: database.url, key: key, from: cipher))
        try check(database.fileNames(), equals: ["test.db", "test.db.old", "test.db.old-salt"])
        try check(Data(contentsOf: URL(fileURLWithPath: kept.path + "-salt")), equals: before)
        try expectStored(try database.openStore())
        let oldStore = SecureDatabaseStore(
            url: kept, configuration: database.store { $0.cipher = cipher }.configuration)
        try oldStore.open(with: TemporaryDatabase.key)
        try expectStored(oldStore)
    }
}
