public import Foundation

/// A member of a group, as this one knows it.
public struct SyncMember: Sendable, Hashable, Identifiable {
    /// What it is.
    public enum Kind: Sendable, Hashable {
        /// A device or a server with a file.
        case device
        /// An invitation for one device that was not used yet.
        case invitation
        /// An invitation that stays valid.
        case recovery

        init(_ kind: ChainEntry.Kind) {
            switch kind {
            case .device: self = .device
            case .invitation: self = .invitation
            case .recovery: self = .recovery
            }
        }
    }

    /// What it may do; of an invitation, what the devices that it adds may do.
    public enum Role: Sendable, Hashable, CaseIterable {
        /// Reads and writes rows, invites and removes members, changes the key, and lets the group
        /// begin anew.
        case admin
        /// Reads and writes rows.
        case writer
        /// Reads rows. SQLite refuses what its file's synced tables are told to write, and other
        /// members accept nothing from it: see ``SyncedTables/isReadOnly(in:)``.
        case reader

        init(_ role: ChainEntry.Role) {
            switch role {
            case .admin: self = .admin
            case .writer: self = .writer
            case .reader: self = .reader
            }
        }

        var inChain: ChainEntry.Role {
            switch self {
            case .admin: .admin
            case .writer: .writer
            case .reader: .reader
            }
        }
    }

    /// 32 hexadecimal digits that name it, also in the store: a random number, no name of a device
    /// or a person.
    public var id: String { memberID.description }
    package let memberID: MemberID
    /// What it is.
    public let kind: Kind
    /// What it may do.
    public let role: Role
    /// The ``id`` of the device that has invited it, or whose copy it is, or that has let the group
    /// begin anew with it; nil for the founder.
    public let addedBy: String?
    /// When it was added, by its own clock or that of the device that has made the code.
    public let addedAt: Date
    /// The ``id`` of the member whose file has gone on as this one: a copy, a restored backup, or
    /// somebody with that device in hand; nil for one that was invited.
    public let forkOf: String?
    /// When an invitation ends; nil for never, and for a device.
    public let expires: Date?
    /// Whether the group's keys are wrapped for it with X-Wing, which combines ML-KEM-768 and
    /// X25519: a quantum computer would not find them in what was recorded of the store.
    ///
    /// The group is as safe as its weakest member; signatures are by Ed25519 alone.
    public let isQuantumSafe: Bool
    /// The name of the device, which the store does not see; empty for an invitation.
    public let name: String
    /// Whether it is this file.
    public let isThisDevice: Bool
    /// When it sealed the last of its batches that was applied here, by its own clock; nil before
    /// the first.
    public let lastHeard: Date?
    /// How many of the batches that this device has sent the member has not confirmed; nil for this
    /// device, an invitation, and a member that has confirmed none yet, as no reader does.
    ///
    /// A member that is away confirms nothing. One that is heard, and for which the number only
    /// grows, does not see this device's batches: the store may hide them from it.
    public let unconfirmedBatches: Int?
    /// Whether it has written with an older key than the group's, more than a day after the change.
    ///
    /// By the clocks of both. The store may hide the change from that device, or it was not told
    /// yet: somebody who was removed still reads what it writes.
    public let missesNewKey: Bool

    init(
        _ member: ChainEntry.Member, origin: MembershipState.Origin?, inviter: MemberID?,
        name: String, isThisDevice: Bool, missesNewKey: Bool, lastHeard: Date?,
        unconfirmedBatches: Int?
    ) {
        memberID = member.id
        kind = Kind(member.kind)
        role = Role(member.role)
        isQuantumSafe = member.keys[.xWing] != nil
        addedBy = inviter?.description
        addedAt = Date(timeIntervalSince1970: Double(origin?.time ?? 0) / 1000)
        forkOf = origin.flatMap { $0.isFork ? $0.author.description : nil }
        expires =
            member.expires == 0
            ? nil : Date(timeIntervalSince1970: Double(member.expires) / 1000)
        self.name = name
        self.isThisDevice = isThisDevice
        self.missesNewKey = missesNewKey
        self.lastHeard = lastHeard
        self.unconfirmedBatches = unconfirmedBatches
    }
}

/// What becomes of the rows that a file has when it joins a group.
public enum SyncLocalRows: Sendable, Hashable {
    /// They become the group's, unless it has a row of the same key: then the group's stays, and
    /// the file's is in ``SyncEngine/conflicts(in:)``.
    case keep
    /// They are removed.
    case discard
}
