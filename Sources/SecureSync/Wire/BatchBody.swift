internal import Foundation

/// What a batch says: rows, and what its writer knew when it wrote them.
package struct BatchBody: Equatable, Sendable {
    /// When it was sealed, in milliseconds since 1970 by its writer's clock.
    package var time: UInt64
    /// How many migrations the writer's file has.
    package var schema: UInt64
    /// What the writer has applied of other logs since its batch before; the hashes have 16 bytes.
    package var positions: [BatchPosition]
    package var changes: [RowChange]
    /// Whether this batch is the last one of its transaction: all of it is applied as one.
    package var isLast: Bool
    /// Whether all timestamps in later batches of the log are its member's own, and above ``time``.
    ///
    /// Not until a log has what its file brings along: that may have been written before, and by
    /// others.
    package var hasLowerBound: Bool

    /// Later batches of the log have timestamps above this, in milliseconds since 1970; 0 if it
    /// hasLowerBound nothing.
    package var lowerBound: UInt64 { hasLowerBound ? time : 0 }

    /// Creates a body.
    ///
    /// - Parameters:
    ///   - time: As ``time``; what is beyond all timestamps becomes the greatest one's.
    ///   - schema: As ``schema``.
    ///   - positions: Hashes of 16 bytes or more, of which the first 16 are kept.
    ///   - changes: At most what `TransactionParts.split` puts into one part.
    ///   - isLast: As ``isLast``.
    ///   - hasLowerBound: As ``hasLowerBound``.
    package init(
        time: UInt64, schema: UInt64, positions: [BatchPosition], changes: [RowChange],
        isLast: Bool, hasLowerBound: Bool = true
    ) {
        self.time = min(time, Timestamp.greatestTime >> 16)
        self.schema = schema
        self.positions = positions.map {
            BatchPosition(
                member: $0.member, number: $0.number,
                hash: Data($0.hash.prefix(BatchPosition.shortHashCount)))
        }
        self.changes = changes
        self.isLast = isLast
        self.hasLowerBound = hasLowerBound
    }
}

/// The columns that a row's change has values for; rows of one shape share its names.
struct ChangeShape: Hashable {
    var table: ExactName
    var keyCount: Int
    var columnGroups: [[ExactName]]
}

extension ChangeShape {
    init(_ change: RowChange) {
        self.init(
            table: ExactName(text: change.table), keyCount: change.key.count,
            columnGroups: change.columnGroups.map { $0.columns.map(ExactName.init) })
    }

    /// Whether it is the shape of `change`; cheaper than to make that.
    func isShape(of change: RowChange) -> Bool {
        guard keyCount == change.key.count, columnGroups.count == change.columnGroups.count,
            table.isName(change.table)
        else { return false }
        for (columns, columnGroup) in zip(columnGroups, change.columnGroups) {
            guard columns.count == columnGroup.columns.count else { return false }
            for (column, name) in zip(columns, columnGroup.columns) where !column.isName(name) {
                return false
            }
        }
        return true
    }
}

/// The name of a table or column, which is another if its bytes are others: SQLite does not know
/// that composed and decomposed letters are equal, and `String` does.
struct ExactName: Hashable {
    var text: String

    static func == (left: ExactName, right: ExactName) -> Bool { left.isName(right.text) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xff as UInt8)
    }

    func isName(_ other: String) -> Bool { text.utf8.elementsEqual(other.utf8) }
}
