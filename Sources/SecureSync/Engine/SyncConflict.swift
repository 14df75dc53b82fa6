public import Foundation
public import SecureStorage

/// Something that was written and is not seen: values that lost against others whose writer did not
/// know them, or a whole row that is held back.
///
/// To answer one, write the row as it is to be: that reaches all members as any write does. Then
/// forget the conflict with ``SyncEngine/forget(_:)``.
public struct SyncConflict: Sendable, Equatable {
    /// Why it is not seen.
    public enum Reason: Sendable, Hashable {
        /// Another value of the same column, or of a column that wins or loses with it, is later.
        case overwritten
        /// The row was deleted; or it, or a value of it, was held back when the file went into
        /// another group.
        case deleted
        /// The row was inserted again, or twice; the later insertion is what is seen.
        case replaced
        /// This device deleted the row, and was silent for so long that nobody can tell whether the
        /// deletion or an edit by others is later. The row stands; there are no values.
        case deletionLost
        /// Another row that was inserted earlier has the same value of a UNIQUE constraint. The row
        /// returns by itself when that value is free.
        case uniqueValueTaken
        /// A row that it refers to is not there, or is held back itself. The row returns with that
        /// one.
        case parentMissing
        /// Columns that two members wrote break a CHECK together. The row returns when one is
        /// changed.
        case checkFailed
        /// What was written here has more than 16 MiB, or its row more than 48 MiB, so that it is
        /// not sent; it is sent when the row is written again, and smaller. There are no values.
        case tooLarge
        /// The row has a TEXT that is not UTF-8, so that what was written here is not sent; it is
        /// sent when the row is written again, without that. There are no values.
        case notText
    }

    /// The name of the table; for a key-value store, see ``keyValueStore``.
    public let table: String
    /// The values of the primary key, in the order of its columns.
    public let key: [SQLiteValue]
    /// What is not seen, by the names of the columns: all of a row that is held back.
    public let values: [String: SQLiteValue]
    /// Why it is not seen.
    public let reason: Reason
    /// When it was written, by its writer's clock; nil for a row that is held back, and where the
    /// time is not kept: of what was in a file before it joined, and of what was written long ago.
    public let writtenAt: Date?
    /// Who wrote it: the ``SyncMember/id`` of a member, or of a former one; nil for a row that is
    /// held back, or if that is not known any more.
    ///
    /// A member writes in its own name only. Of rows that a device brought along when it joined, or
    /// that came with a snapshot, it is who that device says.
    public let writtenBy: SyncMember.ID?

    /// The entry in the list of what has lost.
    let entry: RowConflict?

    /// The name of the key-value store; nil for a table.
    ///
    /// `key` is then the key, and `values` has what differs of `value` as it is stored, its `kind`,
    /// and when it `expires`, in seconds since 1970: see `Docs/FileFormats.md`.
    public var keyValueStore: String? { KeyValueStoreName.store(ofTable: table) }

    /// The table or the store, for people.
    package var title: String { KeyValueStoreName.title(ofTable: table) }

    /// Whether the row is kept out of its table until the reason goes; otherwise it is one that has
    /// lost for good, or that is only here.
    public var isHeldBack: Bool { entry == nil && !isUnsent }

    /// Whether the row is as it should be here, and the others do not have it so.
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
