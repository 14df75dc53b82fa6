internal import Foundation
package import SecureStorage

/// What a merge has done.
package struct MergeReport: Equatable, Sendable {
    /// How many changes were merged.
    package var rows = 0
    /// How many values or rows have lost to others that did not know them.
    package var conflicts = 0
}

extension Capture {
    /// Creates the tables of merging; in a write transaction.
    package func installMerging(in db: SecureDatabaseStore) throws {
        try MergeTables(db).install()
    }

    /// Merges changes of others into the file; in a write transaction, after ``stamp(in:)``.
    package func apply(_ changes: [RowChange], in db: SecureDatabaseStore) throws -> MergeReport {
        try merging(in: db) { try $0.apply(changes) }
    }

    /// Looks again at rows that are held back, after ``stamp(in:)`` has returned `changes` of this
    /// file.
    package func settle(after changes: [RowChange], in db: SecureDatabaseStore) throws {
        guard !changes.isEmpty, try MergeTables(db).hasParked() else { return }
        _ = try merging(in: db) { try $0.noteLocal(changes) }
    }

    /// Merges what waited for tables and columns, as far as they exist now.
    package func applyLater(in db: SecureDatabaseStore) throws {
        let changes = try MergeTables(db).takeLater()
        guard !changes.isEmpty else { return }
        _ = try merging(in: db) { try $0.apply(changes, isLate: true) }
    }

    private func merging(
        in db: SecureDatabaseStore, _ work: (MergeTransaction) throws -> Void
    ) throws -> MergeReport {
        let shapes = try shapes(in: db)
        return try withoutCapturing(in: db) {
            let merge = try MergeTransaction(shapes, in: db)
            try work(merge)
            try merge.settle()
            return MergeReport(rows: merge.rows, conflicts: merge.conflicts)
        }
    }

    // MARK: - Conflicts

    /// What has lost, and what is held back, the oldest first.
    package func conflicts(
        in db: SecureDatabaseStore, of table: String? = nil
    ) throws -> [RowConflict] {
        let kept = MergeTables(db)
        return try kept.conflicts(of: table) + kept.heldBack(try shapes(in: db), of: table)
    }

    /// Removes a conflict from the list; a row that is held back stays so.
    package func forget(_ conflict: RowConflict, in db: SecureDatabaseStore) throws {
        guard !conflict.reason.isHeldBack else { return }
        try db.executeUpdate(
            "DELETE FROM main.securestorage_sync_conflict WHERE id = ?", values: [conflict.id])
    }
}

extension MergeTables {
    fileprivate func conflicts(of table: String?) throws -> [RowConflict] {
        let rows = try db.executeQuery(
            """
            SELECT id, tbl, key, lost, loser, winner, reason
            FROM main.securestorage_sync_conflict WHERE ?1 IS NULL OR tbl = ?1 ORDER BY id
            """, values: [table])
        defer { rows.close() }
        var conflicts: [RowConflict] = []
        while try rows.next() {
            do {
                conflicts.append(try Self.conflict(rows))
            } catch is CBORError {
                throw SyncError.damaged("securestorage_sync_conflict", "a row cannot be read")
            }
        }
        return conflicts
    }

    private static func conflict(_ rows: SecureDatabaseResultSet) throws -> RowConflict {
        func reader(_ column: Int) -> CBORReader {
            CBORReader(rows.bytes(forColumnIndex: column) ?? [])
        }
        var (lost, loser, winner) = (reader(3), reader(4), reader(5))
        var values: [String: SQLiteValue] = [:]
        for _ in 0..<(try lost.array() / 2) {
            let column = try lost.text()
            values[column] = try lost.stored()
        }
        let (stamp, winning) = (try loser.storedStamp(), try winner.storedStamp())
        return RowConflict(
            id: try rows.number(at: 0), table: try rows.text(at: 1),
            key: RowKey(bytes: rows.bytes(forColumnIndex: 2) ?? []).values() ?? [], values: values,
            reason: RowConflict.Reason(rawValue: try rows.number(at: 6)) ?? .overwritten,
            writer: stamp.member, date: stamp.date, winner: winning.member)
    }

    fileprivate func heldBack(_ shapes: [TableShape], of table: String?) throws -> [RowConflict] {
        let reasons = try reasonsOfParked()
        return try allParked().enumerated().compactMap { index, row in
            guard let shape = shapes.first(where: { $0.number == row.table }),
                table.map({ shape.name.isSameName(as: $0) }) ?? true
            else { return nil }
            return RowConflict(
                id: -1 - Int64(index), table: shape.name, key: row.key.values() ?? [],
                values: row.state.cells.mapValues(\.value), reason: reasons[index],
                writer: row.state.life.member, date: row.state.life.date, winner: nil)
        }
    }

    private func reasonsOfParked() throws -> [RowConflict.Reason] {
        let rows = try db.executeQuery("SELECT reason FROM main.securestorage_sync_parked")
        defer { rows.close() }
        var reasons: [RowConflict.Reason] = []
        while try rows.next() {
            reasons.append(RowConflict.Reason(rawValue: try rows.number(at: 0)) ?? .parentMissing)
        }
        return reasons
    }
}

extension Stamp {
    fileprivate var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
