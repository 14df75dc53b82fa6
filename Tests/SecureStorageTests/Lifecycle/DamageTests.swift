import Foundation
import SecureStorage
import Testing

/// A changed byte is found before it is read as data.
@Suite(.timeLimit(.minutes(10))) struct DamageTests {
    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    /// In tree pages and in overflow pages, which SQLCipher (4.6.1) reads as zeros when it finds them
    /// damaged, and reports with the next page only.
    ///
    /// Every byte with `SECURESTORAGE_FLIP_STEP=1`; every 7th usually, each with another bit.
    @Test func `every flipped byte is an error`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
        // A row within a page, and one that goes on in three overflow pages.
        try db.executeUpdate("INSERT INTO t (x) VALUES (randomblob(3000)), (randomblob(11000))")
        let rows = try db.strings("SELECT hex(x) FROM t ORDER BY id")
        db.close()
        let whole = try Data(contentsOf: database.url)
        try #require(whole.count == 6 * 4096)
        let descriptor = open(database.path, O_RDWR)
        defer { close(descriptor) }

        var outcomes: [SecureStorageError.Kind: Int] = [:]
        var unnoticed: [Int] = []
        var wrong: [Int] = []
        let step = environmentNumber("SECURESTORAGE_FLIP_STEP", default: 7)
        for (round, offset) in stride(from: 0, to: whole.count, by: step).enumerated() {
            var byte = whole[offset] ^ (1 << (round % 8))
            try #require(pwrite(descriptor, &byte, 1, off_t(offset)) == 1)

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
                // A damaged first page cannot be told from a wrong key.
                #expect(
                    error.kind == .authenticationFailed || error.code == 11,
                    "byte \(offset): \(error)")
            } else {
                unnoticed.append(offset)
                if found != rows { wrong.append(offset) }
            }
            byte = whole[offset]
            try #require(pwrite(descriptor, &byte, 1, off_t(offset)) == 1)
        }

        #expect(wrong.isEmpty, "wrong data from damaged pages")
        #expect(unnoticed.isEmpty)
        let firstPage = (4096 + step - 1) / step
        #expect(outcomes[.authenticationFailed] == firstPage, "\(outcomes)")
        #expect(try Data(contentsOf: database.url) == whole)
        #expect(
            try database.openStore { $0.journalMode = .delete }
                .strings("SELECT hex(x) FROM t ORDER BY id") == rows)
    }

    /// A condition on a damaged value is neither true nor false.
    @Test func `a search that meets a damaged page does not come back empty`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
        try db.executeUpdate("INSERT INTO t (x) VALUES (zeroblob(5999) || x'01')")
        db.close()
        var file = try Data(contentsOf: database.url)
        // The last overflow page.
        file[file.count - 4000] ^= 1
        try file.write(to: database.url)

        try db.open(with: TemporaryDatabase.key)
        for sql in [
            "SELECT id FROM t WHERE hex(x) LIKE '%01'", "SELECT id FROM t WHERE hex(x) LIKE '%02'",
            "SELECT count(*) FROM t WHERE hex(x) LIKE '%01'", "SELECT hex(x) FROM t",
            "UPDATE t SET x = x || x'02'", "INSERT INTO t (x) SELECT x FROM t",
            "CREATE TABLE copy AS SELECT * FROM t", "CREATE INDEX i ON t (x)",
        ] {
            let error = storageError { try db.executeStatements(sql) }
            #expect(error?.code == 11, "\(sql): \(error?.description ?? "no error")")
            #expect(try !db.isInTransaction())
        }
        // What needs no damaged page goes on.
        #expect(try db.int("SELECT count(*) FROM t") == 1)
        #expect(try db.strings("PRAGMA cipher_integrity_check").count >= 1)
    }

    /// A log's frames have a checksum, behind whose first mismatch SQLite sees no log: a changed byte
    /// takes back commits, all of each, and never shows wrong data.
    @Test func `a flipped byte in the log takes back whole transactions or is an error`() throws {
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
        #expect(log.count > 5 * 4096)

        let step = environmentNumber("SECURESTORAGE_FLIP_STEP", default: 7) * 7
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
                #expect(rows == (0..<rows.count).map { "row \($0 + 1)" }, "byte \(offset)")
                #expect(rows.count < 5 || offset < 4096, "byte \(offset) was not noticed")
            }
            if let error {
                #expect(
                    error.kind == .authenticationFailed || error.code == 11,
                    "byte \(offset): \(error)")
            }
        }
    }
}
