internal import Foundation

/// The content of a batch: rows, and its writer's knowledge at that time.
package struct BatchBody: Equatable, Sendable {
    /// When it was sealed, in milliseconds since 1970 by its writer's clock.
    package var time: UInt64
    /// How many migrations the writer's file has.
    package var schema: UInt64
    /// The positions of other logs that the writer applied since its previous batch; the hashes
    /// have 16 bytes.
    package var positions: [BatchPosition]
    package var changes: [RowChange]
    /// Whether this batch is the last of its transaction, which is applied atomically.
    package var isLast: Bool
    /// Whether all timestamps in later batches of the log are its member's own, and above ``time``.
    ///
    /// False until the log has the changes that its file brings along: these may be older, and by
    /// other members.
    package var hasLowerBound: Bool

    /// Later batches of the log have timestamps above this, in milliseconds since 1970; 0 if it has
    /// no lower bound.
    package var lowerBound: UInt64 { hasLowerBound ? time : 0 }

    /// Creates a body.
    ///
    /// - Parameters:
    ///   - time: As ``time``, limited to the greatest timestamp's.
    ///   - schema: As ``schema``.
    ///   - positions: Hashes of 16 bytes or more, of which the first 16 are kept.
    ///   - changes: At most one part by `TransactionParts.split`.
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

/// The columns for which a row's change has values; rows of one shape share its names.
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

    /// Whether it is the shape of `change`; cheaper than creating that shape.
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

/// The name of a table or column, compared by bytes: to `String`, composed and decomposed letters
/// are equal, but not to SQLite.
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
