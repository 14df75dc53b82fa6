package import Foundation

/// A member of a group, as this one knows it.
package struct SyncMember: Sendable, Hashable, Identifiable {
    /// What it is.
    package enum Kind: Sendable, Hashable {
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

    /// 16 random bytes that name it, also in the store.
    package let id: MemberID
    /// What it is.
    package let kind: Kind
    /// The name of the device, which the store does not see; empty for an invitation.
    package let name: String
    /// Whether it is this file.
    package let isThisDevice: Bool
    /// When it sealed the last of its batches that was applied here, by its own clock; nil before
    /// the first.
    package let lastHeard: Date?
}

/// What becomes of the rows that a file has when it joins a group.
package enum SyncLocalRows: Sendable, Hashable {
    /// They become the group's, unless it has a row of the same key: then the group's stays, and
    /// the file's is in ``SyncEngine/conflicts(in:)``.
    case keep
    /// They are removed.
    case discard
}
