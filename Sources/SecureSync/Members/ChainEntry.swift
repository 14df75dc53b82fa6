package import Foundation

/// One change of the group's membership: signed, and bound to all that precede it.
///
/// Entry n is created in the store once, so that all members read the same ones in the same order.
package struct ChainEntry: Equatable, Sendable {
    package var group: Data
    /// From 1.
    package var number: UInt64
    /// The hash of all objects before: see `MembershipState.last`; zeros for the first one.
    package var previous: Data
    package var author: MemberID
    /// When it was made, by its author's clock, in milliseconds since 1970.
    package var time: UInt64
    package var action: Action

    package enum Action: Equatable, Sendable {
        /// The founder, and the first key.
        case found(Member, EpochKeys)
        /// A device, or an invitation, and what it gets.
        case add(Member, OwnKeys)
        /// Members are gone, their batches count up to these, and the group's snapshots go on from
        /// that one under the new key that the others get.
        case remove([BatchPosition], EpochKeys, snapshot: SnapshotPin = .none)
        /// A new key for all.
        case rotate(EpochKeys)
        /// The author goes; its last batch, and the newest snapshot.
        case leave(BatchPosition, snapshot: SnapshotPin = .none)
        /// The author's file has a copy: the copy goes on as this member, after this batch.
        case fork(Member, OwnKeys, after: BatchPosition)
        /// The members of another group go on in this one, the author first; the groups before it,
        /// the last one first.
        case succeed(formers: [Data], [Member], EpochKeys)
        /// The author receives with other keys from now on: whoever has got hold of the ones before
        /// reads nothing after the next key, which it can ask for.
        case update(PublicKeys, OwnKeys, asksForKey: Bool)
    }

    /// A member as it is added.
    package struct Member: Hashable, Sendable {
        package var id: MemberID
        package var keys: PublicKeys
        package var kind: Kind
        /// What it may do; of an invitation, what the devices that it adds may do.
        package var role: Role
        /// The name of the device, sealed with the key of the epoch.
        package var sealedName: Data
        package var nameEpoch: UInt64
        /// For an invitation: shows to the holder of its secret that this chain is the one that it
        /// was made in.
        package var mac: Data
        /// Of an invitation: when it ends, in milliseconds since 1970; 0 for never.
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
        /// Writes rows, invites, removes, changes the key, and lets the group begin anew.
        case admin
        /// Writes rows, goes on as another member after a copy, and leaves.
        case writer
        /// Replaces its own keys, and leaves. It has no log, and what else it signs does not count.
        case reader
    }

    /// What one member gets: the group's key, and, an admin, the secret of the tree.
    package struct OwnKeys: Equatable, Sendable {
        package var epoch: Data
        /// Empty but for an admin, and if the author does not have it.
        package var secret: Data

        package init(epoch: Data, secret: Data = Data()) {
            self.epoch = epoch
            self.secret = secret
        }
    }

    /// A group's key of an epoch, and what leads each member to it: see ``KeyTree``.
    package struct EpochKeys: Equatable, Sendable {
        package var number: UInt64
        /// By which a member knows whether it has got the key that the others have.
        package var commitment: Data
        /// The key, sealed with the secret of the tree.
        package var sealedForAdmins: Data
        /// The key, sealed with that of the root, for writers and readers; empty if all are admins.
        package var sealedForWriters: Data
        /// Another secret for the admins.
        package var secret: Secret?
        /// The nodes of the tree that get other keys, in their order.
        package var nodes: [NodeKeys]
        /// Which of the keys before is sealed with this one: the newest that the author has; 0 for
        /// the first.
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
        /// For the left and for the right child; empty where only admins are.
        package var wrapped: [Data]

        package init(_ node: KeyTree.Node, commitment: Data, wrapped: [Data]) {
            self.node = node
            self.commitment = commitment
            self.wrapped = wrapped
        }
    }

    static let version: UInt64 = 1
    static let signatureCount = 64
    /// A new key for a thousand writers has 1.3 MB, a group that begins anew twice that.
    static let longest = 4 << 20
    static let longestName = 400
    static let mostKeys = 8
    /// Of a public or a wrapped key; leaves room for algorithms with larger ones.
    static let longestKey = 2000
    static let commitmentCount = 32
}
