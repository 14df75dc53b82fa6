public import Foundation

/// A member of a group, as this one knows it.
public struct SyncMember: Sendable, Hashable, Identifiable {
    /// The kinds of members.
    public enum Kind: Sendable, Hashable {
        /// A device or a server with a file.
        case device
        /// An unused invitation for one device.
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

    /// The member's rights; for an invitation, those of the devices that it adds.
    public enum Role: Sendable, Hashable, CaseIterable {
        /// Reads and writes rows, invites and removes members, changes the key, and resets the
        /// group.
        case admin
        /// Reads and writes rows.
        case writer
        /// Reads rows. SQLite rejects writes to its file's synced tables, and other members accept
        /// nothing from it: see ``SyncedTables/isReadOnly(in:)``.
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

    /// 32 hexadecimal digits that identify it, including in the store: a random number, not the
    /// name of a device or a person.
    public var id: String { memberID.description }
    package let memberID: MemberID
    /// Its kind.
    public let kind: Kind
    /// Its rights.
    public let role: Role
    /// The ``id`` of the device that invited it, of which it is a copy, or that reset the group
    /// with it; nil for the founder.
    public let addedBy: String?
    /// When it was added, by its own clock or by that of the inviting device.
    public let addedAt: Date
    /// The ``id`` of the member whose file became this one: through a copy, a restored backup, or
    /// someone with that device; nil for an invited member.
    public let forkOf: String?
    /// When an invitation expires; nil for never, and for a device.
    public let expires: Date?
    /// Whether the group's keys are wrapped for it with X-Wing, which combines ML-KEM-768 and
    /// X25519: a quantum computer could not recover them from recorded objects.
    ///
    /// The group is as safe as its weakest member; signatures are by Ed25519 alone.
    public let isQuantumSafe: Bool
    /// The name of the device, which the store does not see; empty for an invitation.
    public let name: String
    /// Whether it left or was removed: one of ``SyncEngine/formerMembers()``.
    public let isFormer: Bool
    /// Whether it is this file.
    public let isThisDevice: Bool
    /// When it sealed its last batch applied here, by its own clock; nil before the first.
    public let lastHeard: Date?
    /// How many of this device's sent batches the member has not acknowledged; nil for this device,
    /// an invitation, and a member without any acknowledgement, such as a reader.
    ///
    /// An offline member acknowledges nothing. If a member is active and its number only grows, it
    /// does not see this device's batches: the store may hide them from it.
    public let unconfirmedBatches: Int?
    /// Whether it wrote with an old group key more than a day after the key changed.
    ///
    /// Judged by both devices' clocks. The store may hide the change from that device, or the
    /// device has not read it yet: removed members can still read its writes.
    public let missesNewKey: Bool

    init(
        _ member: ChainEntry.Member, isFormer: Bool, origin: MembershipState.Origin?,
        inviter: MemberID?,
        name: String, isThisDevice: Bool, missesNewKey: Bool, lastHeard: Date?,
        unconfirmedBatches: Int?
    ) {
        memberID = member.id
        self.isFormer = isFormer
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

/// What to do with a file's existing rows when it joins a group.
public enum SyncLocalRows: Sendable, Hashable {
    /// Add them to the group. If the group has a row with the same key, the group's row stays, and
    /// the file's is listed in ``SyncEngine/conflicts(in:)``.
    case keep
    /// Remove them.
    case discard
}
