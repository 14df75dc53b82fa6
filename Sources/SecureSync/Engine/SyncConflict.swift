public import Foundation
public import SecureStorage

/// A value that lost to a concurrent write, or a row that is held back.
///
/// To resolve a conflict, write the row as you want it; that write syncs like any other. Then
/// forget the conflict with ``SyncEngine/forget(_:)``.
public struct SyncConflict: Sendable, Equatable {
    /// Why it is not visible.
    public enum Reason: Sendable, Hashable {
        /// A later value exists for the same column, or for a column of its column group.
        case overwritten
        /// The row was deleted; or the row or one of its values was held back when the file moved
        /// to another group.
        case deleted
        /// The row was inserted again, or twice; the later insertion is visible.
        case replaced
        /// This device deleted the row, but was offline too long to rule out a later edit by
        /// others. The row is kept; there are no values.
        case deletionLost
        /// A row inserted earlier has the same value of a UNIQUE constraint. The row returns
        /// automatically when that value is free.
        case uniqueValueTaken
        /// A row that it refers to is missing or held back. The row returns with that row.
        case parentMissing
        /// Columns written by two members together violate a CHECK. The row returns when one of
        /// them changes.
        case checkFailed
        /// A write on this device exceeds 16 MiB, or its row 47 MiB, so it is not sent. It is sent
        /// when the row is written again with less. There are no values.
        case tooLarge
        /// The row has TEXT that is not UTF-8, so this device's write is not sent. It is sent when
        /// the row is written again without that text. There are no values.
        case notText
    }

    /// The name of the table; for a key-value store, see ``keyValueStore``.
    public let table: String
    /// The values of the primary key, in the order of its columns.
    public let key: [SQLiteValue]
    /// The values that are not visible, by column name: all values of a row that is held back.
    public let values: [String: SQLiteValue]
    /// Why it is not visible.
    public let reason: Reason
    /// When it was written, by its writer's clock.
    ///
    /// nil for a row that is held back, and where the time is not kept: for rows from before
    /// joining, and for old writes.
    public let writtenAt: Date?
    /// The ``SyncMember/id`` of the writer, which may be a former member; nil for a row that is
    /// held back, or if the writer is no longer known.
    ///
    /// A member can only write in its own name. For rows that a device brought along when it
    /// joined, and for rows in a snapshot, that device names the writer.
    public let writtenBy: SyncMember.ID?

    /// The entry in the list of lost values.
    let entry: RowConflict?

    /// The name of the key-value store; nil for a table.
    ///
    /// `key` is then the key, and `values` has those that differ of `value` (as stored), `kind` and
    /// `expires` (in seconds since 1970): see `Docs/FileFormats.md`.
    public var keyValueStore: String? { KeyValueStoreName.store(ofTable: table) }

    /// The table or the store, for people.
    package var title: String { KeyValueStoreName.title(ofTable: table) }

    /// Whether the row is kept out of its table until the reason is gone.
    ///
    /// Otherwise a value has lost for good, or exists only on this device.
    public var isHeldBack: Bool { entry == nil && !isUnsent }

    /// Whether the row is correct on this device but not sent to the others.
    public var isUnsent: Bool { reason == .tooLarge || reason == .notText }

    init(_ conflict: RowConflict) {
        table = conflict.table
        key = conflict.key
        values = Dictionary(
            zip(conflict.lost.columns, conflict.lost.values), uniquingKeysWith: { $1 })
        reason =
            switch conflict.lost.reason {
            case .overwritten: .overwritten
            case .deleted: .deleted
            case .replaced, .replacedUnseen: .replaced
            case .deletionLost: .deletionLost
            }
        let timestamp = conflict.lost.timestamp
        writtenAt =
            timestamp.milliseconds == 0
            ? nil : Date(timeIntervalSince1970: Double(timestamp.milliseconds) / 1000)
        writtenBy = timestamp.member == .none ? nil : timestamp.member.description
        entry = conflict
    }

    init(_ row: HeldBackRow) {
        table = row.table
        key = row.key
        values = Dictionary(zip(row.columns, row.values), uniquingKeysWith: { $1 })
        reason =
            switch row.standing {
            case .refused: .checkFailed
            case .duplicate: .uniqueValueTaken
            case .absent, .orphan, .waiting, .visible: .parentMissing
            }
        (writtenAt, writtenBy, entry) = (nil, nil, nil)
    }

    init(_ row: UnsentRow) {
        (table, key, values) = (row.table, row.key, [:])
        reason =
            switch row.reason {
            case .tooLarge: .tooLarge
            case .notText: .notText
            }
        (writtenAt, writtenBy, entry) = (nil, nil, nil)
    }
}

extension SyncConflict: CustomStringConvertible {
    /// The table, the reason and the columns; no values.
    public var description: String {
        let columns = values.keys.sorted().joined(separator: ", ")
        return "\(title): \(reason), \(columns)"
    }
}
