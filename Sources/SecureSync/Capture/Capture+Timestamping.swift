package import SecureStorage

extension Capture {
    /// Turns all marks into changes with timestamps, writes the clocks and removes the marks; in a
    /// write transaction.
    ///
    /// A change has the values that its row has now: rows that were changed twice are one change,
    /// and the whole is one state of the file. Each timestamp is above all that it overwrites, so
    /// that a clock that is wrong decides only between members that did not know of each other's
    /// write.
    ///
    /// - Returns: Empty if nothing was marked, or all marked rows are as they were.
    /// - Precondition: ``setMember(_:in:)`` was called for the file.
    package func timestamp(in db: SecureDatabaseStore) throws -> [RowChange] {
        var changes: [RowChange] = []
        try timestampMarks(of: markedShapes(in: db), in: db) { changes.append($0) }
        return changes
    }

    /// The tables of which something waits for a timestamp.
    func markedShapes(in db: SecureDatabaseStore) throws -> [TableShape] {
        try shapes(in: db).filter {
            // Others may have overwritten what could not travel.
            try db.bool(
                forQuery: """
                    SELECT EXISTS (SELECT 1 FROM main.\($0.markTable)) OR EXISTS (
                      SELECT 1 FROM main.securestorage_sync_unsent WHERE tbl = ?)
                    """, values: [$0.number]) ?? false
        }
    }

    /// As ``timestamp(in:)``, and hands over one change after the other: there may be more than fit
    /// in memory.
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
            // Numbers of marks begin again at 1.
            try db.executeUpdate(
                "UPDATE main.securestorage_sync_table SET compact_at = ? WHERE number = ?",
                values: [Bookkeeping.compactionLimit, shape.number])
        }
        try noteTime(timestamping.last, in: db)
    }
}
