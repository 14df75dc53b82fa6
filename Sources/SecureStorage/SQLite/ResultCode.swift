internal import CSQLCipher

/// A SQLite [result code](https://sqlite.org/rescode.html), primary or extended.
struct ResultCode: RawRepresentable, Equatable, Sendable {
    let rawValue: Int32

    static let ok = ResultCode(rawValue: SQLITE_OK)
    static let error = ResultCode(rawValue: SQLITE_ERROR)
    static let busy = ResultCode(rawValue: SQLITE_BUSY)
    static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
    static let misuse = ResultCode(rawValue: SQLITE_MISUSE)
    static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)
    static let permission = ResultCode(rawValue: SQLITE_PERM)
    static let range = ResultCode(rawValue: SQLITE_RANGE)
    static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
    static let tooBig = ResultCode(rawValue: SQLITE_TOOBIG)

    /// The code without its extension: 2067 (a UNIQUE constraint) is 19 (a constraint).
    var primary: ResultCode { ResultCode(rawValue: rawValue & 0xff) }

    /// The name in SQLite's header, for the codes that a user of the library meets.
    var name: String? { Self.names[rawValue] }

    private static let names: [Int32: String] = [
        SQLITE_ERROR: "SQLITE_ERROR", SQLITE_PERM: "SQLITE_PERM", SQLITE_ABORT: "SQLITE_ABORT",
        SQLITE_BUSY: "SQLITE_BUSY", SQLITE_LOCKED: "SQLITE_LOCKED", SQLITE_NOMEM: "SQLITE_NOMEM",
        SQLITE_READONLY: "SQLITE_READONLY", SQLITE_INTERRUPT: "SQLITE_INTERRUPT",
        SQLITE_IOERR: "SQLITE_IOERR", SQLITE_CORRUPT: "SQLITE_CORRUPT", SQLITE_FULL: "SQLITE_FULL",
        SQLITE_CANTOPEN: "SQLITE_CANTOPEN", SQLITE_CONSTRAINT: "SQLITE_CONSTRAINT",
        SQLITE_MISMATCH: "SQLITE_MISMATCH", SQLITE_MISUSE: "SQLITE_MISUSE",
        SQLITE_AUTH: "SQLITE_AUTH", SQLITE_RANGE: "SQLITE_RANGE", SQLITE_NOTADB: "SQLITE_NOTADB",
        SQLITE_TOOBIG: "SQLITE_TOOBIG", SQLITE_SCHEMA: "SQLITE_SCHEMA",
        // Extended codes are macros with an operator in them, which Swift does not import.
        261: "SQLITE_BUSY_RECOVERY", 517: "SQLITE_BUSY_SNAPSHOT", 516: "SQLITE_ABORT_ROLLBACK",
        264: "SQLITE_READONLY_RECOVERY", 1032: "SQLITE_READONLY_DBMOVED",
        1544: "SQLITE_READONLY_DIRECTORY", 266: "SQLITE_IOERR_READ",
        522: "SQLITE_IOERR_SHORT_READ", 778: "SQLITE_IOERR_WRITE", 1034: "SQLITE_IOERR_FSYNC",
        275: "SQLITE_CONSTRAINT_CHECK", 787: "SQLITE_CONSTRAINT_FOREIGNKEY",
        1299: "SQLITE_CONSTRAINT_NOTNULL", 1555: "SQLITE_CONSTRAINT_PRIMARYKEY",
        1811: "SQLITE_CONSTRAINT_TRIGGER", 2067: "SQLITE_CONSTRAINT_UNIQUE",
        2579: "SQLITE_CONSTRAINT_ROWID", 3091: "SQLITE_CONSTRAINT_DATATYPE",
    ]

    /// What a user can do about it, where SQLite's own message does not say.
    var hint: String? {
        switch primary.rawValue {
        case SQLITE_BUSY: "another connection holds the lock; wait longer or try again"
        case SQLITE_READONLY: "the store or its file is read-only"
        case SQLITE_FULL: "the disk is full; nothing of this statement was stored"
        case SQLITE_CANTOPEN: "the file or one of its side files cannot be opened"
        default: nil
        }
    }
}

extension SecureStorageError {
    /// The error for a statement that failed with `code`.
    ///
    /// `sql` is shown, unless it may spell out a key; then SQLite's message may too.
    static func statementFailed(
        _ code: ResultCode, _ reason: String, in sql: String? = nil
    ) -> SecureStorageError {
        var message = reason
        if let sql {
            message =
                SQLText.holdsKey(sql) ? "a statement with a key failed" : "\(reason); in: \(sql)"
        }
        if let name = code.name { message += " [\(name)]" }
        return .backingStoreError(code: Int(code.primary.rawValue), message: message)
    }

    /// The error for what SQLite itself reports, with a hint where its message has none.
    static func engineFailed(
        _ code: ResultCode, _ message: String, in sql: String? = nil
    ) -> SecureStorageError {
        // SQLCipher says no more when the HMAC of a page fails; SQLite itself gives a reason for 1.
        if code == .error, message == "SQL logic error" {
            return statementFailed(
                .corrupt, "the file is damaged: a page is not as it was written", in: sql)
        }
        return statementFailed(code, code.hint.map { "\(message); \($0)" } ?? message, in: sql)
    }
}
