internal import SecureStorage

/// Runs statements one at a time and shows their results.
struct StatementRunner {
    let store: SecureDatabaseStore
    var output: Output
    var format: OutputFormat
    var options = RowOptions()
    /// The command that shows results longer than the screen; nil for none.
    var pager: String?
    var showsTimes = false
    /// Whether each statement's query plan is shown before it runs.
    var showsPlans = false
    /// Whether it reports what was committed.
    var acknowledges = true
    /// The values of placeholders, by their names; nil if they are given with the statement.
    var parameters: [String: SQLiteValue]?

    init(store: SecureDatabaseStore, output: Output, format: OutputFormat) {
        self.store = store
        self.output = output
        self.format = format
    }

    /// Runs `sql`, and reports the commit if it has written anything and no transaction is open.
    ///
    /// - Throws: `Failure` with the place of an error in the SQL.
    func run(_ sql: String, values: [String] = []) throws {
        let timer = showsTimes ? StatementTimer() : nil
        do {
            if showsPlans { try showPlan(sql, values) }
            try runPlain(sql, values)
        } catch {
            throw Failure.statement(error, sql, in: store)
        }
        if let timer { try acknowledge(timer.description, on: messages) }
    }

    private func runPlain(_ sql: String, _ values: [String]) throws {
        let wasInTransaction = try store.isInTransaction()
        let before = try wasInTransaction ? 0 : changes()
        let statement = try store.prepare(sql)
        defer { statement.close() }
        let values = try row(values, for: statement)
        var returnsRows = true
        do {
            let rows = try statement.executeQuery(row: values)
            defer { rows.close() }
            var writer = try writer(for: sql)
            try output.paged(by: pager) { try writer.write(all: rows) }
        } catch SecureStorageError.backingStoreError(let code, _) where code == Self.misuse {
            // The statement returns no columns.
            try statement.executeUpdate(row: values)
            returnsRows = false
        }
        try output.flush()
        // Nothing is committed while a transaction is open.
        guard acknowledges, try !store.isInTransaction() else { return }
        let acknowledgement: String
        if wasInTransaction {
            let isRollback = leadingWords(sql, 1) == ["ROLLBACK"]
            acknowledgement = isRollback ? "ok, rolled back" : "ok, committed"
        } else {
            // Triggers, as those of sync, change rows too.
            let count = try changes() == before ? 0 : ownChanges()
            guard !returnsRows || count != 0 else { return }
            acknowledgement =
                count == 0 ? "ok" : "ok, \(count) \(count == 1 ? "row" : "rows") changed"
        }
        try acknowledge(acknowledgement, on: messages)
    }

    /// Returns the values for the placeholders of a statement.
    private func row(
        _ values: [String], for statement: SecureDatabaseStatement
    ) throws -> [SQLiteValue] {
        guard let parameters else { return values.map { .text($0) } }
        return try statement.placeholders.map { name in
            guard let value = parameters[name] else {
                throw Failure.usage(
                    "the placeholder \(name) has no value",
                    hint: ".parameter set \(name) VALUE gives it one")
            }
            return value
        }
    }

    /// Where acknowledgements go: between the rows only where people read those.
    var messages: Output {
        format.isForPeople && output === Output.standard ? output : Output.errors
    }

    private func writer(for sql: String) throws -> any RowWriter {
        if options.drawsPlans, format.isForPeople {
            let words = leadingWords(sql, 3)
            if words == ["EXPLAIN", "QUERY", "PLAN"] { return PlanTreeWriter(to: output) }
            if words.first == "EXPLAIN" {
                return ProgramWriter(to: output, options, style: format == .box ? .box : .plain)
            }
        }
        return try format.writer(to: output, options, in: store)
    }

    /// Shows the plan of a statement that has one.
    private func showPlan(_ sql: String, _ values: [String]) throws {
        let planned = ["SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE", "VALUES"]
        guard let word = leadingWords(sql, 1).first, planned.contains(word) else { return }
        let statement = try store.prepare("EXPLAIN QUERY PLAN " + sql)
        defer { statement.close() }
        let rows = try statement.executeQuery(row: row(values, for: statement))
        var writer = PlanTreeWriter(to: messages)
        try writer.write(all: rows)
        try messages.flush()
    }

    /// SQLITE_MISUSE.
    private static let misuse = 21

    private func changes() throws -> Int64 {
        try store.executeQuery("SELECT total_changes()").firstInteger() ?? 0
    }

    /// The rows that the last INSERT, UPDATE or DELETE itself has changed.
    private func ownChanges() throws -> Int64 {
        try store.executeQuery("SELECT changes()").firstInteger() ?? 0
    }
}

extension SecureDatabaseResultSet {
    /// Returns the first column of the first row, and closes the result set.
    func firstInteger() throws -> Int64? {
        defer { close() }
        return try next() ? int64(forColumnIndex: 0) : nil
    }
}
