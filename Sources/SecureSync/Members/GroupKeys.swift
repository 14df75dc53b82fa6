package import Foundation
package import SecureKeys

/// What a member needs to write and read batches: a group's members and keys at one moment.
package struct GroupKeys: Sendable {
    package let group: Data
    package let member: MemberID
    private let own: MemberKeys
    private let state: MembershipState
    private let keys: [UInt64: DataEncryptionKey]
    /// Why this member does not have the current key.
    private let failure: SyncError?
    /// What was found to count for nobody.
    let invalid: InvalidObjects
    /// Whether the chain was read after all that is judged by it, so that a member or a key that it
    /// does not name is none of the group's.
    var isCurrent = true

    /// The chain has to be read again: something was written by a member, or under a key, that has
    /// come since.
    struct Outdated: Error {}

    init(
        group: Data, own: MemberKeys, state: MembershipState,
        keys: [UInt64: DataEncryptionKey], failure: SyncError?, invalid: InvalidObjects
    ) {
        self.group = group
        self.own = own
        member = own.id
        self.state = state
        self.keys = keys
        self.failure = failure
        self.invalid = invalid
    }

    package var currentEpoch: UInt64 { state.epoch }

    /// All that ever wrote, this member and removed ones included.
    package var writers: [MemberID] {
        state.everyone.filter { $0.kind == .device && $0.role != .reader }.map(\.id)
    }

    /// Whether a member is one of the ``writers``.
    func mayWrite(_ member: MemberID) -> Bool {
        state.member(member).map { $0.kind == .device && $0.role != .reader } ?? false
    }

    /// Whether this member only reads: it has no log, and makes no snapshots.
    var isReader: Bool { !mayWrite(member) }

    /// The last batch that counts of each member that is gone.
    package var removed: [MemberID: BatchPosition] { state.removed }

    /// Whether a batch counts for nobody, since its member was removed before.
    func isLate(_ position: BatchPosition) -> Bool {
        state.removed[position.member].map { $0.number < position.number } ?? false
    }

    /// The last entry of the chain, which this member's next batches and manifests name.
    package var position: ChainPosition { state.position }

    /// Whether a member may sign snapshot `number`: one that is gone may have signed earlier ones.
    ///
    /// - Throws: `Outdated`.
    package func mayDeclare(_ member: MemberID, _ number: UInt64) throws -> Bool {
        guard let known = state.member(member) else {
            guard isCurrent else { throw Outdated() }
            return false
        }
        guard mayWrite(known.id) else { return false }
        return state.lastSnapshots[member].map { number <= $0.number } ?? true
    }

    /// Whether a manifest is one from which the group has gone on after each removal, or comes
    /// after it under a key that who was removed does not have.
    package func goesOn(_ snapshot: SnapshotPin, epoch: UInt64) -> Bool {
        state.pins.allSatisfy { pin in
            snapshot.number == pin.snapshot.number
                ? snapshot.hash == pin.snapshot.hash
                : snapshot.number < pin.snapshot.number || epoch >= pin.epoch
        }
    }

    /// The newest snapshot that an entry of the chain names; 0 if none does.
    var leastSnapshot: UInt64 { state.pins.map(\.snapshot.number).max() ?? 0 }

    /// Whether the group has gone on from a snapshot after a removal.
    func isPinned(_ snapshot: SnapshotPin) -> Bool {
        state.pins.contains { $0.snapshot == snapshot }
    }

    /// Checks that the writer of an object knows the chain that this member knows, and has used the
    /// key of its last entry.
    ///
    /// - Parameters:
    ///   - header: The object's.
    ///   - name: The object's name.
    /// - Throws: `Outdated`; ``SyncError/damaged(_:_:)``; ``SyncError/withheld(_:number:)`` if the
    ///   store does not show the chain so far.
    func requireSameChain(_ header: BatchHeader, _ name: String) throws {
        let position = header.chain
        guard let hash = state.hash(at: position.number) else {
            guard isCurrent else { throw Outdated() }
            throw SyncError.withheld(.chain, number: position.number)
        }
        guard hash == position.hash else {
            throw SyncError.damaged(
                name, "its writer has seen another chain of members than the store shows")
        }
        guard header.epoch == state.epoch(at: position.number) else {
            throw SyncError.damaged(name, "it is sealed with a key of another time")
        }
    }

    /// Whether all that a member has written is in its own log: other logs begin with what their
    /// files bring along from a group before, or from the member that they were.
    func writesAlone(_ member: MemberID) -> Bool {
        state.formers.isEmpty && !hasCopy(member)
    }

    /// Whether a member's file was copied, and a copy has gone on as another member: until then,
    /// both may have given one timestamp to two values.
    func hasCopy(_ member: MemberID) -> Bool {
        state.everyone.contains {
            state.origin(of: $0.id).map { $0.isFork && $0.author == member } ?? false
        }
    }

    /// The number of the chain's last entry.
    var lastEntry: UInt64 { state.lastEntry }

    /// Whether this member has founded the group.
    package var isFounder: Bool { state.everyone.first?.id == member }

    func hasKey(ofEpoch number: UInt64) -> Bool { keys[number] != nil }

    /// What this member seals with now.
    ///
    /// - Throws: ``SyncError/keyWithheld(by:)``.
    func currentKey() throws -> DataEncryptionKey {
        guard let key = keys[currentEpoch] else { throw failure ?? SyncError.notAMember }
        return key
    }

    package func key(ofEpoch number: UInt64) throws -> DataEncryptionKey {
        guard let key = keys[number] else { throw CBORError("its key is not known") }
        return key
    }

    package func sign(_ message: Data) throws -> Data { try own.signature(of: message) }

    package func isValid(_ signature: Data, for message: Data, by member: MemberID) -> Bool {
        state.member(member)?.keys.isValid(signature, for: message) ?? false
    }
}
