import SecureStorage

/// Writes a settlement's result to the tables.
///
/// Rows are updated in place where possible. Others are lifted: they are removed from their table,
/// with rows that a cascade would remove, and reinserted at the end. So neither swapped unique
/// values nor the order of rows matters. Foreign keys are deferred.
struct Placement {
    let settlement: Settlement
    let db: SecureDatabaseStore

    private static let savepoint = "securestorage_sync_place"

    struct Outcome {
        var written = 0
        var heldBack = 0
        var returned = 0
    }

    /// Settles and writes until no row is refused by its table.
    func run() throws -> Outcome {
        while true {
            try settlement.settle()
            let unfit = try probe()
            if !unfit.isEmpty {
                for row in unfit { settlement.refuse(row) }
                continue
            }
            try db.startSavePoint(Self.savepoint)
            var attempt = Attempt(settlement: settlement)
            let refused = try attempt.place()
            if !refused.isEmpty { try db.rollbackToSavePoint(Self.savepoint) }
            try db.releaseSavePoint(Self.savepoint)
            guard refused.isEmpty else {
                for row in refused { settlement.refuse(row) }
                continue
            }
            var outcome = try note()
            outcome.written = attempt.written
            return outcome
        }
    }

    /// Returns the held-back rows that their tables would refuse: their state must not depend on
    /// whether they were ever in their table.
    private func probe() throws -> [Settlement.Row] {
        try settlement.rows.all.filter { row in
            let table = settlement.tables[row.id.table]
            guard table.shape.mayRefuseRows, let values = row.values, row.shown != values,
                [.orphan, .duplicate, .waiting].contains(row.standing),
                // Not for the same values again, unless a migration may have changed the table.
                row.isStale || row.heldBackValues != values
                    || (row.heldBackStanding ?? .absent) < .orphan
            else { return false }
            try db.startSavePoint(Self.savepoint)
            defer {
                // A failure shows at the next use of the transaction.
                try? db.rollbackToSavePoint(Self.savepoint)
                try? db.releaseSavePoint(Self.savepoint)
            }
            do {
                _ = try table.insert(values)
                return false
            } catch let error as SecureStorageError where error.isRefusal { return true }
        }
    }

    /// Writes the clocks and the held-back rows.
    private func note() throws -> Outcome {
        var outcome = Outcome()
        for row in settlement.rows.all {
            let table = settlement.tables[row.id.table]
            if row.isClockChanged, let clock = row.clock {
                try table.clocks.set(clock, of: row.key)
            }
            let standing = row.standing
            guard standing != .absent, standing != .visible, let values = row.values else {
                guard row.heldBackStanding != nil else { continue }
                try settlement.rows.heldBack.remove(table.shape.number, row.id.key)
                if standing == .visible { outcome.returned += 1 }
                continue
            }
            if !row.isStale, row.heldBackStanding == standing, row.heldBackValues == values,
                row.heldBackBlocker == row.blocker?.key
            {
                continue
            }
            try settlement.rows.heldBack.set(
                values, of: table, row.id.key, standing, blocker: row.blocker?.key)
            if row.heldBackStanding == nil { outcome.heldBack += 1 }
        }
        return outcome
    }

    /// One attempt to write everything.
    private struct Attempt {
        let settlement: Settlement
        var written = 0
        /// Rows removed from their tables, to be reinserted if visible.
        private var lifted: Set<Settlement.RowID> = []
        private var refused: [Settlement.Row] = []

        init(settlement: Settlement) { self.settlement = settlement }

        mutating func place() throws -> [Settlement.Row] {
            let all = settlement.rows.all.sorted { $0.isBefore($1) }
            var leaving: [Settlement.Row] = []
            for row in all {
                guard let shown = row.shown else { continue }
                guard row.isVisible, let values = row.values else {
                    leaving.append(row)
                    continue
                }
                if shown != values, try !update(row, from: shown, to: values) {
                    leaving.append(row)
                }
            }
            for row in leaving { try lift(row) }
            // Lifting may have found more rows.
            for row in settlement.rows.all.sorted(by: { $0.isBefore($1) })
            where row.isVisible && (row.shown == nil || lifted.contains(row.id)) {
                guard let values = row.values else { continue }
                do {
                    if try settlement.tables[row.id.table].insert(values) {
                        written += 1
                    } else {
                        refused.append(row)
                    }
                } catch let error as SecureStorageError where error.isRefusal {
                    refused.append(row)
                }
            }
            return refused
        }

        /// Returns false for a row that has to be lifted.
        private mutating func update(
            _ row: Settlement.Row, from shown: [SQLiteValue], to values: [SQLiteValue]
        ) throws -> Bool {
            let table = settlement.tables[row.id.table]
            let changed = values.indices.filter {
                $0 >= table.keyCount && !values[$0].isIdentical(to: shown[$0])
            }
            guard !changed.contains(where: { table.isReferredTo[$0] }) else { return false }
            guard !changed.isEmpty else { return true }
            do {
                _ = try table.update(changed, to: changed.map { values[$0] }, of: row.key)
                written += 1
                return true
            } catch let error as SecureStorageError where error.isRefusal { return false }
        }

        private mutating func lift(_ row: Settlement.Row) throws {
            guard let shown = row.shown, lifted.insert(row.id).inserted else { return }
            let table = settlement.tables[row.id.table]
            for (number, reference) in table.referrers {
                let child = settlement.tables[number]
                let found = child.references[reference]
                guard found.deletesRows, found.parentPlace.bytes(of: shown) != nil else {
                    continue
                }
                let values = found.parentPlace.values(of: shown)
                for key in try child.keys(at: found.place, values) {
                    let referrer = try settlement.rows.row(child, key)
                    try lift(referrer)
                }
            }
            if try table.delete(row.key), !row.isVisible { written += 1 }
        }
    }
}

extension SQLiteValue {
    /// Equal in all bits: 0.0 and -0.0 differ.
    func isIdentical(to other: SQLiteValue) -> Bool {
        if case .real(let left) = self, case .real(let right) = other {
            return left.bitPattern == right.bitPattern
        }
        return self == other
    }
}
