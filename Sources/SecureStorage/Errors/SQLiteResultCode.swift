/// A [result code](https://sqlite.org/rescode.html) of SQLite, primary or extended.
///
/// ```swift
/// do {
///     try db.executeUpdate("INSERT INTO account (name) VALUES (?)", name)
/// } catch let error as SecureStorageError where error.resultCode == .constraintUnique {
///     print("there is an account of this name already")
/// }
/// ```
///
/// An error's `code` is the primary one; ``SecureStorageError/resultCode`` has the extended one.
public struct SQLiteResultCode: RawRepresentable, Hashable, Sendable {
    /// The number in SQLite's header.
    public let rawValue: Int

    /// Creates a code from a number, whether or not SQLite defines it.
    ///
    /// - Parameter rawValue: The number in SQLite's header.
    public init(rawValue: Int) { self.rawValue = rawValue }

    init(_ code: Int32) { rawValue = Int(code) }

    /// The code without its extension: 19 (a constraint) for 2067 (a UNIQUE constraint).
    public var primary: SQLiteResultCode { SQLiteResultCode(rawValue: rawValue & 0xff) }

    // MARK: - Primary codes

    /// 1: the SQL cannot be parsed, or a statement failed for a reason without a specific code.
    public static let error = SQLiteResultCode(rawValue: 1)
    /// 3: the requested access mode is not available.
    public static let permission = SQLiteResultCode(rawValue: 3)
    /// 4: a callback or a rollback ended the statement.
    public static let abort = SQLiteResultCode(rawValue: 4)
    /// 5: another connection holds a lock.
    public static let busy = SQLiteResultCode(rawValue: 5)
    /// 6: this connection itself holds the lock, or blocks wait for each other in a cycle.
    public static let locked = SQLiteResultCode(rawValue: 6)
    /// 7: there is not enough memory.
    public static let noMemory = SQLiteResultCode(rawValue: 7)
    /// 8: the store or its file is read-only.
    public static let readOnly = SQLiteResultCode(rawValue: 8)
    /// 9: the statement was interrupted; ``SecureStorageError/interruption`` gives the reason.
    public static let interrupted = SQLiteResultCode(rawValue: 9)
    /// 10: the system reported a failed read or write.
    public static let ioError = SQLiteResultCode(rawValue: 10)
    /// 11: the file is damaged.
    public static let corrupt = SQLiteResultCode(rawValue: 11)
    /// 12: a named object does not exist.
    public static let notFound = SQLiteResultCode(rawValue: 12)
    /// 13: the disk is full.
    public static let full = SQLiteResultCode(rawValue: 13)
    /// 14: the file cannot be opened.
    public static let cannotOpen = SQLiteResultCode(rawValue: 14)
    /// 15: the locks of a write-ahead log cannot be acquired.
    public static let lockProtocol = SQLiteResultCode(rawValue: 15)
    /// 17: the schema has changed.
    public static let schema = SQLiteResultCode(rawValue: 17)
    /// 18: a text, a blob or a row is longer than the limit.
    public static let tooBig = SQLiteResultCode(rawValue: 18)
    /// 19: a constraint is violated; the extended codes give its kind.
    public static let constraint = SQLiteResultCode(rawValue: 19)
    /// 20: a value has the wrong type.
    public static let mismatch = SQLiteResultCode(rawValue: 20)
    /// 21: the call is not allowed here.
    public static let misuse = SQLiteResultCode(rawValue: 21)
    /// 23: the store does not allow the statement.
    public static let notAuthorized = SQLiteResultCode(rawValue: 23)
    /// 25: the number or the names of the values do not match the placeholders.
    public static let range = SQLiteResultCode(rawValue: 25)
    /// 26: the file is not a database, or the key is not its key.
    public static let notADatabase = SQLiteResultCode(rawValue: 26)

    // MARK: - Constraints

    /// 275: a CHECK constraint.
    public static let constraintCheck = SQLiteResultCode(rawValue: 275)
    /// 787: a foreign key.
    public static let constraintForeignKey = SQLiteResultCode(rawValue: 787)
    /// 1043: a constraint reported by a function.
    public static let constraintFunction = SQLiteResultCode(rawValue: 1043)
    /// 1299: a NOT NULL constraint.
    public static let constraintNotNull = SQLiteResultCode(rawValue: 1299)
    /// 1555: a primary key that already exists.
    public static let constraintPrimaryKey = SQLiteResultCode(rawValue: 1555)
    /// 1811: a RAISE in a trigger.
    public static let constraintTrigger = SQLiteResultCode(rawValue: 1811)
    /// 2067: a UNIQUE constraint or index.
    public static let constraintUnique = SQLiteResultCode(rawValue: 2067)
    /// 2323: a constraint of a virtual table.
    public static let constraintVirtualTable = SQLiteResultCode(rawValue: 2323)
    /// 2579: a row id that already exists.
    public static let constraintRowID = SQLiteResultCode(rawValue: 2579)
    /// 3091: the type of a column of a STRICT table.
    public static let constraintDatatype = SQLiteResultCode(rawValue: 3091)

    // MARK: - Other extended codes

    /// 261: another process is recovering from a crash.
    public static let busyRecovery = SQLiteResultCode(rawValue: 261)
    /// 516: a rollback ended the statement.
    public static let abortRollback = SQLiteResultCode(rawValue: 516)
    /// 517: another connection has written since this transaction began to read.
    public static let busySnapshot = SQLiteResultCode(rawValue: 517)
    /// 1032: the file was moved, renamed or removed while it was open.
    public static let readOnlyFileMoved = SQLiteResultCode(rawValue: 1032)
}

extension SQLiteResultCode: CustomStringConvertible {
    /// The name in SQLite's header, or the number if it has none.
    public var description: String { name ?? "code \(rawValue)" }
}

extension SQLiteResultCode {
    /// Advice for the user where SQLite's own message gives none.
    var hint: String? {
        if self == .busySnapshot {
            return
                "another connection has written since this transaction began reading; roll it back "
                + "and begin again"
        }
        return switch primary {
        case .busy: "another connection holds the lock; wait longer or try again"
        case .readOnly: "the store or its file is read-only"
        case .full: "the disk is full; nothing this statement wrote was stored"
        case .notAuthorized:
            "the store does this itself; see open(with:), changeEncryptionKey(with:) and "
                + "SecureDatabaseConfiguration"
        case .cannotOpen: "the file or one of its sidecar files cannot be opened"
        default: nil
        }
    }
}

/// The short name used within the library, where nearly every error needs it.
typealias ResultCode = SQLiteResultCode
