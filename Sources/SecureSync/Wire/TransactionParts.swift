internal import Foundation
internal import SecureStorage

/// The parts of one transaction: a large one takes several batches, which are applied as one.
package enum TransactionParts {
    package static let longestRow = 16 << 20
    /// Several transactions, each changing one column, can make a row larger than one transaction
    /// may.
    ///
    /// In a snapshot, such a row is part of an object of at most 64 MiB.
    package static let longestWholeRow = 48 << 20
    /// Leaves room for names and timestamps below ``longestWholeRow``.
    static let longestRowAtHome = longestWholeRow - (1 << 20)
    static let mostRows = 1000
    static let mostBytes = 256 << 10
    /// A reader has the whole transaction in memory, so a longer one is split.
    static let longest = 32 << 20

    /// Divides changes into parts of at most 1,000 rows or 256 KiB, unless one row is larger.
    ///
    /// - Parameters:
    ///   - changes: In their order.
    ///   - longestRow: How many bytes a row may have: 16 MiB in one transaction.
    /// - Returns: At least one part, which may be empty.
    /// - Throws: ``SyncError/rowTooLarge(_:)`` for a larger row.
    package static func split(
        _ changes: [RowChange], longestRow: Int = longestRow
    ) throws -> [[RowChange]] {
        var splitting = Splitting(longestRow: longestRow)
        let parts = try changes.compactMap { try splitting.add($0) }
        return parts + [splitting.part]
    }

    /// Divides a sequence of changes.
    struct Splitting {
        /// How many bytes a row may have.
        let longestRow: Int
        /// The part that is not full yet.
        private(set) var part: [RowChange] = []
        private var bytes = 0

        init(longestRow: Int = TransactionParts.longestRow) { self.longestRow = longestRow }

        /// - Returns: The full part, if the change does not fit in it.
        /// - Throws: ``SyncError/rowTooLarge(_:)``.
        mutating func add(_ change: RowChange) throws -> [RowChange]? {
            var size = TransactionParts.size(of: change)
            // A batch lists names once. Only the last row is checked for the same names;
            // overestimating the size of names is harmless.
            if part.last.map({ !TransactionParts.hasSameNames(change, $0) }) ?? true {
                size += TransactionParts.sizeOfNames(of: change)
            }
            guard size <= longestRow else { throw SyncError.rowTooLarge(change.table) }
            var full: [RowChange]?
            if !part.isEmpty,
                part.count == TransactionParts.mostRows
                    || bytes + size > TransactionParts.mostBytes
            {
                (full, part, bytes) = (part, [], 0)
            }
            part.append(change)
            bytes += size
            return full
        }
    }

    /// Divides rows that others may lack by columns: a batch holds at most one transaction's write
    /// to a row, and each column group was written by one transaction.
    ///
    /// - Parameters:
    ///   - changes: In their order.
    ///   - longestRow: How many bytes a change may have.
    /// - Returns: The same rows, some as several consecutive changes.
    static func divided(
        _ changes: [RowChange], longestRow: Int = longestRow
    ) -> [RowChange] {
        guard changes.contains(where: { isTooLong($0, longestRow) }) else { return changes }
        return changes.flatMap { change -> [RowChange] in
            guard isTooLong(change, longestRow), change.columnGroups.count > 1 else {
                return [change]
            }
            var (all, next) = ([RowChange](), change)
            next.columnGroups = []
            for columnGroup in change.columnGroups {
                var longer = next
                longer.columnGroups.append(columnGroup)
                if !next.columnGroups.isEmpty, isTooLong(longer, longestRow) {
                    all.append(next)
                    next.columnGroups = [columnGroup]
                } else {
                    next = longer
                }
            }
            return all + [next]
        }
    }

    /// Joins changes from ``divided(_:longestRow:)``: a row is created at once, with all its
    /// values.
    static func joined(_ changes: [RowChange]) -> [RowChange] {
        guard zip(changes, changes.dropFirst()).contains(where: { continues($1, $0) }) else {
            return changes
        }
        var all: [RowChange] = []
        for change in changes {
            if let last = all.last, continues(change, last) {
                all[all.count - 1].columnGroups += change.columnGroups
            } else {
                all.append(change)
            }
        }
        return all
    }

    /// Whether a change continues the row of the previous one.
    private static func continues(_ change: RowChange, _ last: RowChange) -> Bool {
        change.incarnation == last.incarnation && change.table == last.table
            && change.key == last.key
    }

    /// Whether a part ends a transaction: all rows are one transaction, unless they would take more
    /// than 32 MiB of memory.
    ///
    /// A larger part is a separate transaction, and a divided row stays in one.
    ///
    /// - Parameters:
    ///   - memory: The size of the transaction's parts so far.
    ///   - last: Their last change.
    ///   - next: The next part.
    ///   - longest: In bytes.
    /// - Returns: Whether the next part begins another transaction.
    static func isLast(
        after memory: Int, _ last: RowChange?, before next: [RowChange], longest: Int = longest
    ) -> Bool {
        if let last, let first = next.first, continues(first, last) { return false }
        return memory + self.memory(of: next) > longest
    }

    /// The approximate size of changes in memory.
    static func memory(of changes: some Sequence<RowChange>) -> Int {
        changes.reduce(0) { $0 + size(of: $1) + 100 + 90 * $1.columnGroups.count }
    }

    /// Whether a change is larger than a transaction may write at once.
    static func isTooLong(_ change: RowChange, _ longestRow: Int = longestRow) -> Bool {
        size(of: change) + sizeOfNames(of: change) > longestRow
    }

    static func size(of values: some Sequence<SQLiteValue>) -> Int {
        values.reduce(0) { $0 + size(of: $1) }
    }

    /// The approximate size of a change in a body, without names; in the worst case, timestamps add
    /// a few times this.
    static func size(of change: RowChange) -> Int {
        var size = 16
        for value in change.key { size += self.size(of: value) }
        for columnGroup in change.columnGroups {
            size += 8
            for value in columnGroup.values { size += self.size(of: value) }
        }
        return size
    }

    private static func size(of value: SQLiteValue) -> Int {
        switch value {
        case .null: 1
        case .integer, .real: 9
        case .text(let text): 5 + text.utf8.count
        case .blob(let bytes): 5 + bytes.count
        }
    }

    fileprivate static func hasSameNames(_ left: RowChange, _ right: RowChange) -> Bool {
        left.table == right.table
            && left.columnGroups.elementsEqual(right.columnGroups) { $0.columns == $1.columns }
    }

    fileprivate static func sizeOfNames(of change: RowChange) -> Int {
        change.columnGroups.reduce(5 + change.table.utf8.count) { size, columnGroup in
            columnGroup.columns.reduce(size) { $0 + 5 + $1.utf8.count }
        }
    }
}

/// Assembles a log's transactions from their batches.
///
/// Holds all rows of a transaction until the last part.
package struct TransactionAssembly {
    private var begun: BatchBody?
    private var size = 0
    private let longest: Int

    /// `longest` limits a transaction's size in memory: a hostile one could use all of it.
    package init(longest: Int = TransactionParts.longest + TransactionParts.longestWholeRow) {
        self.longest = longest
    }

    /// Whether parts were added, but not the last one.
    package var isOpen: Bool { begun != nil }

    /// Adds the next batch of a log.
    ///
    /// - Returns: The whole transaction, with the positions of all its parts and the time of the
    ///   last, if this was its last.
    /// - Throws: `CBORError` if it is longer than any valid one.
    package mutating func add(_ body: BatchBody) throws -> BatchBody? {
        size += TransactionParts.memory(of: body.changes)
        // A transaction with a single part is not longer than an object.
        guard body.isLast && begun == nil || size <= longest else {
            throw CBORError("its transaction is too long")
        }
        defer { if body.isLast { size = 0 } }
        guard var whole = begun else {
            if body.isLast { return body }
            begun = body
            return nil
        }
        // Otherwise appending each part would copy the earlier ones.
        begun = nil
        whole.positions += body.positions
        whole.changes += body.changes
        (whole.time, whole.schema) = (body.time, body.schema)
        (whole.isLast, whole.hasLowerBound) = (body.isLast, body.hasLowerBound)
        if body.isLast { return whole }
        begun = whole
        return nil
    }
}
