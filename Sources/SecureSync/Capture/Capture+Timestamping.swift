package import SecureStorage

extension Capture {
    /// Turns all marks into changes with timestamps, writes the clocks and removes the marks; in a
    /// write transaction.
    ///
    /// A change has its row's current values: a row written twice becomes one change, and together
    /// the changes are one state of the file. Each timestamp is above those that it overwrites, so
    /// a wrong clock only decides between concurrent writes.
    ///
    /// - Returns: Empty if there are no marks, or all marked rows are unchanged.
    /// - Precondition: ``setMember(_:in:)`` was called for the file.
    package func timestamp(in db: SecureDatabaseStore) throws -> [RowChange] {
        var changes: [RowChange] = []
        try timestampMarks(of: markedShapes(in: db), in: db) { changes.append($0) }
        return changes
    }

    /// The tables with writes that wait for timestamps.
    func markedShapes(in db: SecureDatabaseStore) throws -> [TableShape] {
        try shapes(in: db).filter {
            // Others may have overwritten rows that cannot be sent.
            try db.bool(
                forQuery: """
                    SELECT EXISTS (SELECT 1 FROM main.\($0.markTable)) OR EXISTS (
                      SELECT 1 FROM main.securestorage_sync_unsent WHERE tbl = ?)
                    """, values: [$0.number]) ?? false
        }
    }

    /// Like ``timestamp(in:)``, but passes changes one by one: there may be more than fit in
    /// memory.
    func timestampMarks(
        of shapes: [TableShape], in db: SecureDatabaseStore, _ emit: (RowChange) throws -> Void
    ) throws {
        guard !shapes.isEmpty else { return }
        guard let member = try member(in: db) else {
            preconditionFailure("rows are timestamped for a member; set it first")
        }
        let members = try MemberNumbers(in: db)
        var timestamping = Timestamping(
            member: member, stablePoint: try stablePointTime(in: db),
            lowerBound: try lowerBound(in: db),
            clock: clock)
        for shape in shapes {
            try shape.reading {
                let clocks = try ClockTable(of: shape, members: members, in: db)
                try timestamping.timestamp(shape, clocks, in: db, emit)
                try clocks.moveRecent(keeping: recentClockLimit)
            }
            try db.executeUpdate("DELETE FROM main.\(shape.markTable)")
            // Mark numbers start again at 1.
            try db.executeUpdate(
                "UPDATE main.securestorage_sync_table SET compact_at = ? WHERE number = ?",
                values: [Bookkeeping.compactionLimit, shape.number])
        }
        try noteTime(timestamping.last, in: db)
    }
}
