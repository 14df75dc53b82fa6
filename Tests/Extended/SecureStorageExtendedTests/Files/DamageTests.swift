import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// A changed byte is detected before it is read as data.
struct DamageTests {
    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    /// Flips bytes in tree pages and in overflow pages.
    ///
    /// SQLCipher 4.6.1 reads a damaged overflow page as zeros and reports the damage only with the
    /// next page. Flips every byte with `SECURESTORAGE_FLIP_STEP=1`, by default every 97th, each
    /// time a different bit.
    @Test func `every flipped byte is an error`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
        // One row fits in a page, the other continues in three overflow pages.
        try db.executeUpdate("INSERT INTO t (x) VALUES (randomblob(3000)), (randomblob(11000))")
        let rows = try db.strings("SELECT hex(x) FROM t ORDER BY id")
        db.close()
        let whole = try Data(contentsOf: database.url)
        try require(whole.count == 6 * 4096)
        let descriptor = open(database.path, O_RDWR)
        defer { close(descriptor) }

        var outcomes: [SecureStorageError.Kind: Int] = [:]
        var unnoticed: [Int] = []
        var wrong: [Int] = []
        let step = environmentNumber("SECURESTORAGE_FLIP_STEP", default: 97)
        for (round, offset) in stride(from: 0, to: whole.count, by: step).enumerated() {
            var byte = whole[offset] ^ (1 << (round % 8))
            try require(pwrite(descriptor, &byte, 1, off_t(offset)) == 1)

            let store = database.store { $0.journalMode = .delete }
            var found: [String?] = []
            let error = storageError {
                try store.open(with: TemporaryDatabase.key)
                found = []
                for id in 1...2 {
                    let sql = "SELECT hex(x) FROM t WHERE id = \(id)"
                    found += try store.strings(sql)
                }
            }
            store.close()

            if let error {
                outcomes[error.kind, default: 0] += 1
                check(error.code, equals: 11, "byte \(offset): \(error)")
            } else {
                unnoticed.append(offset)
                if found != rows { wrong.append(offset) }
            }
            byte = whole[offset]
            try require(pwrite(descriptor, &byte, 1, off_t(offset)) == 1)
        }

        check(wrong.isEmpty, "wrong data from damaged pages")
        check(unnoticed.isEmpty)
        let firstPage = (4096 + step - 1) / step
        check(outcomes[.openFailed], equals: firstPage, "\(outcomes)")
        try check(Data(contentsOf: database.url), equals: whole)
        try check(
            database.openStore { $0.journalMode = .delete }
                .strings("SELECT hex(x) FROM t ORDER BY id"), equals: rows)
    }

    /// A condition on a damaged value is an error, neither true nor false.
    @Test func `a search that hits a damaged page does not return an empty result`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
        try db.executeUpdate("INSERT INTO t (x) VALUES (zeroblob(5999) || x'01')")
        db.close()
        var file = try Data(contentsOf: database.url)
        // The last overflow page.
        file[file.count - 4000] ^= 1
        try file.write(to: database.url)

        try db.open(with: TemporaryDatabase.key)
        // Alone, and in a transaction, where the engine would remember the failure.
        let modes = [("", ""), ("BEGIN; ", "; COMMIT")]
        let statements = [
            "SELECT id FROM t WHERE hex(x) LIKE '%01'", "SELECT id FROM t WHERE hex(x) LIKE '%02'",
            "SELECT count(*) FROM t WHERE hex(x) LIKE '%01'", "SELECT hex(x) FROM t",
            "UPDATE t SET x = x || x'02'", "INSERT INTO t (x) SELECT x FROM t",
            "CREATE TABLE copy AS SELECT * FROM t", "CREATE INDEX i ON t (x)",
        ]
        for sql in statements {
            for (before, after) in modes {
                let error = storageError { try db.executeStatements(before + sql + after) }
                check(
                    error?.code, equals: 11, "\(before)\(sql): \(error?.description ?? "no error")")
                if try db.isInTransaction() { try db.rollback() }
            }
            guard sql.hasPrefix("SELECT") else { continue }
            check(storageError { _ = try db.strings(sql) }?.code, equals: 11, "\(sql)")
        }
        // Queries that need no damaged page still work, unless the engine reads nothing more after
        // one (SQLCipher 4.9).
        let after = storageError {
            let count = try db.int("SELECT count(*) FROM t")
            check(count, equals: 1)
        }
        check([nil, 11].contains(after?.code), "\(after?.description ?? "")")
        try check(db.strings("PRAGMA cipher_integrity_check").count >= 1)
    }

    /// Concurrent activity must not make a result set report damage.
    @Test(arguments: SecureDatabaseConfiguration.JournalMode.allCases)
    func `a sound file is never reported as damaged`(
        _ mode: SecureDatabaseConfiguration.JournalMode
    ) throws {
        // With this cache size nearly every step reads pages from the file.
        let db = try database.openStore {
            $0.journalMode = mode
            $0.cacheSize = 8192
            $0.busyTimeout = .zero
        }
        try db.executeStatements(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
            INSERT INTO t (x) SELECT randomblob(6000) FROM n;
            CREATE TABLE log (id INTEGER PRIMARY KEY, x);
            """)
        let other = try database.openStore {
            $0.journalMode = mode
            $0.busyTimeout = .zero
        }
        let work: [(String, () throws -> Void)] = [
            ("an update", { try db.executeUpdate("INSERT INTO log (x) VALUES (zeroblob(5000))") }),
            ("a batch", { try db.executeStatements("BEGIN; UPDATE log SET x = 1; COMMIT") }),
            ("RETURNING to its end", { _ = try db.strings("UPDATE log SET x = 2 RETURNING id") }),
            (
                "RETURNING, closed on a row",
                {
                    let rs = try db.executeQuery(
                        "INSERT INTO log (x) VALUES (randomblob(5000)), (1) RETURNING id")
                    try check(rs.next())
                    rs.close()
                }
            ),
            (
                "a query, closed on a row",
                { _ = try db.executeQuery("SELECT x FROM t ORDER BY id DESC").next() }
            ),
            (
                "a savepoint",
                { try db.executeStatements("SAVEPOINT s; DELETE FROM log; RELEASE s") }
            ),
            (
                "a savepoint rolled back",
                {
                    try db.executeStatements(
                        "SAVEPOINT s; INSERT INTO log (x) VALUES (zeroblob(9000)); "
                            + "ROLLBACK TO s; RELEASE s")
                }
            ),
            (
                "a failing statement",
                { _ = storageError { try db.executeUpdate("DELETE FROM no") } }
            ),
            (
                "a failing constraint",
                {
                    _ = storageError {
                        try db.executeUpdate("INSERT INTO t SELECT id, x FROM t WHERE id > 30")
                    }
                }
            ),
            ("a schema change", { try db.executeStatements("CREATE TABLE u (x); DROP TABLE u") }),
            ("a checkpoint", { try db.checkpoint(.truncate) }),
            (
                "another store",
                { try other.executeUpdate("INSERT INTO log (x) VALUES (3)") }
            ),
        ]
        let queries = [
            // All rows; one row, with further pages after it; no rows.
            ("SELECT id, x FROM t", 60), ("SELECT id FROM t WHERE id = 1 OR hex(x) = 'no'", 1),
            ("SELECT id FROM t WHERE hex(x) = 'no'", 0), ("SELECT id FROM t ORDER BY hex(x)", 60),
        ]
        for (name, body) in work {
            for (sql, count) in queries {
                for pause in [0, 1, count] {
                    let rs = try db.executeQuery(sql)
                    var rows = 0
                    // Some of the work is refused while a result set is open, which is fine.
                    if pause == 0 { _ = storageError(body) }
                    do {
                        while try rs.next() {
                            rows += 1
                            if rows == pause { _ = storageError(body) }
                        }
                    } catch {
                        Issue.record("\(name) at row \(pause) of \(sql): \(error)")
                        continue
                    }
                    check(rows, equals: count, "\(name) at row \(pause) of \(sql)")
                }
            }
        }
    }

    /// SQLite ignores a log from the first frame with a wrong checksum: a changed byte undoes whole
    /// commits and never shows wrong data.
    @Test func `a flipped byte in the log undoes whole transactions or is an error`() throws {
        let db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
        for number in 1...5 {
            try db.executeUpdate("INSERT INTO t (x) VALUES (?)", values: ["row \(number)"])
        }
        let files = try ["", "-wal"].map {
            try Data(contentsOf: URL(fileURLWithPath: database.path + $0))
        }
        db.close()
        let log = files[1]
        check(log.count > 5 * 4096)

        let step = environmentNumber("SECURESTORAGE_FLIP_STEP", default: 43) * 7
        for (round, offset) in stride(from: 0, to: log.count, by: step).enumerated() {
            let copy = try TemporaryDatabase()
            var changed = log
            changed[offset] ^= 1 << (round % 8)
            try files[0].write(to: copy.url)
            try changed.write(to: URL(fileURLWithPath: copy.path + "-wal"))

            let store = copy.store()
            let error = storageError {
                try store.open(with: TemporaryDatabase.key)
                guard try store.int("SELECT count(*) FROM sqlite_schema") == 1 else { return }
                let rows = try store.strings("SELECT x FROM t ORDER BY id")
                check(rows, equals: (0..<rows.count).map { "row \($0 + 1)" }, "byte \(offset)")
                check(rows.count < 5 || offset < 4096, "byte \(offset) was not noticed")
            }
            if let error {
                check(
                    error.kind == .authenticationFailed || error.code == 11,
                    "byte \(offset): \(error)")
            }
        }
    }
}
