/// One call that runs steps: what it requires of the store, and how it keeps each step atomic.
final class MigrationRun {
    private let steps: [SchemaMigrations.Step]
    private let db: SecureDatabaseStore
    private let connection: Connection
    private var checksForeignKeys = false

    /// - Throws: `.backingStoreError` if the store cannot run steps now.
    init(_ steps: [SchemaMigrations.Step], on db: SecureDatabaseStore) throws {
        self.steps = steps
        self.db = db
        connection = try db.openConnection()
        try connection.callbacks.requireOutside("migrations cannot run")
        guard !connection.isInTransaction else {
            throw SecureStorageError.statementFailed(
                .misuse,
                "migrations cannot run in a transaction, since they use their own; commit it or roll it "
                    + "back first")
        }
        guard !db.hasOpenResultSets, !connection.hasRunningStatement else {
            throw SecureStorageError.statementFailed(
                .misuse,
                "migrations cannot run while a result set is open or a batch is running; end it first"
            )
        }
    }

    /// Calls `body`, which runs the pending steps, while foreign keys are not enforced.
    func perform(_ body: () throws -> Void) throws {
        guard !db.configuration.isReadOnly else {
            throw SecureStorageError.statementFailed(
                .readOnly, "migrations are pending, and the store is read-only")
        }
        // Outside a transaction: inside one, the pragma does nothing.
        checksForeignKeys = try connection.text("PRAGMA foreign_keys") == "1"
        guard checksForeignKeys else { return try body() }
        try connection.running(.library) { _ = try connection.text("PRAGMA foreign_keys = OFF") }
        defer {
            // Neither a cancelled task nor a deadline ends this. It can fail only if a step has
            // closed the connection, and a new connection has the setting of the configuration.
            connection.uninterrupted {
                connection.running(.library) {
                    _ = try? connection.text("PRAGMA foreign_keys = ON")
                }
            }
        }
        try body()
    }

    /// Runs the first step not yet applied to the file.
    ///
    /// - Returns: Its name, or nil if the file is up to date.
    func next() throws -> String? {
        var name: String?
        try db.inTransaction(.immediate) { db in
            let position = try MigrationHistory(of: db).requireBeginning(of: steps)
            guard position < steps.count else { return true }
            try run(steps[position], at: position + 1)
            name = steps[position].name
            return false
        }
        return name
    }

    /// Runs all pending steps, and rolls them back.
    ///
    /// - Returns: Their names.
    func rehearse() throws -> [String] {
        var rehearsed: [String] = []
        try db.inTransaction(.immediate) { db in
            let count = try MigrationHistory(of: db).requireBeginning(of: steps)
            for (index, step) in steps.enumerated().dropFirst(count) {
                try run(step, at: index + 1)
                rehearsed.append(step.name)
            }
            return true
        }
        return rehearsed
    }

    // MARK: - One step

    private func run(_ step: SchemaMigrations.Step, at position: Int) throws {
        do {
            let before = checksForeignKeys ? ForeignKeyViolations(before: db) : nil
            try SyncTriggers(in: db).around(step.syncing, in: db) { try runBody(of: step) }
            if let before { try ForeignKeyViolations(in: db).requireNone(beyond: before) }
            try MigrationHistory.record(step, at: position, in: db)
        } catch SecureStorageError.backingStoreError(let code, let message) {
            throw SecureStorageError.backingStoreError(
                code: code,
                message: "the migration \"\(step.name)\" failed and was rolled back: \(message)")
        }
    }

    private func runBody(of step: SchemaMigrations.Step) throws {
        let open = db.session.resultSetCount
        let allowed = db.session.transactionBlocks.allowsSavepoints
        db.session.transactionBlocks.allowsSavepoints = false
        defer { db.session.transactionBlocks.allowsSavepoints = allowed }
        try step.body(db)
        db.closeResultSets(openedAfter: open)
        guard db.connection === connection else {
            throw SecureStorageError.statementFailed(.misuse, "the step closed the store")
        }
        guard connection.isInTransaction else {
            throw SecureStorageError.statementFailed(
                .error, "SQLite rolled back its transaction, and the step continued")
        }
    }
}

/// The rows of a database that violate foreign keys.
private struct ForeignKeyViolations {
    private struct Row: Hashable {
        let table: String
        let rowID: Int64?
        let parent: String
    }

    /// How often each occurs: a row may violate two keys, and not every table has row ids.
    private var counts: [Row: Int] = [:]

    init(in db: SecureDatabaseStore) throws {
        let rs = try db.executeQuery("PRAGMA foreign_key_check")
        defer { rs.close() }
        while try rs.next() {
            let row = Row(
                table: rs.string(forColumnIndex: 0) ?? "", rowID: rs.int64(forColumnIndex: 1),
                parent: rs.string(forColumnIndex: 2) ?? "")
            counts[row, default: 0] += 1
        }
    }

    /// The violations before a step; none if the schema cannot be checked, which the step may fix.
    init(before db: SecureDatabaseStore) {
        if let found = try? ForeignKeyViolations(in: db) { self = found }
    }

    func requireNone(beyond before: ForeignKeyViolations) throws {
        var added: [String: Int] = [:]
        for (row, count) in counts where count > before.counts[row, default: 0] {
            added[row.table, default: 0] += count - before.counts[row, default: 0]
        }
        guard !added.isEmpty else { return }
        let places = added.sorted { $0.key < $1.key }.map { table, count in
            "\(count) \(count == 1 ? "row" : "rows") of \"\(table)\""
        }
        throw SecureStorageError.statementFailed(
            .constraintForeignKey,
            "foreign keys are violated by \(places.joined(separator: ", ")); fix or delete them in "
                + "the migration step")
    }
}
