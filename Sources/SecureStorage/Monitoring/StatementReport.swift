/// One run of a statement: what it was, how long it took, what it did, and never a value.
///
/// ``SecureDatabaseConfiguration/statementObserver`` receives one for each run of a statement, the
/// library's own `BEGIN`, `COMMIT` and `ROLLBACK` included: the time of a `COMMIT` is mostly the
/// disk's.
public struct StatementReport: Sendable {
    /// The statement as it was prepared, without literals and comments.
    ///
    /// Each literal is replaced by `?`, as are the arguments of PRAGMA and of ATTACH and the names
    /// of savepoints, and blanks are reduced to one. Placeholders stay as they are: equal
    /// statements with different values have equal texts. At most 4 KiB; a longer text ends with
    /// `…`.
    public let sql: String

    /// The number of rows that it returned.
    public let rowCount: Int

    /// The number of rows that it inserted, updated or deleted, those of triggers and of foreign
    /// keys included.
    public let changedRowCount: Int

    /// The number of pages that it read from the file or its log, and so decrypted.
    ///
    /// Pages in the connection's cache do not count.
    public let pagesRead: Int

    /// The number of pages that it encrypted and wrote to the file or its log; 0 for a query.
    ///
    /// In a transaction, most pages are written by its `COMMIT`.
    public let pagesWritten: Int

    /// The error's extended code; nil if the statement succeeded or was not run to its end.
    public let failure: SQLiteResultCode?

    let nanoseconds: Int64
    private let turnNanoseconds: Int64
    private let lockNanoseconds: Int64

    init(
        sql: String, nanoseconds: Int64, turnNanoseconds: Int64, lockNanoseconds: Int64,
        rowCount: Int, changedRowCount: Int, pagesRead: Int, pagesWritten: Int,
        failure: SQLiteResultCode?
    ) {
        self.sql = sql
        self.nanoseconds = nanoseconds
        self.turnNanoseconds = turnNanoseconds
        self.lockNanoseconds = lockNanoseconds
        self.rowCount = rowCount
        self.changedRowCount = changedRowCount
        self.pagesRead = pagesRead
        self.pagesWritten = pagesWritten
        self.failure = failure
    }

    /// The time from the first step of the statement to its end, ``lockWait`` included.
    ///
    /// For a query this includes what the caller does between two rows. The preparation, which a
    /// cached statement does not need, is not included.
    public var duration: Duration { .nanoseconds(nanoseconds) }

    /// The time that the call of the queue or pool waited for its turn, or for a reader.
    ///
    /// The first statement of the call has it, and the others have zero.
    public var turnWait: Duration { .nanoseconds(turnNanoseconds) }

    /// The time that the statement waited for locks of other connections.
    ///
    /// Zero after `PRAGMA busy_timeout`, which replaces the wait that is measured.
    public var lockWait: Duration { .nanoseconds(lockNanoseconds) }

    /// The statement's first word in capitals, such as `SELECT`; empty if it has none.
    public var operation: String {
        sql.prefix { $0.isASCII && $0.isLetter }.uppercased()
    }
}

extension StatementReport: CustomStringConvertible {
    /// One line: the duration, the counts, the code of a failure, and the text without literals.
    public var description: String {
        var parts = ["\(Self.milliseconds(nanoseconds)) ms"]
        if turnNanoseconds > 0 { parts.append("turn \(Self.milliseconds(turnNanoseconds)) ms") }
        if lockNanoseconds > 0 { parts.append("lock \(Self.milliseconds(lockNanoseconds)) ms") }
        if rowCount > 0 { parts.append("rows \(rowCount)") }
        if changedRowCount > 0 { parts.append("changed \(changedRowCount)") }
        if pagesRead > 0 { parts.append("read \(pagesRead)") }
        if pagesWritten > 0 { parts.append("written \(pagesWritten)") }
        if let failure { parts.append("failed (\(failure.rawValue))") }
        return parts.joined(separator: ", ") + ": " + sql
    }

    /// Returns milliseconds with three decimals.
    static func milliseconds(_ nanoseconds: Int64) -> String {
        let microseconds = (nanoseconds + 500) / 1000
        let fraction = String(1000 + microseconds % 1000).dropFirst()
        return "\(microseconds / 1000).\(fraction)"
    }
}
