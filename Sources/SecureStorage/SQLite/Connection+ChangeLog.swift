internal import CSQLCipher
internal import Foundation

/// The change log: a table in the file that lists which tables each commit has changed.
///
/// It serves observers on other connections and in other processes; see
/// `SecureDatabaseConfiguration.keepsChangeLog`. A row is written in the transaction that it
/// describes, before its commit. A statement that commits by itself gets a separate row afterwards.
extension Connection {
    static let changeLog = RecordedChanges.changeLog
    /// The number of newest rows that are kept; a reader that has missed more detects the gap.
    private static let changeLogLimit: Int64 = 1000

    /// Writes what the transaction has changed into the log; called before its commit.
    func logChanges() throws {
        guard keepsChangeLog, let recorder, isInTransaction else { return }
        let pending = recorder.pending
        guard !pending.isEmpty, !pending.isLogged else { return }
        try log(
            recorder.schema.change(of: pending, hasNewSchema: !pending.schema.isEmpty), recorder)
    }

    /// Writes a row for a commit that has none yet.
    func logCommitted(_ recorded: RecordedChanges, _ change: DatabaseChange) {
        guard keepsChangeLog, let recorder, !recorded.isLogged,
            !change.tables.isEmpty || change.hasUnknownTables
        else { return }
        // If it cannot be written, for example because another process is writing, the next reader
        // finds a commit that no row explains.
        try? log(change, recorder)
    }

    private var keepsChangeLog: Bool {
        configuration.keepsChangeLog && !configuration.isReadOnly
    }

    private func log(_ change: DatabaseChange, _ recorder: ChangeRecorder) throws {
        // `lastInsertRowID` and the row count must still describe the caller's own statement.
        let (rowID, count) = (lastInsertRowID, changedRowCount)
        defer {
            if let handle { sqlite3_set_last_insert_rowid(handle, rowID) }
            recorder.log.countBefore = count
        }
        if !recorder.schema.rowTables.contains(Self.changeLog) {
            try execute(
                """
                CREATE TABLE IF NOT EXISTS \(Self.changeLog) (
                    id INTEGER PRIMARY KEY, writer INTEGER NOT NULL, tables TEXT)
                """)
        }
        let insert = try statement(
            for: "INSERT INTO \(Self.changeLog) (writer, tables) VALUES (?, ?)")
        defer { insert.giveBack() }
        try insert.bind(
            stored: [
                .integer(recorder.log.writer),
                change.hasUnknownTables ? .null : .text(Self.text(of: change)),
            ])
        try insert.run()
        // Not at each commit: a deletion costs as much as an insert.
        let id = lastInsertRowID
        recorder.log.own = id
        guard id % 100 == 0 else { return }
        let prune = try statement(for: "DELETE FROM \(Self.changeLog) WHERE id <= ?")
        defer { prune.giveBack() }
        try prune.bind(stored: [.integer(id - Self.changeLogLimit)])
        try prune.run()
    }

    /// Returns what other connections have committed since the last call, according to the log;
    /// everything when the log does not explain it.
    func foreignChange(_ recorder: ChangeRecorder) -> DatabaseChange {
        guard configuration.keepsChangeLog else { return .foreign }
        var change = DatabaseChange(tables: [:], hasUnknownTables: false, includesForeign: true)
        var isExplained = false
        var expected = recorder.log.last + 1
        let sql = """
            SELECT id, writer, tables FROM \(Self.changeLog) WHERE id > \(recorder.log.last) ORDER BY id
            """
        let code = numbersAndText(sql, recorder) { id, writer, text in
            // A gap: rows were pruned before they were read.
            if id != expected { change.hasUnknownTables = true }
            expected = id + 1
            recorder.log.last = id
            guard writer != recorder.log.writer else { return }
            isExplained = true
            guard let text, let kinds = Self.kinds(in: text) else {
                change.hasUnknownTables = true
                return
            }
            for (name, kinds) in kinds {
                change.merge(
                    DatabaseChange(
                        tables: [name: .init(kinds: kinds, rowIDs: nil)], hasUnknownTables: false,
                        includesForeign: true))
            }
        }
        guard code, isExplained else { return .foreign }
        return change
    }

    /// Skips the rows that this connection has written, when no other connection has committed.
    func skipOwnRows(_ recorder: ChangeRecorder) {
        recorder.log.last = max(recorder.log.last, recorder.log.own ?? 0)
    }

    /// Skips the rows that were logged before the observation began.
    func skipChangeLog(_ recorder: ChangeRecorder) {
        guard configuration.keepsChangeLog else { return }
        _ = numbersAndText(
            "SELECT max(id), 0, NULL FROM \(Self.changeLog)", recorder
        ) { id, _, _ in recorder.log.last = id }
    }

    // MARK: - A row's text

    /// Returns the change as JSON: the tables' names, each with the bits of its kinds.
    private static func text(of change: DatabaseChange) -> String {
        let kinds = change.tables.mapValues { Int($0.kinds.rawValue) }
        let data = try? JSONSerialization.data(withJSONObject: kinds, options: .sortedKeys)
        return data.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private static func kinds(in text: String) -> [String: DatabaseChange.Kinds]? {
        let object = try? JSONSerialization.jsonObject(with: Data(text.utf8))
        return (object as? [String: Int])?.mapValues {
            DatabaseChange.Kinds(rawValue: UInt8(truncatingIfNeeded: $0))
        }
    }
}
