package import SecureStorage

extension Capture {
    /// Merges other members' changes into the file; in a write transaction, after
    /// ``timestampAndSettle(in:)``.
    ///
    /// Each change comes once, after everything that its writer knew; otherwise `isListed` decides
    /// which lost values are conflicts. All changes of one transaction come in one call, so
    /// intermediate states are never visible. The writes are not captured, and foreign keys are
    /// checked when the transaction ends. If it fails, the transaction must be rolled back.
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

    /// Timestamps the app's writes, and checks rows that they may have let in or kept out; in a
    /// write transaction.
    ///
    /// A row whose parent is missing is held back here as elsewhere: not every program enables
    /// foreign keys.
    ///
    /// Held-back rows are checked only if no write waits for a timestamp: the merge's writes are
    /// not captured, and would overwrite the app's last write.
    ///
    /// - Returns: As ``timestamp(in:)``.
    package func timestampAndSettle(in db: SecureDatabaseStore) throws -> [RowChange] {
        var changes: [RowChange] = []
        try timestampAndSettle(in: db) { changes.append($0) }
        return changes
    }

    /// Like ``timestampAndSettle(in:)``, but passes changes one by one: there may be more than fit
    /// in memory.
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

    /// Merges changes whose tables or columns now exist, and retries held-back rows: once after
    /// each ``install(in:)``, and not while writes wait for timestamps; in a write transaction.
    package func takeUpLater(in db: SecureDatabaseStore) throws -> MergeReport {
        guard try db.int(forQuery: "SELECT count(*) FROM main.securestorage_sync_due") == 1,
            try waitingMarks(in: db) == nil
        else { return MergeReport() }
        try db.executeUpdate("DELETE FROM main.securestorage_sync_due")
        return try merging(in: db) { try $0.joinLater() }
    }

    /// Makes the rows as if never synced, including held-back rows and values that wait for their
    /// columns; in a write transaction, for the first snapshot of a new group.
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

    // MARK: - Conflicts and held-back rows

    /// Values that lost to a concurrent write, oldest first.
    package func conflicts(
        in db: SecureDatabaseStore, of table: String? = nil
    ) throws -> [RowConflict] {
        try ConflictList(db: db).all(of: table)
    }

    /// Removes a conflict from the list; an unlisted one is ignored.
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

    /// Forgets held-back rows and waiting changes, and keeps the conflicts.
    ///
    /// With ``removeAllRows(in:)``.
    package func removeAllMerging(in db: SecureDatabaseStore) throws {
        try MergeTables.removeAllRows(in: db)
    }

    /// Forgets held-back rows and waiting changes, and lists them as conflicts: the file's visible
    /// rows move to another group without them.
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

    /// Checks all held-back rows again after clocks are forgotten: the insertion order of two rows
    /// with one unique value may no longer be known.
    ///
    /// No write may wait for a timestamp.
    package func settleAll(in db: SecureDatabaseStore) throws {
        guard try !HeldBackRows(db: db).tables().isEmpty else { return }
        _ = try merging(in: db) { try $0.noteAllHeldBack() }
    }

    /// Lists all of a change by this file as lost, unless the row already has its values.
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
