internal import CSQLCipher
internal import Foundation

/// The sole owner of a `sqlite3_stmt`: one statement, prepared once, run any number of times.
///
/// `Statement+Columns` reads the values of a row, `Statement+Binding` sets parameters, and
/// `Statement+Failures` maps a failed step to an error. Not thread-safe, like its connection.
final class Statement {
    let sql: String
    let identity: TextIdentity
    /// Unmanaged, but never used after the connection: the user of a statement holds the store,
    /// which closes its result sets before its connection.
    private let owner: Unmanaged<Connection>
    var connection: Connection { owner.takeUnretainedValue() }
    /// Valid until `finalize`; not used after the statement was given back.
    let handle: OpaquePointer
    /// Separate from the connection's, since the statement may be released after the connection.
    private let home = HomeProcess()
    let parameters: StatementParameters

    /// The columns of the current schema; see `refreshColumns`.
    @exclusivity(unchecked) private var columns = Columns()
    @exclusivity(unchecked) var hasBoundValues = false
    @exclusivity(unchecked) private var execution = Execution()
    let isQuery: Bool
    /// Non-nil for a statement that begins, keeps or ends a transaction or a savepoint when it
    /// runs.
    let control: TransactionControl?
    /// The facts noted while the connection is observed; see `ChangeRecorder`.
    private var facts: StatementFacts?
    private lazy var mayReplace = SQLText.mayReplace(sql)

    /// The present run, for the observer; see `Statement.monitoredStep`.
    @exclusivity(unchecked) var monitored = MonitoredRun()
    private(set) lazy var textWithoutLiterals = SQLText.withoutLiterals(sql)

    @exclusivity(unchecked) var use = Use()
    @exclusivity(unchecked) private var isFinalized = false

    /// Maintained by the cache, or by another owner that keeps the statement between its uses.
    struct Use {
        /// Whether it is kept, instead of finalised when it is given back.
        var isCached = false
        var isInUse = true
        /// When it was last requested.
        var last = 0
    }

    private struct Columns {
        var names = ColumnNames([])
        /// The number of names.
        var count = 0
        /// How often SQLite had prepared the statement again when the names were read.
        var reprepares: Int32 = -1
    }

    private struct Execution {
        /// Whether it has been stepped since it was last reset, and has reached its end.
        var hasBegun = false
        var hasEnded = false
        /// Whether SQLite is in its step, from where it may call functions of the caller.
        var isStepping = false
        var wasGivenBackInStep = false
    }

    /// Prepares `sql`, which must hold exactly one statement.
    ///
    /// - Throws: `.backingStoreError` with SQLite's message; code `.error` too for no statement,
    ///   more than one statement, or a NUL, after which SQLite would see nothing.
    convenience init(_ sql: String, on connection: Connection, persistent: Bool) throws {
        let (prepared, isAlone) = try Self.withTerminatedText(of: sql) { start, length in
            let (handle, consumed) = try Self.prepare(
                start, length: length, on: connection, persistent: persistent)
            return (handle, SQLText.holdsNoStatement(start + consumed))
        }
        guard let prepared else {
            throw SecureStorageError.statementFailed(.error, "the text contains no SQL statement")
        }
        guard isAlone else {
            sqlite3_finalize(prepared)
            throw SecureStorageError.statementFailed(
                .error,
                "unexpected text after the first statement; use executeStatements for a batch")
        }
        self.init(handle: prepared, sql: sql, on: connection)
    }

    /// Takes ownership of a handle that was prepared from `sql`.
    init(handle: OpaquePointer, sql: String, on connection: Connection) {
        self.handle = handle
        self.sql = sql
        identity = TextIdentity(sql)
        owner = .passUnretained(connection)
        parameters = StatementParameters(of: handle)
        isQuery = sqlite3_stmt_readonly(handle) != 0 && sqlite3_column_count(handle) > 0
        control = sqlite3_stmt_isexplain(handle) == 0 ? connection.authorizer.preparedControl : nil
        facts = connection.recorder?.preparation.last
    }

    deinit { finalize() }

    /// Frees the handle: not left to deinit alone, since any thread may release the last reference.
    func finalize() {
        guard !isFinalized, home.isCurrent else { return }
        isFinalized = true
        // Repeats the outcome of the last step, which was already reported.
        _ = sqlite3_finalize(handle)
    }

    // MARK: - Running

    /// Advances to the next row; returns false at the end.
    func step() throws -> Bool {
        // Borrowed, since each use of a property would retain the connection.
        try owner._withUnsafeGuaranteedRef { connection in
            guard let monitor = connection.monitor else { return try step(on: connection) }
            return try monitor._withUnsafeGuaranteedRef {
                try monitoredStep(on: connection, $0)
            }
        }
    }

    func step(on connection: Connection) throws -> Bool {
        let code = try advance(on: connection)
        guard code == SQLITE_ROW || code == SQLITE_DONE else {
            if !isQuery { connection.activity.endCommit(isDone: false) }
            throw stepFailure(code)
        }
        let hasReadPages = connection.noteReadPages()
        // The usual case.
        if code == SQLITE_ROW, execution.hasBegun, !hasReadPages { return true }
        let isFirstStep = !execution.hasBegun
        execution.hasBegun = true
        execution.hasEnded = code == SQLITE_DONE
        switch connection.verdict(
            hasReadPages: hasReadPages, isFirstStep: isFirstStep, isAtEnd: execution.hasEnded,
            isQuery: isQuery)
        {
        case .sound: break
        case .damaged: throw damagedPage()
        case .changed:
            throw SecureStorageError.statementFailed(
                .busy,
                "another process changed the file while it was read without permission "
                    + "to lock it; open it again", in: sql)
        case .unknown: return try repeatInTransaction()
        }
        if isFirstStep, code == SQLITE_ROW { connection.noteDataVersion() }
        return code == SQLITE_ROW
    }

    /// Calls `sqlite3_step`, which functions and collations must not enter a second time.
    func advance() throws -> Int32 {
        try owner._withUnsafeGuaranteedRef { try advance(on: $0) }
    }

    @inline(__always)
    private func advance(on connection: Connection) throws -> Int32 {
        try home.requireCurrent()
        try connection.callbacks.requireNoComparison()
        guard !execution.isStepping else {
            throw SecureStorageError.statementFailed(
                .misuse, "a function cannot advance the statement that calls it", in: sql)
        }
        // Not `PRAGMA query_only`, which makes SQLite prepare every cached statement again.
        if !isQuery, connection.authorizer.refusesWrites, sqlite3_stmt_readonly(handle) == 0 {
            throw SecureStorageError.engineFailed(
                .readOnly, "attempt to write a readonly database", ResultCode.readOnly.hint, in: sql
            )
        }
        execution.isStepping = true
        let code = connection.recorder == nil ? sqlite3_step(handle) : recordedStep()
        execution.isStepping = false
        // Functions report it themselves, so this was a collation, which cannot.
        try connection.callbacks.reportRefusedClose()
        guard execution.wasGivenBackInStep else { return code }
        execution.wasGivenBackInStep = false
        giveBack()
        throw SecureStorageError.closed
    }

    private func recordedStep() -> Int32 {
        guard let recorder = connection.recorder, !isQuery, let database = connection.handle
        else { return sqlite3_step(handle) }
        var code: Int32 = SQLITE_OK
        recorder.recording(&facts, mayReplace: mayReplace) {
            let count = sqlite3_total_changes64(database)
            code = sqlite3_step(handle)
            return ChangeRecorder.Outcome(
                isSuccess: code == SQLITE_ROW || code == SQLITE_DONE, isEnd: code == SQLITE_DONE,
                hasChangedRows: sqlite3_total_changes64(database) != count,
                isAutocommit: sqlite3_get_autocommit(database) != 0)
        }
        // A statement that writes nothing, such as COMMIT, keeps the caller's count.
        if facts?.writes.isEmpty != true { recorder.log.countBefore = nil }
        return code
    }

    /// Runs to the end and discards the rows, if any.
    func run() throws {
        while try step() {}
    }

    /// Lets a statement that has ended run again with the values that it has.
    func rewind() {
        guard home.isCurrent else { return }
        // Repeats the outcome of the last step, which was already reported.
        _ = sqlite3_reset(handle)
        execution.hasBegun = false
        execution.hasEnded = false
        if connection.recorder != nil { connection.publishCommitted() }
        if monitored.isRunning { owner._withUnsafeGuaranteedRef(endMonitoringEarly) }
    }

    /// Whether the current row may be read: not in a child made with `fork()`.
    @inline(__always)
    var isAtHome: Bool { home.isCurrent }

    /// The number of times that this statement has run since it was prepared.
    var runCount: Int { Int(sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_RUN, 0)) }

    /// Ends the execution and clears the values; finalises the statement unless the cache keeps it.
    ///
    /// If a function closes its own statement's result set, this waits for the end of the step.
    func giveBack() {
        // A reset ends transactions; in a child they are the parent's.
        guard home.isCurrent else { return }
        guard !execution.isStepping else {
            execution.wasGivenBackInStep = true
            return
        }
        use.isInUse = false
        defer {
            // A writing statement that was not run to its end may commit only now.
            if execution.hasBegun, !execution.hasEnded, !isQuery { connection.noteDataVersion() }
            execution.hasBegun = false
            execution.hasEnded = false
            if connection.recorder != nil { connection.publishCommitted() }
            if monitored.isRunning { owner._withUnsafeGuaranteedRef(endMonitoringEarly) }
        }
        guard use.isCached else { return finalize() }
        // Repeats the outcome of the last step, which was already reported.
        _ = sqlite3_reset(handle)
        clearValues()
    }

    private func clearValues() {
        guard hasBoundValues else { return }
        _ = sqlite3_clear_bindings(handle)  // cannot fail
        hasBoundValues = false
    }

    // MARK: - Columns' names

    var columnCount: Int { Int(sqlite3_column_count(handle)) }

    /// Reads the columns' names at the first execution and after each change of the schema.
    ///
    /// SQLite then prepares the statement again by itself, and `SELECT *` may have other columns.
    func refreshColumns() {
        let reprepares = sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_REPREPARE, 0)
        guard reprepares != columns.reprepares else { return }
        let names = (0..<columnCount).map { index in
            sqlite3_column_name(handle, Int32(index)).map { String(cString: $0) } ?? ""
        }
        columns = Columns(names: ColumnNames(names), count: names.count, reprepares: reprepares)
    }

    var columnNames: [String] { columns.names.names }

    var names: ColumnNames { columns.names }

    /// Refuses a name that several columns have.
    ///
    /// - Throws: `.backingStoreError` code `.misuse`.
    @inline(__always)
    func requireOneColumn(named name: String) throws {
        // Borrowed, since a name is looked up for each value.
        let isRepeated = Unmanaged.passUnretained(columns.names)._withUnsafeGuaranteedRef {
            $0.isRepeated(name)
        }
        guard isRepeated else { return }
        throw repeatedColumn(name)
    }

    /// The number of names in `columnNames`.
    @inline(__always)
    var knownColumnCount: Int { columns.count }

    /// Returns the index of the column with this name, or else of the first one that differs only
    /// in case; nil if no column matches.
    @inline(__always)
    func columnIndex(named name: String) -> Int? {
        // Borrowed, since a name is looked up for each value.
        Unmanaged.passUnretained(columns.names)._withUnsafeGuaranteedRef { $0.index(of: name) }
    }
}
