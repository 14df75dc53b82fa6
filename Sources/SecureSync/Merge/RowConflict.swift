public import Foundation
public import SecureStorage

/// Something of a row that is not in its table: values that lost to others, or a whole row that is
/// held back.
///
/// To answer one, write the row as it is wanted: that is an ordinary change, which reaches all
/// members. Then ``SyncEngine/forget(_:)`` it.
public struct RowConflict: Sendable, Hashable, Identifiable {
    /// What has happened.
    public enum Reason: Int64, Sendable, CaseIterable {
        /// Another member has written the same columns later, by the clocks.
        case overwritten = 1
        /// Another member has deleted the row.
        case deleted = 2
        /// Another member has inserted a row of the same key.
        case replaced = 3
        /// The row was held back when another of its key was inserted.
        case replacedUnseen = 4
        /// The row is held back: another one has a value that is UNIQUE.
        case notUnique = 5
        /// The row is held back: a row that it refers to is missing or held back.
        case parentMissing = 6
        /// The row is held back: it does not satisfy a CHECK, a NOT NULL or a STRICT type.
        case checkFailed = 7

        /// Whether the row is held back, and returns when it can.
        public var isHeldBack: Bool { rawValue >= Self.notUnique.rawValue }
    }

    /// Names it in this file.
    public let id: Int64
    /// The table.
    public let table: String
    /// The values of the primary key's columns, in the key's order.
    public let key: [SQLiteValue]
    /// The values that are not in the table, by their columns' names.
    public let values: [String: SQLiteValue]
    /// What has happened.
    public let reason: Reason
    /// Who wrote the values.
    public let writer: MemberID
    /// When they were written, by the writer's clock.
    public let date: Date
    /// Who wrote what is in the table; nil for a row that is held back.
    public let winner: MemberID?

    /// By its content.
    public static func == (left: RowConflict, right: RowConflict) -> Bool {
        (left.id, left.table, left.reason, left.writer, left.date, left.values)
            == (right.id, right.table, right.reason, right.writer, right.date, right.values)
            && left.key == right.key
    }

    /// By its name.
    ///
    /// - Parameter hasher: Receives the name.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(table)
    }
}
