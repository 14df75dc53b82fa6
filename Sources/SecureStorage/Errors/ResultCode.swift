/// A SQLite [result code](https://sqlite.org/rescode.html), primary or extended.
struct ResultCode: RawRepresentable, Equatable, Sendable {
    let rawValue: Int32

    static let error = ResultCode(rawValue: 1)
    static let busy = ResultCode(rawValue: 5)
    static let ioError = ResultCode(rawValue: 10)
    static let cannotOpen = ResultCode(rawValue: 14)
    static let corrupt = ResultCode(rawValue: 11)
    static let interrupted = ResultCode(rawValue: 9)
    static let misuse = ResultCode(rawValue: 21)
    static let mismatch = ResultCode(rawValue: 20)
    static let notADatabase = ResultCode(rawValue: 26)
    static let foreignKey = ResultCode(rawValue: 787)
    static let full = ResultCode(rawValue: 13)
    static let notAuthorized = ResultCode(rawValue: 23)
    static let busySnapshot = ResultCode(rawValue: 517)
    static let range = ResultCode(rawValue: 25)
    static let outOfMemory = ResultCode(rawValue: 7)
    static let readOnly = ResultCode(rawValue: 8)
    static let schema = ResultCode(rawValue: 17)
    static let tooBig = ResultCode(rawValue: 18)

    /// The code without its extension: 2067 (a UNIQUE constraint) is 19 (a constraint).
    var primary: ResultCode { ResultCode(rawValue: rawValue & 0xff) }

    /// The name in SQLite's header, for the codes that a user of the library meets.
    var name: String? { Self.names[rawValue] }

    private static let names: [Int32: String] = [
        1: "SQLITE_ERROR", 3: "SQLITE_PERM", 4: "SQLITE_ABORT",
        5: "SQLITE_BUSY", 6: "SQLITE_LOCKED", 7: "SQLITE_NOMEM",
        8: "SQLITE_READONLY", 9: "SQLITE_INTERRUPT",
        10: "SQLITE_IOERR", 11: "SQLITE_CORRUPT", 13: "SQLITE_FULL",
        14: "SQLITE_CANTOPEN", 19: "SQLITE_CONSTRAINT",
        20: "SQLITE_MISMATCH", 21: "SQLITE_MISUSE",
        23: "SQLITE_AUTH", 25: "SQLITE_RANGE", 26: "SQLITE_NOTADB",
        18: "SQLITE_TOOBIG", 17: "SQLITE_SCHEMA",
        // Extended codes.
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
        if self == .busySnapshot {
            return
                "another connection has written since this transaction began to read; roll it back "
                + "and begin again"
        }
        return switch primary {
        case .busy: "another connection holds the lock; wait longer or try again"
        case .readOnly: "the store or its file is read-only"
        case .full: "the disk is full; nothing of this statement was stored"
        case .notAuthorized:
            "the store does this itself; see open(with:), changeEncryptionKey(with:) and "
                + "SecureDatabaseConfiguration"
        case .cannotOpen: "the file or one of its side files cannot be opened"
        default: nil
        }
    }
}
