package import SecureStorage

extension Capture {
    /// Joins other members' changes into the file; in a write transaction, after
    /// ``timestampAndSettle(in:)``.
    ///
    /// Each change comes once, after all that its writer knew of; if not, `isListed` tells which of
    /// the values that lose are conflicts. All changes of one transaction
    /// come in one call, so that no other state is ever seen. Nothing of it is captured, and
    /// foreign keys are checked when the transaction ends. If it fails, the transaction must be
    /// rolled back.
    ///
    /// - Throws: `SyncError.damaged` for bookkeeping that cannot be read;
    /// `SyncError.captureWasOff`.
    package func apply(
        _ changes: [RowChange], in db: SecureDatabaseStore,
        listing isListed: @escaping (LostValues) -> Bool = { _ in true }
    ) throws -> MergeReport {
        guard !changes.isEmpty else { return MergeReport() }
        return try merging(in: db) { merger in
            merger.isListed = isListed
            for change in changes { try merger.apply(change) }
        }
    }

    /// Timestamps what the app has written, and looks at what that may have let in or kept out; in
    /// a write transaction.
    ///
    /// A row whose parent is missing is held back here as it is elsewhere: not every program has
    /// SQLite check foreign keys.
    ///
    /// Rows that wait are looked at only when nothing waits for a timestamp: what is written to a
    /// row in the meantime is not captured, and would take the app's last write with it.
    ///
    /// - Returns: As ``timestamp(in:)``.
    package func timestampAndSettle(in db: SecureDatabaseStore) throws -> [RowChange] {
        var changes: [RowChange] = []
        try timestampAndSettle(in: db) { changes.append($0) }
        return changes
    }

    /// As ``timestampAndSettle(in:)``, and hands over one change after the other: there may be more
    /// than fit in memory.
    func timestampAndSettle(
        in db: SecureDatabaseStore, _ emit: (RowChange) throws -> Void
    ) throws {
        let marked = try markedShapes(in: db)
        let orphans = try marked.isEmpty ? [] : Orphans(of: shapes(in: db), in: db).marked()
        let isLookedAt = try !orphans.isEmpty || !HeldBackRows(db: db).tables().isEmpty
        // Without their values.
        var changes: [RowChange] = []
        try timestampMarks(of: marked, in: db) { change in
            try emit(change)
            guard isLookedAt else { return }
            changes.append(change)
            changes[changes.count - 1].columnGroups = []
        }
        if !changes.isEmpty {
            _ = try merging(in: db) {
                try $0.note(changes)
                try $0.note(orphans)
            }
        }
        _ = try takeUpLater(in: db)
    }

    /// Takes up changes of tables and columns that have been made since they came, and tries held
    /// back rows again: once after each ``install(in:)``, and not while something waits for a
    /// timestamp; in a write transaction.
    package func takeUpLater(in db: SecureDatabaseStore) throws -> MergeReport {
        guard try db.int(forQuery: "SELECT count(*) FROM main.securestorage_sync_due") == 1,
            try waitingMarks(in: db) == nil
        else { return MergeReport() }
        try db.executeUpdate("DELETE FROM main.securestorage_sync_due")
        return try merging(in: db) { try $0.joinLater() }
    }

    /// Makes the rows as if they had never been synced, those that are held back and values that
    /// wait for their columns too; in a write transaction, for the first snapshot of a new group.
    package func forgetHistory(in db: SecureDatabaseStore) throws {
        _ = try timestampAndSettle(in: db)
        let (rows, later) = (try KnownRows(self, in: db), LaterChanges(db: db))
        for (change, entry) in try later.all() where rows.canHave(change) {
            try later.remove(entry)
            if try rows.incarnation(of: change) == change.incarnation.timestamp {
                try later.add(StablePoint(time: .max).reduced(change))
            }
        }
        try removeAllClocks(in: db)
        try settleAll(in: db)
        let orphans = try Orphans(of: shapes(in: db), in: db).all()
        if !orphans.isEmpty { _ = try merging(in: db) { try $0.note(orphans) } }
    }

    private func merging(
        in db: SecureDatabaseStore, _ body: (Merger) throws -> Void
    ) throws -> MergeReport {
        let shapes = try shapes(in: db)
        return try withoutCapturing(in: db) {
            let merger = try Merger(shapes, in: db)
            try body(merger)
            try merger.finish(keeping: recentClockLimit)
            if merger.greatestTime > 0 { try noteTime(merger.greatestTime, in: db) }
            return merger.report
        }
    }

    // MARK: - What did not become visible

    /// What lost without having been seen by the winner, the oldest first.
    package func conflicts(
        in db: SecureDatabaseStore, of table: String? = nil
    ) throws -> [RowConflict] {
        try ConflictList(db: db).all(of: table)
    }

    /// Removes a conflict from the list; one that is not there any more is ignored.
    package func forget(_ conflict: RowConflict, in db: SecureDatabaseStore) throws {
        try db.executeUpdate(
            "DELETE FROM main.securestorage_sync_conflict WHERE id = ?", values: [conflict.id])
    }

    /// The rows that are held back.
    package func heldBackRows(in db: SecureDatabaseStore) throws -> [HeldBackRow] {
        let heldBack = HeldBackRows(db: db)
        return try shapes(in: db).flatMap { shape in
            try heldBack.entries("tbl = ?", [.integer(shape.number)]).map { entry in
                let columns = shape.groups.flatMap { $0 }
                return HeldBackRow(
                    table: shape.name, key: entry.key.values() ?? [], columns: columns,
                    values: columns.map { entry.value(of: $0, shape) ?? .null },
                    standing: entry.standing,
                    blocker: entry.blocker?.values())
            }
        }
    }

    /// Forgets held back rows and changes that wait, and keeps the conflicts.
    ///
    /// With ``removeAllRows(in:)``.
    package func removeAllMerging(in db: SecureDatabaseStore) throws {
        try MergeTables.removeAllRows(in: db)
    }

    /// Forgets held back rows and changes that wait, and lists them in the conflicts: the file's
    /// rows go into another group, and these are not among those that the app sees.
    package func listAllMerging(in db: SecureDatabaseStore) throws {
        let list = ConflictList(db: db)
        func add(
            _ table: String, _ key: [SQLiteValue], _ columns: [String], _ values: [SQLiteValue],
            _ timestamp: Timestamp
        ) throws {
            try list.add(
                LostValues(
                    columns: columns, values: values, timestamp: timestamp, winner: .stablePoint,
                    reason: .deleted), table, key)
        }
        for row in try heldBackRows(in: db) {
            try add(row.table, row.key, row.columns, row.values, .stablePoint)
        }
        for (change, _) in try LaterChanges(db: db).all() where change.incarnation.isAlive {
            try add(
                change.table, change.key, change.columnGroups.flatMap(\.columns),
                change.columnGroups.flatMap(\.values), change.greatestTimestamp)
        }
        try list.trim()
        try removeAllMerging(in: db)
    }

    /// Looks at all held back rows again, after clocks have been forgotten: of two rows with one
    /// unique value, the order of their births may not be known any more.
    ///
    /// Nothing may wait for a timestamp.
    package func settleAll(in db: SecureDatabaseStore) throws {
        guard try !HeldBackRows(db: db).tables().isEmpty else { return }
        _ = try merging(in: db) { try $0.noteAllHeldBack() }
    }

    /// Lists a change of this file as one that has lost as a whole; nothing if the row is as it
    /// says.
    package func noteLost(
        _ change: RowChange, _ reason: LostValues.Reason, _ rows: KnownRows,
        in db: SecureDatabaseStore
    ) throws {
        let values = try rows.values(of: change)
        let lost = change.columnGroups.flatMap { columnGroup in
            zip(columnGroup.columns, columnGroup.values).filter { column, value in
                guard let values else { return true }
                return !(values[column.sqlNameKey] ?? .null).isIdentical(to: value)
            }
        }
        let isThere = values != nil
        guard change.incarnation.isAlive ? !lost.isEmpty || !isThere : isThere else { return }
        let list = ConflictList(db: db)
        try list.add(
            LostValues(
                columns: lost.map(\.0), values: lost.map(\.1), timestamp: change.greatestTimestamp,
                winner: .stablePoint, reason: change.incarnation.isAlive ? reason : .deletionLost),
            change.table, change.key)
        try list.trim()
    }
}
