internal import CSQLCipher

/// Detects commits of other connections, and publishes all commits in order.
extension Connection {
    enum ForeignCheck {
        /// The answer holds as of now; a commit in progress may still become visible.
        case answered
        /// No other connection is writing.
        case final
        /// Another connection holds a lock.
        case busy
    }

    /// Publishes what was committed since the last call, preceded by the commits of other
    /// connections.
    ///
    /// Called after a statement's end, when its outcome is no longer needed.
    func publishCommitted() {
        guard let recorder, !recorder.isPaused, !callbacks.isComparing else { return }
        recorder.settle(isAutocommit: !isInTransaction)
        guard !recorder.committed.isEmpty || (recorder.foreign.isOwed && seesTheLatest) else {
            return
        }
        recorder.foreign.isOwed = recorder.foreign.isOwed && !seesTheLatest
        recorder.willCheck()
        publishForeignCommits(recorder)
        for recorded in recorder.takeCommitted() {
            var hasNewSchema = false
            if !recorded.schema.isEmpty {
                let before = recorder.schema.version
                refreshSchema(recorder)
                hasNewSchema = recorder.schema.version != before || before == nil
            }
            var change = recorder.schema.change(of: recorded, hasNewSchema: hasNewSchema)
            // The log itself is not reported.
            change.tables[Self.changeLog] = nil
            logCommitted(recorded, change)
            if !change.tables.isEmpty || change.hasUnknownTables { recorder.tell(change) }
        }
    }

    /// Checks whether other connections have committed, and publishes their commits.
    ///
    /// With `isLast` it makes sure that no other connection is about to commit, by taking the
    /// writer lock for a moment.
    func checkForForeignCommits(isLast: Bool) -> ForeignCheck {
        guard let recorder else { return .final }
        guard seesTheLatest else {
            // In a transaction or beside an open result set; the check follows at their end.
            recorder.foreign.isOwed = true
            return .final
        }
        let hasLock = isLast && !configuration.isReadOnly && takeWriterLock()
        let check = publishForeignCommits(recorder)
        if hasLock { giveBackWriterLock() }
        guard isLast, check == .answered else { return check }
        return hasLock || configuration.isReadOnly ? .final : .busy
    }

    /// Whether the next statement sees everything that other connections have committed so far.
    private var seesTheLatest: Bool {
        guard !isInTransaction, let handle else { return false }
        return sqlite3_txn_state(handle, nil) == SQLITE_TXN_NONE
    }

    /// Begins a transaction in which nothing is written; returns false if another connection
    /// writes.
    func takeWriterLock() -> Bool {
        waits.neverWaits = true
        defer { waits.neverWaits = false }
        return succeeds("BEGIN IMMEDIATE")
    }

    func giveBackWriterLock() {
        _ = succeeds("ROLLBACK")
        recorder?.settle(isAutocommit: !isInTransaction)
    }

    @discardableResult
    private func publishForeignCommits(_ recorder: ChangeRecorder) -> ForeignCheck {
        let before = recorder.foreign.version
        let (answer, change) = inSnapshot { () -> (ForeignCheck, DatabaseChange?) in
            let check = readDataVersion(recorder)
            guard check != .busy else { return (.busy, nil) }
            // Also when the query has failed: nil proves nothing, so it counts as a change.
            guard recorder.foreign.version == nil || recorder.foreign.version != before else {
                skipOwnRows(recorder)
                return (check, nil)
            }
            refreshSchema(recorder)
            return (check, foreignChange(recorder))
        }
        if var change {
            change.tables[Self.changeLog] = nil
            if !change.tables.isEmpty || change.hasUnknownTables { recorder.tell(change) }
        }
        return answer
    }

    /// Runs `body`, whose statements all see the file as of one moment.
    ///
    /// Otherwise a commit between the queries of the version and of the change log would be read
    /// with the log now, and the next check would find it without a row in the log.
    private func inSnapshot<R>(_ body: () -> R) -> R {
        // Without the log, only the version is queried.
        let begins = configuration.keepsChangeLog && !isInTransaction && succeeds("BEGIN")
        // Not a rollback, which the recorder would mistake for the end of the caller's transaction.
        defer { if begins { _ = succeeds("COMMIT") } }
        return body()
    }

    private func succeeds(_ sql: String) -> Bool {
        guard let handle else { return false }
        return uninterrupted { sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK }
    }

    /// Queries `PRAGMA data_version`, which no commit of this connection changes.
    func readDataVersion(_ recorder: ChangeRecorder) -> ForeignCheck {
        waits.neverWaits = true
        defer { waits.neverWaits = false }
        recorder.isPaused = true
        defer { recorder.isPaused = false }
        return uninterrupted {
            if recorder.foreign.versionQuery == nil, let handle {
                _ = sqlite3_prepare_v3(
                    handle, "PRAGMA data_version", -1, UInt32(SQLITE_PREPARE_PERSISTENT),
                    &recorder.foreign.versionQuery, nil)
            }
            let code = recorder.foreign.versionQuery.map { sqlite3_step($0) } ?? SQLITE_ERROR
            // Repeats the outcome of the step.
            defer { _ = sqlite3_reset(recorder.foreign.versionQuery) }
            guard code & 0xff != SQLITE_BUSY else { return .busy }
            recorder.foreign.version =
                code == SQLITE_ROW ? sqlite3_column_int64(recorder.foreign.versionQuery, 0) : nil
            return .answered
        }
    }

    // MARK: - The schema

    /// Reads the facts about the schema that the recorder needs.
    func refreshSchema(_ recorder: ChangeRecorder) {
        var schema = ObservedSchema()
        schema.version = number("PRAGMA schema_version", recorder).1
        // Dropped tables stay known: earlier changes to them may be published later.
        schema.rowTables = recorder.schema.rowTables
        schema.shadows = recorder.schema.shadows
        rows(
            """
            SELECT lower(l.name), l.type, l.wr, (
                SELECT lower(c.name) FROM pragma_table_info(l.name) c
                WHERE c.pk > 0 AND upper(c.type) = 'INTEGER')
            FROM pragma_table_list l WHERE l.schema = 'main'
            """, recorder
        ) { row in
            guard let name = sqlite3_column_text(row, 0).map({ String(cString: $0) }),
                let type = sqlite3_column_text(row, 1).map({ String(cString: $0) })
            else { return }
            let hasRowIDs = sqlite3_column_int(row, 2) == 0 && ["table", "shadow"].contains(type)
            if hasRowIDs { schema.rowTables.insert(name) } else { schema.rowTables.remove(name) }
            if type == "shadow" { schema.shadows.insert(name) } else { schema.shadows.remove(name) }
            schema.rowIDColumns[name] = sqlite3_column_text(row, 3).map { String(cString: $0) }
        }
        let sql = "SELECT 1 FROM sqlite_schema WHERE instr(lower(sql), 'replace') LIMIT 1"
        rows(sql, recorder) { _ in schema.mayReplace = true }
        recorder.schema = schema
    }

    /// Returns the query's primary result code and the number in its first row, nil without a row.
    private func number(_ sql: String, _ recorder: ChangeRecorder) -> (Int32, Int64?) {
        var number: Int64?
        let code = rows(sql, recorder) { number = sqlite3_column_int64($0, 0) }
        return (code, number)
    }

    /// Passes two numbers and a text of each row to `body`; returns false when the query has
    /// failed.
    func numbersAndText(
        _ sql: String, _ recorder: ChangeRecorder, _ body: (Int64, Int64, String?) -> Void
    ) -> Bool {
        let code = rows(sql, recorder) {
            body(
                sqlite3_column_int64($0, 0), sqlite3_column_int64($0, 1),
                sqlite3_column_text($0, 2).map { String(cString: $0) })
        }
        return code == SQLITE_DONE
    }

    /// Runs one of the library's own queries beside the statements of the caller.
    @discardableResult
    private func rows(
        _ sql: String, _ recorder: ChangeRecorder, _ body: (OpaquePointer) -> Void
    ) -> Int32 {
        let wasPaused = recorder.isPaused
        recorder.isPaused = true
        defer { recorder.isPaused = wasPaused }
        return uninterrupted {
            guard let handle else { return SQLITE_MISUSE }
            var statement: OpaquePointer?
            defer { sqlite3_finalize(statement) }
            var code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
            guard code == SQLITE_OK, let statement else { return code & 0xff }
            code = sqlite3_step(statement)
            while code == SQLITE_ROW {
                body(statement)
                code = sqlite3_step(statement)
            }
            return code & 0xff
        }
    }
}
