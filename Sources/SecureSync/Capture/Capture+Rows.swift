package import SecureStorage

extension Capture {
    // MARK: - The writing member

    /// Sets the member of later timestamps; in a write transaction.
    ///
    /// In a reader's file, triggers refuse writes to the synced tables.
    package func setMember(
        _ id: MemberID, isReader: Bool = false, in db: SecureDatabaseStore
    ) throws {
        try setReadOnly(isReader, in: db)
        let number = try MemberNumbers(in: db).number(of: id)
        // Another member's lower bound does not apply: its clock may have been wrong.
        try db.executeUpdate(
            """
            UPDATE main.securestorage_sync_state
            SET lower_bound = CASE WHEN member IS ?1 THEN lower_bound ELSE 0 END, member = ?1
            """, values: [number])
    }

    /// Makes triggers refuse writes to the synced tables, or capture them.
    func setReadOnly(_ isReadOnly: Bool, in db: SecureDatabaseStore) throws {
        guard try SyncedTables.isReadOnly(in: db) != isReadOnly else { return }
        try db.executeUpdate(
            "UPDATE main.securestorage_sync_state SET read_only = ?", values: [isReadOnly])
        try install(in: db)
    }

    /// Forgets the stable point when the file joins another group; in a write transaction.
    func forgetStablePoint(in db: SecureDatabaseStore) throws {
        try db.executeUpdate("UPDATE main.securestorage_sync_state SET stable_point = 0")
    }

    /// Returns nil before ``setMember(_:in:)``.
    package func member(in db: SecureDatabaseStore) throws -> MemberID? {
        guard
            let number = try db.int64(forQuery: "SELECT member FROM main.securestorage_sync_state")
        else {
            return nil
        }
        return try MemberNumbers(in: db).member(numbered: number)
    }

    // MARK: - Times

    /// The greatest time of a given or noted timestamp.
    package func lastTime(in db: SecureDatabaseStore) throws -> UInt64 {
        UInt64(
            bitPattern: try db.int64(forQuery: "SELECT last FROM main.securestorage_sync_state")
                ?? 0)
    }

    /// Notes the time of a seen timestamp; earlier times change nothing.
    package func noteTime(_ time: UInt64, in db: SecureDatabaseStore) throws {
        let time = Int64(clamping: time)
        try db.executeUpdate(
            "UPDATE main.securestorage_sync_state SET last = ?1 WHERE last < ?1", values: [time])
    }

    /// The greatest time of forgotten clocks: rows without a clock are timestamped above it.
    package func stablePointTime(in db: SecureDatabaseStore) throws -> UInt64 {
        UInt64(
            bitPattern: try db.int64(
                forQuery: "SELECT stable_point FROM main.securestorage_sync_state")
                ?? 0)
    }

    /// Raises ``stablePointTime(in:)``; it never decreases.
    package func raiseStablePoint(to time: UInt64, in db: SecureDatabaseStore) throws {
        let time = Int64(clamping: time)
        try db.executeUpdate(
            "UPDATE main.securestorage_sync_state SET stable_point = ?1 WHERE stable_point < ?1",
            values: [time])
    }

    /// The lower bound of this member's later timestamps.
    package func lowerBound(in db: SecureDatabaseStore) throws -> UInt64 {
        UInt64(
            bitPattern: try db.int64(
                forQuery: "SELECT lower_bound FROM main.securestorage_sync_state")
                ?? 0)
    }

    /// Raises the lower bound of all later timestamps; it never decreases.
    ///
    /// - Parameters:
    ///   - milliseconds: Since 1970; its last fraction is included.
    ///   - db: In a write transaction.
    /// - Throws: The errors of the database.
    package func raiseLowerBound(to milliseconds: UInt64, in db: SecureDatabaseStore) throws {
        let time = Int64(clamping: Timestamp.time(milliseconds: milliseconds) | 0xffff)
        try db.executeUpdate(
            "UPDATE main.securestorage_sync_state SET lower_bound = ?1 WHERE lower_bound < ?1",
            values: [time])
    }

    /// This machine's time in milliseconds since 1970.
    package func machineTime(in db: SecureDatabaseStore) throws -> UInt64 {
        let time = clock(try db.int64(forQuery: "SELECT \(Bookkeeping.now)") ?? 0)
        return min(UInt64(max(time, 0)), Timestamp.greatestClock >> 16)
    }

    /// This machine's time, but never below the lower bound.
    package func now(in db: SecureDatabaseStore) throws -> UInt64 {
        max(try machineTime(in: db), try lowerBound(in: db) >> 16)
    }

    // MARK: - Rows

    /// Writes rows without capturing the writes; in a write transaction.
    ///
    /// If `body` fails, the transaction must be rolled back, or capture stays off.
    package func withoutCapturing<R>(
        in db: SecureDatabaseStore, _ body: () throws -> R
    ) throws -> R {
        let before = try db.int(forQuery: "SELECT applying FROM main.securestorage_sync_state") ?? 0
        try db.executeUpdate("UPDATE main.securestorage_sync_state SET applying = 1")
        let result: R
        do { result = try body() } catch {
            // The original error counts, not one from restoring the state.
            try? db.executeUpdate(
                "UPDATE main.securestorage_sync_state SET applying = ?", values: [before])
            throw error
        }
        try db.executeUpdate(
            "UPDATE main.securestorage_sync_state SET applying = ?", values: [before])
        return result
    }

    /// Marks every row of every synced table as if it had just been inserted.
    package func markAllRows(in db: SecureDatabaseStore) throws {
        for shape in try shapes(in: db) {
            let keys = shape.key.map(\.sqlName)
            try db.executeUpdate(
                """
                INSERT INTO main.\(shape.markTable) (\(shape.keyNames.joined(separator: ", ")), mask, at)
                SELECT \(keys.joined(separator: ", ")), \(Mark.inserted), \(Bookkeeping.now)
                FROM main.\(shape.table.sqlName)
                WHERE \(keys.map { "\($0) IS NOT NULL" }.joined(separator: " AND "))
                """)
        }
    }

    /// Whether any synced table has a row.
    func hasRows(in db: SecureDatabaseStore) throws -> Bool {
        try shapes(in: db).contains {
            try db.bool(forQuery: "SELECT EXISTS (SELECT 1 FROM main.\($0.table.sqlName))") ?? false
        }
    }

    /// Empties the synced tables, their marks and clocks, without capturing the deletions.
    ///
    /// Foreign keys are checked when the transaction ends.
    package func removeAllRows(in db: SecureDatabaseStore) throws {
        let shapes = try shapes(in: db)
        try db.executeStatements("PRAGMA defer_foreign_keys = ON")
        try withoutCapturing(in: db) {
            for shape in shapes {
                try db.executeUpdate("DELETE FROM main.\(shape.table.sqlName)")
            }
        }
        try removeAllClocks(in: db)
    }

    /// Forgets all marks and clocks: rows are as if the table had never been synced.
    package func removeAllClocks(in db: SecureDatabaseStore) throws {
        for shape in try shapes(in: db) {
            for table in [shape.markTable] + shape.clockTables {
                try db.executeUpdate("DELETE FROM main.\(table)")
            }
            try UnsentRows(db: db).removeAll(ofTable: shape.number)
        }
        try db.executeUpdate(
            "UPDATE main.securestorage_sync_table SET compact_at = \(Bookkeeping.compactionLimit)")
    }
}
