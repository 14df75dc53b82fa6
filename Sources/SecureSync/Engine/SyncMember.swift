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

    /// 32 hexadecimal digits that name it, also in the store: a random number, no name of a device
    /// or a person.
    public var id: String { memberID.description }
    package let memberID: MemberID
    /// What it is.
    public let kind: Kind
    /// The name of the device, which the store does not see; empty for an invitation.
    public let name: String
    /// Whether it is this file.
    public let isThisDevice: Bool
    /// When it sealed the last of its batches that was applied here, by its own clock; nil before
    /// the first.
    public let lastHeard: Date?
}

/// What becomes of the rows that a file has when it joins a group.
public enum SyncLocalRows: Sendable, Hashable {
    /// They become the group's, unless it has a row of the same key: then the group's stays, and
    /// the file's is in ``SyncEngine/conflicts(in:)``.
    case keep
    /// They are removed.
    case discard
}
