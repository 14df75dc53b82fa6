internal import CSQLCipher
internal import Foundation

/// The hooks that a connection has while it is observed, and only then.
extension Connection {
    /// Whether the authorizer has to observe statements, not only refuse them.
    var isObserved: Bool {
        authorizer.readTables != nil || recorder.map { !$0.isPaused } == true
    }

    /// Starts recording what the connection commits.
    ///
    /// - Parameters:
    ///   - recordsRowIDs: Whether row ids are wanted.
    ///   - willCheck: Called before each check whether other connections have committed.
    ///   - publish: Receives the commits, in order, and the names of the shadow tables.
    func startRecording(
        rowIDs recordsRowIDs: Bool, willCheck: @escaping () -> Void,
        publish: @escaping (DatabaseChange, _ shadows: Set<String>) -> Void
    ) {
        guard let handle else { return }
        let recorder = ChangeRecorder(
            recordsRowIDs: recordsRowIDs, isInTransaction: isInTransaction, willCheck: willCheck,
            publish: publish)
        self.recorder = recorder
        let context = Unmanaged.passUnretained(recorder).toOpaque()
        _ = sqlite3_update_hook(
            handle,
            { context, action, database, table, rowID in
                guard let context, let table, Connection.isMain(database) else { return }
                let kind: DatabaseChange.Kinds =
                    action == SQLITE_INSERT ? .insert : action == SQLITE_UPDATE ? .update : .delete
                Unmanaged<ChangeRecorder>.fromOpaque(context).takeUnretainedValue()
                    .noteRow(kind, table, rowID)
            }, context)
        // Setting an authorizer makes SQLite prepare each statement again at its next run, which
        // reports what the statement writes. The same call has been made before, with the same
        // handle.
        try? installAuthorizer()
        refreshSchema(recorder)
        _ = readDataVersion(recorder)
        skipChangeLog(recorder)
    }

    /// Removes the hooks; harmless if none are set.
    func stopRecording() {
        guard let recorder else { return }
        sqlite3_finalize(recorder.foreign.versionQuery)
        if let handle {
            _ = sqlite3_update_hook(handle, nil, nil)
        }
        self.recorder = nil
        // Statements are prepared again, and may then empty a table without visiting its rows.
        try? installAuthorizer()
    }

    /// Runs `body`, which prepares a statement, and records its facts while observed.
    func preparing(_ body: () -> Int32) -> Int32 {
        guard let recorder else { return body() }
        return recorder.preparing(body)
    }

    fileprivate static func isMain(_ database: UnsafePointer<CChar>?) -> Bool {
        guard let database else { return false }
        return strcmp(database, "main") == 0
    }

    // MARK: - The authorizer

    /// Notes what a statement may do, while it is prepared.
    ///
    /// - Returns: Whether to answer with SQLITE_IGNORE, which makes a deletion run row by row: "If
    ///   the action code is SQLITE_DELETE and the callback returns SQLITE_IGNORE then the DELETE
    ///   operation proceeds but the truncate optimization is disabled."
    func observe(
        _ action: Int32, _ name: UnsafePointer<CChar>?, _ argument: UnsafePointer<CChar>?,
        _ database: UnsafePointer<CChar>?
    ) -> Bool {
        if action == SQLITE_READ {
            // SQLite names no database for a table of which no column is read, as for count(*).
            guard authorizer.readTables != nil, let name, database == nil || Self.isMain(database)
            else {
                return false
            }
            authorizer.readTables?.insert(ObservedTables.key(of: String(cString: name)))
            return false
        }
        guard let recorder, !recorder.isPaused else { return false }
        var facts = recorder.preparation.facts ?? StatementFacts()
        defer { recorder.preparation.facts = facts }
        switch action {
        case SQLITE_INSERT: facts.note(.insert, name, database)
        case SQLITE_UPDATE:
            facts.note(.update, name, database)
            if let name, let argument, Self.isMain(database) {
                facts.columns[String(cString: name).lowercased(), default: []]
                    .insert(String(cString: argument).lowercased())
            }
        case SQLITE_DELETE:
            facts.note(.delete, name, database)
            guard let name, Self.isMain(database), !facts.isDrop else { return false }
            return !String(cString: name).hasPrefix("sqlite_")
        case SQLITE_CREATE_TABLE, SQLITE_CREATE_VTABLE: facts.noteSchema(.insert, name, database)
        case SQLITE_DROP_TABLE, SQLITE_DROP_VTABLE:
            facts.isDrop = true
            facts.noteSchema(.delete, name, database)
        case SQLITE_DROP_INDEX, SQLITE_DROP_TRIGGER, SQLITE_DROP_VIEW, SQLITE_DROP_TEMP_INDEX,
            SQLITE_DROP_TEMP_TABLE, SQLITE_DROP_TEMP_TRIGGER, SQLITE_DROP_TEMP_VIEW:
            facts.isDrop = true
        // The database comes first here.
        case SQLITE_ALTER_TABLE: facts.noteSchema(.update, argument, name)
        case SQLITE_SAVEPOINT:
            guard let name, let argument else { return false }
            let operations: [String: StatementFacts.Savepoint] = [
                "BEGIN": .begin, "RELEASE": .release, "ROLLBACK": .rollback,
            ]
            facts.savepoint = operations[String(cString: name)]
                .map { ($0, String(cString: argument)) }
        default: break
        }
        return false
    }
}

extension StatementFacts {
    fileprivate mutating func note(
        _ kind: DatabaseChange.Kinds, _ table: UnsafePointer<CChar>?,
        _ database: UnsafePointer<CChar>?
    ) {
        guard let table, Connection.isMain(database) else { return }
        let name = String(cString: table)
        if ["sqlite_master", "sqlite_schema"].contains(name) {
            schema["sqlite_schema", default: []].formUnion(kind)
        } else if !name.hasPrefix("sqlite_") {
            writes[name, default: []].formUnion(kind)
        }
    }

    fileprivate mutating func noteSchema(
        _ kind: DatabaseChange.Kinds, _ table: UnsafePointer<CChar>?,
        _ database: UnsafePointer<CChar>?
    ) {
        guard let table, Connection.isMain(database) else { return }
        schema[String(cString: table), default: []].formUnion(kind)
    }
}

extension Connection {
    /// Starts noting in `readTables` which tables statements read.
    func beginNotingTables() throws {
        authorizer.readTables = []
        // Cached statements are prepared again, and so report their tables as well.
        try installAuthorizer()
    }
}
