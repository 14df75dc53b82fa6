import Foundation
import Testing
import TestSupport

@testable import SecureStorage

struct SQLiteResultCodeTests {
    let db: SecureDatabaseStore
    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeStatements(
            """
            CREATE TABLE parent (id INTEGER PRIMARY KEY);
            CREATE TABLE t (
                id INTEGER PRIMARY KEY, u UNIQUE, n NOT NULL DEFAULT 1, c CHECK (c > 0),
                p REFERENCES parent);
            CREATE TABLE keyed (k PRIMARY KEY);
            CREATE TABLE strict (i INTEGER) STRICT;
            INSERT INTO t (id, u) VALUES (1, 'one');
            INSERT INTO keyed VALUES ('k');
            CREATE TRIGGER refused BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'never'); END;
            """)
    }

    @Test(arguments: [
        ("INSERT INTO t (u) VALUES ('one')", SQLiteResultCode.constraintUnique, 2067),
        ("INSERT INTO t (p) VALUES (7)", .constraintForeignKey, 787),
        ("INSERT INTO t (n) VALUES (NULL)", .constraintNotNull, 1299),
        ("INSERT INTO t (c) VALUES (0)", .constraintCheck, 275),
        ("INSERT INTO t (id) VALUES (1)", .constraintPrimaryKey, 1555),
        ("INSERT INTO keyed VALUES ('k')", .constraintPrimaryKey, 1555),
        ("INSERT INTO strict VALUES ('text')", .constraintDatatype, 3091),
        ("DELETE FROM t", .constraintTrigger, 1811),
    ])
    func `an error has SQLite's extended code as a value`(
        _ sql: String, _ code: SQLiteResultCode, _ number: Int
    ) throws {
        let error = storageError { try db.executeUpdate(sql) }
        check(error?.resultCode, equals: code)
        check(code.rawValue, equals: number)
        check(error?.resultCode?.primary, equals: .constraint)
        // The enum case holds the primary code, as patterns expect.
        guard case .backingStoreError(19, _) = error else {
            Issue.record("\(error as Any)")
            return
        }
        // Bound values make no difference.
        check(
            storageError { try db.executeUpdate("INSERT INTO t (u) VALUES (?)", "one") }?
                .resultCode, equals: .constraintUnique)
    }

    @Test func `an error without an extended code has the primary one, others have none`() throws {
        check(storageError { try db.executeUpdate("SELEKT") }?.resultCode, equals: .error)
        check(
            storageError { try db.executeUpdate("SELECT ?", values: []) }?.resultCode,
            equals: .range)
        let readOnly = try database.openStore { $0.isReadOnly = true }
        check(
            storageError { try readOnly.executeUpdate("DELETE FROM keyed") }?.resultCode?.primary,
            equals: .readOnly)
        let nowhere = SecureDatabaseStore(fullDatabasePath: database.path + "/nowhere/a.db")
        check(
            storageError { try nowhere.open(with: TemporaryDatabase.key) }?.resultCode,
            equals: .cannotOpen)
        for error in [SecureStorageError.closed, .suspended, .typeConversionFailed] {
            check(error.resultCode == nil)
        }
    }

    @Test func `an outdated snapshot is distinguished from another busy file`() throws {
        let other = try database.openStore { $0.busyTimeout = .zero }
        try db.beginDeferredTransaction()
        _ = try db.int("SELECT count(*) FROM t")
        try other.executeUpdate("INSERT INTO parent VALUES (1)")
        let error = storageError { try db.executeUpdate("INSERT INTO parent VALUES (2)") }
        check(error?.resultCode, equals: .busySnapshot)
        check(error?.isBusy, equals: true)
        try db.rollback()
        try db.beginExclusiveTransaction()
        let busy = storageError { try other.executeUpdate("INSERT INTO parent VALUES (2)") }
        check(busy?.resultCode, equals: .busy)
    }

    @Test func `each question about an error is answered by its own code only`() throws {
        let questions: [(name: String, ask: (SecureStorageError) -> Bool)] = [
            ("busy", \.isBusy), ("interrupted", \.isInterrupted), ("suspended", \.isSuspended),
            ("constraint", \.isConstraintViolation), ("full", \.isDiskFull),
            ("read-only", \.isReadOnly), ("corrupt", \.isCorrupt),
        ]
        func answers(_ error: SecureStorageError) -> [String] {
            questions.filter { $0.ask(error) }.map(\.name)
        }
        let codes = [
            5: "busy", 517: "busy", 9: "interrupted", 19: "constraint", 2067: "constraint",
            13: "full", 8: "read-only", 1544: "read-only", 11: "corrupt", 779: "corrupt",
        ]
        for (code, name) in codes {
            for error in [
                SecureStorageError.openFailed(code: code, message: ""),
                .encryptionKeyChangeFailed(code: code, message: ""),
                .encryptionKeyChangeUnknown(code: code, message: ""),
                .backingStoreError(code: code, message: ""),
            ] { check(answers(error), equals: [name], "\(error)") }
        }
        for code in [1, 7, 10, 14, 21, 26] {
            check(answers(.backingStoreError(code: code, message: "")), equals: [], "\(code)")
        }
        check(answers(.suspended), equals: ["suspended"])
        for error in [
            SecureStorageError.closed, .typeConversionFailed, .authenticationFailed(message: ""),
            .notEncrypted(message: ""), .legacyFormat(version: 3, message: ""),
        ] { check(answers(error), equals: [], "\(error)") }
        // As the engine reports them.
        let unique = storageError {
            try db.executeUpdate("INSERT INTO parent VALUES (7)")
            try db.executeUpdate("INSERT INTO parent VALUES (7)")
        }
        check(unique.map(answers), equals: ["constraint"])
    }

    @Test(arguments: [
        #"SELECT x AS "[SQLITE_CONSTRAINT_UNIQUE]""#, "SELECT [SQLITE_ERROR_SNAPSHOT]",
        "SELECT [SQLITE_BUSY: suspension]", "[", "]", "[]",
    ])
    func `text quoted in a message is not taken for the code`(_ sql: String) {
        let error = storageError { try db.executeUpdate(sql) }
        check(error?.resultCode, equals: .error)
        check(error?.interruption == nil)
    }

    @Test
    func `each code has its name in SQLite's header, which begins with its primary code's name`() {
        var count = 0
        for number in 1..<0x10000 {
            let code = SQLiteResultCode(rawValue: number)
            guard let name = code.name else {
                check(code.description, equals: "code \(number)")
                continue
            }
            count += 1
            check(name.hasPrefix(code.primary.name ?? "none"))
            check(ErrorTrailer(of: "m " + ErrorTrailer(code: code).text)?.code, equals: code)
        }
        check(count > 90)
        check(SQLiteResultCode.constraintUnique.description, equals: "SQLITE_CONSTRAINT_UNIQUE")
        check(SQLiteResultCode(rawValue: 25619).primary, equals: .constraint)
    }
}
