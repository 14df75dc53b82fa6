import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// SQLCipher's own shell reads what the library writes, and the other way round.
@Suite(
    .enabled(
        if: SQLCipherShell.isInstalled, "needs the sqlcipher shell, which Scripts/setup installs"))
struct SQLCipherShellTests {
    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    static let rawKey = "x'\(TemporaryDatabase.key.hex)'"

    /// Returns the output of a script with this key, after checking that there were no errors.
    private func shell(
        _ key: String?, settings: [String] = [], _ script: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [String] {
        let shell = try SQLCipherShell(database.path, key: key, settings: settings, script)
        check(shell.errors, equals: "", sourceLocation: sourceLocation)
        return shell.lines
    }

    /// Returns whether the shell can read the file with this key.
    private func shellOpens(_ key: String?, settings: [String] = []) throws -> Bool {
        let shell = try SQLCipherShell(
            database.path, key: key, settings: settings,
            "SELECT 'opened' FROM sqlite_schema LIMIT 1;")
        if shell.lines == ["opened"] { return true }
        check(shell.errors.contains("file is not a database"))
        return false
    }

    // MARK: - Values

    @Test(arguments: SecureDatabaseConfiguration.JournalMode.allCases)
    func `the shell reads every value that the library wrote`(
        _ mode: SecureDatabaseConfiguration.JournalMode
    ) throws {
        let db = try database.openStore { $0.journalMode = mode }
        try db.executeUpdate("CREATE TABLE v (id INTEGER PRIMARY KEY, x)")
        for (id, sample) in SampleValue.all.enumerated() {
            try db.executeUpdate("INSERT INTO v VALUES (?, ?)", values: [id, sample.value])
        }
        let script = SampleValue.all.enumerated()
            .map { "SELECT typeof(x), x IS \($1.literal) FROM v WHERE id = \($0);" }
            .joined(separator: "\n")
        let expected = SampleValue.all.map { "\($0.type)|1" }

        // While the library has the file open, committed values are visible, wherever they are.
        try check(shell(Self.rawKey, script), equals: expected)
        db.close()
        try check(shell(Self.rawKey, script), equals: expected)

        try check(shell(Self.rawKey, "PRAGMA journal_mode;"), equals: [mode.rawValue])
        try check(shell(Self.rawKey, "PRAGMA integrity_check;"), equals: ["ok"])
        try check(shell(Self.rawKey, "PRAGMA cipher_integrity_check;"), equals: [])
    }

    @Test(arguments: SecureDatabaseConfiguration.JournalMode.allCases)
    func `the library reads every value that the shell wrote`(
        _ mode: SecureDatabaseConfiguration.JournalMode
    ) throws {
        var script = "PRAGMA journal_mode = \(mode.rawValue);\n"
        script += "CREATE TABLE v (id INTEGER PRIMARY KEY, x);\n"
        for (id, sample) in SampleValue.all.enumerated() {
            script += "INSERT INTO v VALUES (\(id), \(sample.literal));\n"
        }
        _ = try shell(Self.rawKey, script)

        let db = try database.openStore { $0.journalMode = mode }
        for (id, sample) in SampleValue.all.enumerated() {
            let rs = try db.executeQuery("SELECT x FROM v WHERE id = ?", values: [id])
            try check(rs.next())
            let stored: StoredValue? = try rs.object(forColumnIndex: 0)
            check((stored?.sqliteValue ?? .null), equals: sample.stored, "\(sample.literal)")
        }
    }

    // MARK: - Keys

    @Test(arguments: [
        "passphrase", "it's", "say \"x\"", "'", "a b  c", " ", "trailing ", "\t", "--; DROP",
        "é", "e\u{301}", "пароль 密码 🔑", "%s\\n", String(repeating: "long", count: 300),
        // Not the notation of a raw key: a digit too few, a digit too many, not hex, no x''.
        "x'\(String(repeating: "0", count: 63))'", "x'\(String(repeating: "0", count: 65))'",
        "x'\(String(repeating: "g", count: 64))'", String(repeating: "0", count: 64),
    ])
    func `a passphrase opens the same file in the library and the shell`(_ passphrase: String)
        throws
    {
        // This is about the bytes that enter the derivation, not about its length.
        let db = database.store { $0.cipher.kdfIterations = 1000 }
        try db.open(with: passphrase)
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('library')")
        db.close()

        // In single quotes, which allow any text.
        let key = passphrase.replacingOccurrences(of: "'", with: "''")
        let lines = try shell(
            nil,
            """
            PRAGMA key = '\(key)';
            PRAGMA kdf_iter = 1000;
            INSERT INTO t VALUES ('shell');
            SELECT x FROM t;
            """)

        check(lines, equals: ["ok", "library", "shell"])
        try db.open(with: passphrase)
        try check(db.strings("SELECT x FROM t"), equals: ["library", "shell"])
    }

    @Test(arguments: ["UTF-16le", "UTF-16be"])
    func `text of a UTF-16 file is read like UTF-8 text`(_ encoding: String) throws {
        _ = try shell(
            Self.rawKey,
            """
            PRAGMA encoding = '\(encoding)';
            CREATE TABLE t ("größe" TEXT, b BLOB);
            INSERT INTO t VALUES ('é𝄞', x'010002');
            """)
        let db = try database.openStore()
        try check(db.strings("PRAGMA encoding"), equals: [encoding])
        try db.executeUpdate("INSERT INTO t VALUES (?, ?)", values: ["a\0é", Data([3])])
        let rs = try db.executeQuery("SELECT größe, b, '' AS empty FROM t")
        try check(rs.next())
        check(rs.data(forColumnName: "größe"), equals: Data("é𝄞".utf8))
        check(rs.string(forColumnName: "größe"), equals: "é𝄞")
        check(rs.data(forColumnName: "b"), equals: Data([1, 0, 2]))
        check(rs.data(forColumnName: "empty"), equals: Data())
        try check(rs.next())
        check(rs.data(forColumnName: "größe"), equals: Data("a\0é".utf8))
        rs.close()

        let error = storageError { _ = try SecureKeyValueStore(databaseStore: db, name: "a") }
        check(error?.description.contains("UTF-8"), equals: true)
    }

    @Test(arguments: ["passphrase", "it's 🔑", SQLCipherShellTests.rawKey])
    func `the library opens the shell's file with the same text as the key`(_ key: String) throws {
        _ = try shell(key, "CREATE TABLE t (x); INSERT INTO t VALUES ('shell');")
        let db = database.store()

        try db.open(with: key)

        try check(db.strings("SELECT x FROM t"), equals: ["shell"])
    }

    @Test(arguments: [
        ("é", "e\u{301}"), ("e\u{301}", "é"), ("a", "a "), ("a ", "a"), ("a", "A"), ("ﬁ", "fi"),
        ("a", "a\0b"), ("\u{212B}", "\u{C5}"),
    ])
    func `every byte of a passphrase counts`(_ right: String, _ wrong: String) throws {
        _ = try shell(right, settings: ["kdf_iter = 1000;"], "CREATE TABLE t (x);")
        let db = database.store { $0.cipher.kdfIterations = 1000 }

        check(storageError { try db.open(with: wrong) }?.kind, equals: .authenticationFailed)

        check(!db.isOpen())
        try db.open(with: right)
    }

    @Test func `raw bytes are the key that the shell accepts as x and 64 hex digits`() throws {
        let db = try database.openStore()
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('library')")
        db.close()

        try check(shell(Self.rawKey, "SELECT x FROM t;"), equals: ["library"])
        try check(shell(Self.rawKey.uppercasedDigits, "SELECT x FROM t;"), equals: ["library"])
        // The same text as a passphrase is the same key for both.
        for text in [Self.rawKey, Self.rawKey.uppercasedDigits] {
            try db.open(with: text)
            try check(db.strings("SELECT x FROM t"), equals: ["library"])
            db.close()
        }
    }

    @Test func `x and 96 hex digits are the raw key and its salt for both`() throws {
        let salt = Data((100..<116).map { UInt8($0) })
        let key = "x'\(TemporaryDatabase.key.hex)\(salt.hex)'"
        let db = database.store()
        try db.open(with: key)
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('library')")
        db.close()

        try check(Data(contentsOf: database.url).prefix(16), equals: salt)
        try check(shell(key, "SELECT x FROM t;"), equals: ["library"])
        // The salt is in the file, so the key alone is enough.
        try check(shell(Self.rawKey, "SELECT x FROM t;"), equals: ["library"])
        try db.open(with: TemporaryDatabase.key)
        try check(db.strings("SELECT x FROM t"), equals: ["library"])
    }

    @Test func `the shell opens a re-keyed file only with the new key`() throws {
        let newRawKey = Data((101...132).map { UInt8($0) })
        let db = database.store()
        try db.open(with: "first")
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('library')")

        try db.changeEncryptionKey(with: newRawKey)
        // Also while the store is open: nothing is under the old key now.
        try check(shellOpens("x'\(newRawKey.hex)'"))
        try check(!shellOpens("first"))
        db.close()
        try check(shell("x'\(newRawKey.hex)'", "SELECT x FROM t;"), equals: ["library"])
        try check(!shellOpens("first"))

        try db.open(with: newRawKey)
        try db.changeEncryptionKey(with: "third's")
        db.close()
        try check(shell("third's", "SELECT x FROM t;"), equals: ["library"])
        try check(!shellOpens("x'\(newRawKey.hex)'"))
        try check(!shellOpens("first"))
        try check(shell("third's", "PRAGMA cipher_integrity_check;"), equals: [])
    }

    @Test func `the library opens a file that the shell re-keyed`() throws {
        _ = try shell("first", "CREATE TABLE t (x); INSERT INTO t VALUES (1);")
        _ = try shell("first", "PRAGMA rekey = 'second';")
        let db = database.store()

        check(storageError { try db.open(with: "first") }?.kind, equals: .authenticationFailed)
        try db.open(with: "second")

        try check(db.int("SELECT x FROM t"), equals: 1)
    }

    // MARK: - Cipher configurations

    @Test(arguments: CipherSample.all)
    func `a cipher configuration means the same to the library and the shell`(
        _ sample: CipherSample
    ) throws {
        // A passphrase costs a derivation at every open.
        let key = sample.isAboutPassphrases ? "pass" : Self.rawKey
        let db = database.store { $0.cipher = sample.configuration }
        try db.open(with: key)
        try db.executeStatements(
            "CREATE TABLE t (x); INSERT INTO t VALUES ('library'), (randomblob(100000))")
        db.close()

        let script = """
            UPDATE t SET x = 'shell' WHERE x = 'library';
            SELECT x FROM t WHERE typeof(x) = 'text';
            PRAGMA cipher_integrity_check;
            """
        try check(shell(key, settings: sample.pragmas, script), equals: ["shell"])
        try db.open(with: key)
        try check(db.strings("SELECT x FROM t WHERE typeof(x) = 'text'"), equals: ["shell"])
        // The configuration is required, because the file does not contain it.
        try check(!shellOpens(key))
        db.close()
        check(storageError { try database.store().open(with: key) } != nil)
    }

    @Test(arguments: CipherSample.all)
    func `the library opens the shell's file with a cipher configuration`(
        _ sample: CipherSample
    ) throws {
        _ = try shell(
            Self.rawKey, settings: sample.pragmas,
            "CREATE TABLE t (x); INSERT INTO t VALUES ('shell'), (randomblob(100000));")
        let db = try database.openStore { $0.cipher = sample.configuration }
        try check(db.strings("SELECT x FROM t WHERE typeof(x) = 'text'"), equals: ["shell"])
        try db.executeUpdate("UPDATE t SET x = 'library' WHERE x = 'shell'")
        db.close()

        let script = "SELECT x FROM t WHERE typeof(x) = 'text'; PRAGMA cipher_integrity_check;"
        try check(shell(Self.rawKey, settings: sample.pragmas, script), equals: ["library"])
    }

    @Test func `a plaintext header reveals SQLite's header and nothing else`() throws {
        let db = try database.openStore {
            $0.cipher.plaintextHeaderSize = 32
            $0.cipher.salt = CipherSample.salt
        }
        try db.executeStatements("CREATE TABLE marker (x); INSERT INTO marker VALUES ('marker')")
        db.close()

        let file = try Data(contentsOf: database.url)

        check(file.prefix(16), equals: Data("SQLite format 3\0".utf8))
        check(file.range(of: Data("marker".utf8)) == nil)
        check(file.range(of: CipherSample.salt) == nil)
    }
}

/// A value as Swift binds it, as SQLite stores it and as SQL spells it.
private struct SampleValue {
    let value: (any SQLiteDatatypeBridgeable)?
    let stored: SQLiteValue
    let type: String
    let literal: String

    static var all: [SampleValue] {
        texts + blobs + [
            .init(
                value: Int64.min, stored: .integer(.min), type: "integer", literal: "\(Int64.min)"),
            .init(
                value: Int64.max, stored: .integer(.max), type: "integer", literal: "\(Int64.max)"),
            .init(value: 0, stored: .integer(0), type: "integer", literal: "0"),
            .init(value: true, stored: .integer(1), type: "integer", literal: "1"),
            .init(
                value: Date(timeIntervalSince1970: -1.5), stored: .integer(-2), type: "integer",
                literal: "-2"),
            .init(value: 0.1, stored: .real(0.1), type: "real", literal: "0.1"),
            .init(value: 1.0, stored: .real(1), type: "real", literal: "1.0"),
            .init(
                value: Double.infinity, stored: .real(.infinity), type: "real", literal: "9e999"),
            .init(
                value: -Double.infinity, stored: .real(-.infinity), type: "real",
                literal: "-9e999"),
            .init(
                value: Double.leastNormalMagnitude, stored: .real(.leastNormalMagnitude),
                type: "real", literal: "2.2250738585072014e-308"),
            // SQLite has no NaN.
            .init(value: Double.nan, stored: .null, type: "null", literal: "NULL"),
            .init(value: nil, stored: .null, type: "null", literal: "NULL"),
        ]
    }

    private static var texts: [SampleValue] {
        [
            "", "plain", "it's \"quoted\"", "a\0b", "\0", "\0\0tail", "é", "e\u{301}", "👩‍👩‍👧‍👦 🇩🇪 𝄞",
            "مرحبا", "\u{FEFF}x", "\r\n\t",
        ]
        .map {
            .init(
                value: $0, stored: .text($0), type: "text",
                literal: "CAST(X'\(Data($0.utf8).hex)' AS TEXT)")
        }
    }

    private static var blobs: [SampleValue] {
        [
            Data(), Data([0]), Data([1, 0, 2]), Data(0...255), Data("text".utf8),
            Data([0xff, 0xfe]),
            Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }),
        ]
        .map { .init(value: $0, stored: .blob($0), type: "blob", literal: "X'\($0.hex)'") }
    }
}

/// A column's stored value, without conversion.
private struct StoredValue: SQLiteDatatypeBridgeable {
    let sqliteValue: SQLiteValue

    init?(sqliteValue: SQLiteValue) { self.sqliteValue = sqliteValue }
}

/// A cipher configuration other than the default, and the pragmas that select it in the shell.
struct CipherSample: Sendable, CustomTestStringConvertible {
    let configuration: CipherConfiguration
    let pragmas: [String]

    var testDescription: String { pragmas.joined(separator: " ") }

    var isAboutPassphrases: Bool {
        configuration.kdfIterations != CipherConfiguration().kdfIterations
            || configuration.kdfAlgorithm != CipherConfiguration().kdfAlgorithm
    }

    static let salt = Data((0xa0...0xaf).map { UInt8($0) })

    init(_ pragmas: [String], _ change: (inout CipherConfiguration) -> Void) {
        var configuration = CipherConfiguration()
        change(&configuration)
        self.configuration = configuration
        self.pragmas = pragmas.map { $0 + ";" }
    }

    static let all = [
        CipherSample(["cipher_page_size = 1024"]) { $0.pageSize = 1024 },
        CipherSample(["cipher_page_size = 8192"]) { $0.pageSize = 8192 },
        CipherSample(["cipher_page_size = 65536"]) { $0.pageSize = 65536 },
        CipherSample(["cipher_hmac_algorithm = HMAC_SHA1"]) { $0.hmacAlgorithm = .sha1 },
        CipherSample(["cipher_hmac_algorithm = HMAC_SHA256"]) { $0.hmacAlgorithm = .sha256 },
        CipherSample(["cipher_kdf_algorithm = PBKDF2_HMAC_SHA1"]) {
            $0.kdfAlgorithm = .pbkdf2HMACSHA1
        },
        CipherSample(["cipher_kdf_algorithm = PBKDF2_HMAC_SHA256"]) {
            $0.kdfAlgorithm = .pbkdf2HMACSHA256
        },
        CipherSample(["kdf_iter = 1"]) { $0.kdfIterations = 1 },
        CipherSample(["kdf_iter = 300001"]) { $0.kdfIterations = 300_001 },
        CipherSample([
            "cipher_plaintext_header_size = 32", "cipher_salt = \"x'\(salt.hex)'\"",
        ]) {
            $0.plaintextHeaderSize = 32
            $0.salt = salt
        },
        CipherSample([
            "cipher_page_size = 8192", "cipher_hmac_algorithm = HMAC_SHA256",
            "cipher_kdf_algorithm = PBKDF2_HMAC_SHA256", "kdf_iter = 1000",
            "cipher_plaintext_header_size = 16", "cipher_salt = \"x'\(salt.hex)'\"",
        ]) {
            $0.pageSize = 8192
            $0.hmacAlgorithm = .sha256
            $0.kdfAlgorithm = .pbkdf2HMACSHA256
            $0.kdfIterations = 1000
            $0.plaintextHeaderSize = 16
            $0.salt = salt
        },
    ]
}

extension String {
    /// `x'AB'` for `x'ab'`.
    fileprivate var uppercasedDigits: String { "x" + uppercased().dropFirst() }
}
