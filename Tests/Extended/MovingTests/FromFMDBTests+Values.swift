import Foundation
import SecureStorage
import TestSupport
import Testing

extension FromFMDBTests {
    @Test func `row V1: of a name that occurs twice, the first column counts`() throws {
        let rs = try db.executeQuery("SELECT 1 AS n, 2 AS n, 3 AS other")
        try check(rs.next())
        check(rs.int(forColumnName: "n"), equals: 1)
        check(rs.resultDictionary?["n"], equals: .integer(1))
    }

    @Test func `row V2: isNull of a missing column is an error`() throws {
        let rs = try db.executeQuery("SELECT NULL AS n")
        try check(rs.next())
        try check(rs.isNull(forColumnName: "n"))
        check(storageError { _ = try rs.isNull(forColumnName: "m") }?.resultCode, equals: .range)
        check(storageError { _ = try rs.isNull(forColumnIndex: 1) }?.resultCode, equals: .range)
    }

    @Test func `row V3: an empty blob is empty data and not NULL`() throws {
        try db.executeUpdate("UPDATE t SET a = ?", Data())
        let rs = try db.executeQuery("SELECT a, typeof(a) AS type FROM t")
        try check(rs.next())
        check(rs.data(forColumnName: "a"), equals: Data())
        try check(!rs.isNull(forColumnName: "a"))
        check(rs.string(forColumnName: "type"), equals: "blob")
    }

    @Test func `row V4: a UInt64 above Int64.max is an error, and nothing is stored`() throws {
        let number = UInt64(Int64.max) + 1
        check(
            storageError { try db.executeUpdate("UPDATE t SET a = ?", number) },
            equals: .typeConversionFailed)
        check(
            storageError { try db.executeUpdate("UPDATE t SET a = ?", values: [number] as [Any]) },
            equals: .typeConversionFailed)
        try check(db.int("SELECT a FROM t"), equals: 1)
        try db.executeUpdate("UPDATE t SET a = ?", UInt64(Int64.max))
        try check(db.int("SELECT a FROM t"), equals: Int(Int64.max))
    }

    @Test func `row V5: nil, NSNull and an empty optional are NULL`() throws {
        let values: [Any?] = [nil, NSNull(), nil as Int? as Any]
        for value in values {
            try db.executeUpdate("UPDATE t SET b = ?", values: [value])
            try check(db.strings("SELECT typeof(b) FROM t"), equals: ["null"])
            try db.executeUpdate("UPDATE t SET b = 'x'")
        }
    }

    @Test func `row V6: a value of an unknown type is an error with its type and position`() {
        let error = storageError {
            try db.executeUpdate(
                "INSERT INTO t VALUES (?, ?)", values: [1, IndexPath(index: 3)] as [Any])
        }
        check(error?.resultCode, equals: .mismatch)
        check(error?.description.contains("value 2 has type IndexPath"), equals: true)
    }

    @Test func `row V7: a surplus name is an error, unless the configuration allows it`() throws {
        let sql = "INSERT INTO t (a) VALUES (:a)"
        let values: [String: (any SQLiteDatatypeBridgeable)?] = ["a": 2, "more": 3]
        check(storageError { try db.executeUpdate(sql, parameterDictionary: values) } != nil)
        let tolerant = try database.openStore { $0.allowsSurplusNames = true }
        try tolerant.executeUpdate(sql, parameterDictionary: values)
        try check(db.int("SELECT count(*) FROM t"), equals: 2)
    }

    @Test func `row V8: one statement serves lists of any length`() throws {
        try db.executeStatements("INSERT INTO t VALUES (2, 'two'), (3, 'it''s')")
        let sql = "SELECT b FROM t WHERE b IN (SELECT value FROM json_each(?)) ORDER BY a"
        for list in [[], ["one"], ["it's", "one", "\"]"]] {
            let rs = try db.executeQuery(sql, values: [try JSONArray(list)])
            var found: [String] = []
            while try rs.next() { found.append(rs.string(forColumnIndex: 0) ?? "") }
            check(Set(found), equals: Set(list).subtracting(["\"]"]))
        }
    }

    @Test(.enabled(if: ChildProcess.find("sqlcipher") != nil))
    func `row V9: the bytes of setKeyWithData are a passphrase`() throws {
        // The shell's passphrase has the same bytes.
        let other = try TemporaryDatabase()
        _ = try ChildProcess(
            "sqlcipher", ["-batch", "-bail", other.path],
            input: Data("PRAGMA key = 'thirty-two bytes, not a raw key!'; CREATE TABLE t (a);".utf8)
        )
        let data = Data("thirty-two bytes, not a raw key!".utf8)
        check(data.count, equals: 32)
        let store = other.store()
        check(
            storageError { try store.open(with: data) }?.caseName, equals: "authenticationFailed")
        try store.open(with: .passphrase(SecretBytes(copying: data)))
        try check(store.tableExists("t"))
    }

    @Test func `row V10: a plain file is imported, and FMDB's recipe is an error`() throws {
        let plain = try TemporaryDatabase()
        try db.setUserVersion(7)
        try db.exportPlaintext(to: plain.url)
        check(
            storageError { try plain.store().open(with: "key") }?.caseName, equals: "notEncrypted")
        // FMDB's recipe begins with an open plain file, and an ATTACH that makes the encrypted one.
        let new = database.directory.appendingPathComponent("encrypted.db")
        check(
            storageError {
                try db.executeUpdate("ATTACH ? AS encrypted KEY ?", values: [new.path, "pass"])
            } != nil)
        check(!SecureDatabaseStore.exists(at: new))

        let rows = try SecureDatabaseStore.importPlaintext(
            from: plain.url, to: new, key: .passphrase("pass"))
        check(rows, equals: ["t": 1])
        let store = SecureDatabaseStore(url: new)
        try store.open(with: "pass")
        try check(store.strings("SELECT b FROM t"), equals: ["one"])
        try check(store.userVersion, equals: 7)
        try check(plain.fileNames(), equals: ["test.db"])
    }

    @Test(.enabled(if: ChildProcess.find("sqlcipher") != nil), arguments: 1...3)
    func `row V11: migrate converts files of SQLCipher 1 to 3`(_ version: Int) throws {
        let old = try TemporaryDatabase()
        _ = try ChildProcess(
            "sqlcipher", ["-batch", "-bail", old.path],
            input: Data(
                """
                PRAGMA key = 'pass'; PRAGMA cipher_compatibility = \(version);
                CREATE TABLE t (a); INSERT INTO t VALUES ('kept');
                """.utf8))
        let store = old.store()
        guard case .legacyFormat = storageError({ try store.open(with: "pass") }) else {
            Issue.record("the format was not recognised")
            return
        }
        let kept = try SecureDatabaseStore.migrate(at: old.url, key: .passphrase("pass"))
        check(kept?.lastPathComponent, equals: "test.db.old")
        try store.open(with: "pass")
        try check(store.strings("SELECT a FROM t"), equals: ["kept"])
    }

    @Test func `row V12: ATTACH takes an existing file and its key`() throws {
        let other = try TemporaryDatabase()
        let store = other.store()
        try store.open(with: "pass")
        try store.executeUpdate("CREATE TABLE u (a)")
        store.close()
        let error = storageError {
            try db.executeUpdate("ATTACH ? AS other", values: [other.path])
        }
        check(error?.description.contains("KEY"), equals: true, "\(error as Any)")
        try db.executeUpdate("ATTACH ? AS other KEY ?", values: [other.path, "pass"])
        try check(db.int("SELECT count(*) FROM other.u"), equals: 0)
        let missing = database.directory.appendingPathComponent("missing.db")
        check(
            storageError {
                try db.executeUpdate("ATTACH ? AS more KEY ?", values: [missing.path, "pass"])
            } != nil)
        check(!SecureDatabaseStore.exists(at: missing))
    }

    @Test func `row V13: a licence changes nothing, and the engine's log is not set by SQL`() throws
    {
        // The community edition does not know the pragma, and SQLite ignores such ones.
        try db.executeStatements("PRAGMA cipher_license = 'OmNpZDow'")
        try check(db.int("SELECT a FROM t"), equals: 1)
        for pragma in ["cipher_log = device", "cipher_log_level = DEBUG"] {
            let error = storageError { try db.executeStatements("PRAGMA \(pragma)") }
            check(error?.resultCode, equals: .notAuthorized)
        }
    }

    @Test func `row V14: a backup is made of a store, a queue and a pool`() throws {
        let url = database.directory.appendingPathComponent("copy.db")
        let key = DatabaseKey.raw(TemporaryDatabase.key)
        func verify() throws {
            let copy = SecureDatabaseStore(url: url)
            try copy.open(with: key)
            try check(copy.strings("SELECT b FROM t"), equals: ["one"])
            copy.close()
            try SecureDatabaseStore.remove(at: url)
        }
        try db.backup(to: url, key: key)
        try verify()
        try SecureDatabaseQueue(databaseStore: db).backup(to: url, key: key)
        try verify()
        db.close()
        try database.openPool().backup(to: url, key: key)
        try verify()
    }

    // MARK: - SQL that is refused

    static let refused: [(row: Int, sql: [String])] = [
        (
            1,
            [
                "key = 'x'", "rekey = 'x'", "cipher_page_size = 8192", "kdf_iter = 1",
                "cipher_migrate",
            ]
        ),
        (2, ["synchronous = OFF", "fullfsync = OFF", "checkpoint_fullfsync = OFF"]),
        (3, ["journal_mode = MEMORY", "journal_mode = OFF", "journal_mode = DELETE"]),
        (4, ["locking_mode = EXCLUSIVE"]),
        (5, ["wal_checkpoint", "wal_autocheckpoint = 100"]),
        (7, ["secure_delete = OFF", "secure_delete = FAST"]),
        (
            8,
            ["temp_store = FILE", "temp_store_directory = '/tmp'", "data_store_directory = '/tmp'"]
        ),
        (9, ["mmap_size = 1000000", "cell_size_check = OFF"]),
        (10, ["page_size = 8192"]),
        (11, ["trusted_schema = ON"]),
        (12, ["writable_schema = ON", "schema_version = 7"]),
        (13, ["hard_heap_limit = 1000", "soft_heap_limit = 1000", "lock_proxy_file = 'x'"]),
    ]

    @Test(arguments: refused.flatMap { $0.sql })
    func `rows R1 to R13: a pragma that would break a promise is refused`(_ pragma: String) throws {
        let error = storageError { try db.executeStatements("PRAGMA \(pragma)") }
        check(error?.resultCode, equals: .notAuthorized)
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }

    @Test func `row R6: with a kept log, its size is not limited`() throws {
        try db.executeStatements("PRAGMA journal_size_limit = 1000")
        db.close()
        let keeper = try database.openStore { $0.keepsWriteAheadLog = true }
        check(
            storageError { try keeper.executeStatements("PRAGMA journal_size_limit = 1000") }?
                .resultCode, equals: .notAuthorized)
    }

    @Test(arguments: [
        "VACUUM INTO 'copy.db'", "SELECT load_extension('x')", "SELECT fts3_tokenizer('x')",
    ])
    func `rows R14 and R15: VACUUM INTO and functions that load code are refused`(_ sql: String)
        throws
    {
        let error = storageError { try db.executeStatements(sql) }
        if try !engineLacks(sql) { check(error?.description.contains("is refused"), equals: true) }
        check(error != nil)
        check(!FileManager.default.fileExists(atPath: "copy.db"))
    }
}
