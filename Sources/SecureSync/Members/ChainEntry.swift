package import Foundation

/// One change of the group's membership: signed, and bound to all earlier entries.
///
/// Entry n is created in the store once, so all members read the same entries in the same order.
package struct ChainEntry: Equatable, Sendable {
    package var group: Data
    /// From 1.
    package var number: UInt64
    /// The hash of all earlier objects: see `MembershipState.last`; zeros for the first one.
    package var previous: Data
    package var author: MemberID
    /// When it was made, by its author's clock, in milliseconds since 1970.
    package var time: UInt64
    package var action: Action

    package enum Action: Equatable, Sendable {
        /// The founder, and the first key.
        case found(Member, EpochKeys)
        /// A device or an invitation, and its keys.
        case add(Member, OwnKeys)
        /// Removes members. Their batches count up to these positions. Later snapshots follow the
        /// given one, under a new key for the remaining members.
        case remove([BatchPosition], EpochKeys, snapshot: SnapshotPin = .none)
        /// A new key for all.
        case rotate(EpochKeys)
        /// The author leaves; its last batch, and the newest snapshot.
        case leave(BatchPosition, snapshot: SnapshotPin = .none)
        /// The author's file has a copy: the copy becomes this member, after this batch.
        case fork(Member, OwnKeys, after: BatchPosition)
        /// Founds a group for the members of another one, the author first; the former groups,
        /// newest first.
        case succeed(formers: [Data], [Member], EpochKeys)
        /// Replaces the author's keys for receiving: a copy of the old ones is useless after the
        /// next group key, which the author can ask for.
        case update(PublicKeys, OwnKeys, asksForKey: Bool)
    }

    /// A member as it is added.
    package struct Member: Hashable, Sendable {
        package var id: MemberID
        package var keys: PublicKeys
        package var kind: Kind
        /// The member's rights; for an invitation, those of the devices that it adds.
        package var role: Role
        /// The name of the device, sealed with the key of the epoch.
        package var sealedName: Data
        package var nameEpoch: UInt64
        /// For an invitation: proves to the holder of its secret that this is the chain where it
        /// was made.
        package var mac: Data
        /// For an invitation: when it expires, in milliseconds since 1970; 0 for never.
        package var expires: UInt64 = 0
    }

    package enum Kind: UInt8, Sendable {
        case device
        /// Adds one device, and is used up.
        case invitation
        /// Adds devices until it is removed.
        case recovery
    }

    /// What a member may do; all read the group's rows.
    package enum Role: UInt8, Sendable {
        /// Writes rows, invites, removes, changes the key, and resets the group.
        case admin
        /// Writes rows, becomes another member after a copy, and leaves.
        case writer
        /// Replaces its own keys, and leaves. It has no log, and anything else that it signs is
        /// invalid.
        case reader
    }

    /// The keys wrapped for one member: the group's key, and for an admin the tree's secret.
    package struct OwnKeys: Equatable, Sendable {
        package var epoch: Data
        /// Empty unless the member is an admin and the author has the secret.
        package var secret: Data

        package init(epoch: Data, secret: Data = Data()) {
            self.epoch = epoch
            self.secret = secret
        }
    }

    /// A group's key of an epoch, sealed so that each member can open it: see ``KeyTree``.
    package struct EpochKeys: Equatable, Sendable {
        package var number: UInt64
        /// Shows a member whether it has the same key as the others.
        package var commitment: Data
        /// The key, sealed with the tree's secret.
        package var sealedForAdmins: Data
        /// The key, sealed with the root's key, for writers and readers; empty if all are admins.
        package var sealedForWriters: Data
        /// A new secret for the admins, if any.
        package var secret: Secret?
        /// The nodes of the tree with new keys, in order.
        package var nodes: [NodeKeys]
        /// The earlier key that is sealed with this one: the newest that the author has; 0 for the
        /// first.
        package var previousNumber: UInt64
        /// That key, sealed with this one; empty for the first.
        package var previous: Data

        package init(
            number: UInt64, commitment: Data, sealedForAdmins: Data, sealedForWriters: Data,
            secret: Secret?, nodes: [NodeKeys],
            previousNumber: UInt64 = 0, previous: Data = Data()
        ) {
            self.number = number
            self.commitment = commitment
            self.sealedForAdmins = sealedForAdmins
            self.sealedForWriters = sealedForWriters
            self.secret = secret
            self.nodes = nodes
            self.previousNumber = previousNumber
            self.previous = previous
        }
    }

    /// The secret of the tree, wrapped for each admin.
    package struct Secret: Equatable, Sendable {
        package var commitment: Data
        package var wrapped: [MemberID: Data]

        package init(commitment: Data, wrapped: [MemberID: Data]) {
            self.commitment = commitment
            self.wrapped = wrapped
        }
    }

    /// The key of a node of the tree.
    package struct NodeKeys: Equatable, Sendable {
        package var node: KeyTree.Node
        package var commitment: Data
        /// For the left and the right child; empty if it only has admins.
        package var wrapped: [Data]

        package init(_ node: KeyTree.Node, commitment: Data, wrapped: [Data]) {
            self.node = node
            self.commitment = commitment
            self.wrapped = wrapped
        }
    }

    static let version: UInt64 = 1
    static let signatureCount = 64
    /// A new key for a thousand writers takes 1.3 MB, a reset twice that.
    static let longest = 4 << 20
    static let longestName = 400
    static let mostKeys = 8
    /// For a public or a wrapped key; leaves room for algorithms with larger keys.
    static let longestKey = 2000
    static let commitmentCount = 32
}
