package import Foundation
package import SecureKeys

/// A group's members and keys at one moment, for writing and reading batches.
package struct GroupKeys: Sendable {
    package let group: Data
    package let member: MemberID
    private let own: MemberKeys
    private let state: MembershipState
    private let keys: [UInt64: DataEncryptionKey]
    /// Why this member does not have the current key.
    private let failure: SyncError?
    /// Objects found to be invalid.
    let invalid: InvalidObjects
    /// Whether the chain was read after all objects that it judges, so that unknown members and
    /// keys do not belong to the group.
    var isCurrent = true

    /// The chain has to be read again: an object's member or key is not known yet.
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

    /// All members that may have a log, including this one and removed ones.
    package var writers: [MemberID] {
        state.everyone.filter { $0.kind == .device && $0.role != .reader }.map(\.id)
    }

    /// Whether a member is one of the ``writers``.
    func mayWrite(_ member: MemberID) -> Bool {
        state.member(member).map { $0.kind == .device && $0.role != .reader } ?? false
    }

    /// Whether this member only reads: it has no log, and writes no snapshots.
    var isReader: Bool { !mayWrite(member) }

    /// The last batch that counts of each removed member.
    package var removed: [MemberID: BatchPosition] { state.removed }

    /// Whether a batch is invalid because its member was already removed, or replaces the last one
    /// that counts.
    func isLate(_ position: BatchPosition) -> Bool {
        guard position.number > 0, let last = state.removed[position.member] else { return false }
        return position.number == last.number
            ? !last.hash.starts(with: position.hash) : position.number > last.number
    }

    /// Whether a member was removed by another one, which decided what of its writes counts.
    func wasRemoved(_ id: MemberID) -> Bool { removed[id] != nil && !state.left.contains(id) }

    /// The last entry of the chain, which this member's next batches and manifests name.
    package var position: ChainPosition { state.position }

    /// Whether a member may sign snapshot `number`: a removed one may have signed earlier ones.
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

    /// Whether a manifest, for each removal, is the one from which the group continues, or a later
    /// one under a key that the removed member does not have.
    ///
    /// - Parameters:
    ///   - snapshot: Its number, and its hash or the first bytes of it.
    ///   - epoch: That of the key that seals it, or that seals a batch whose writer had adopted it.
    /// - Returns: Whether it is.
    package func agreesWithPins(_ snapshot: SnapshotPin, epoch: UInt64) -> Bool {
        state.pins.allSatisfy { pin in
            snapshot.number == pin.snapshot.number
                ? pin.snapshot.hash.starts(with: snapshot.hash)
                : snapshot.number < pin.snapshot.number || epoch >= pin.epoch
        }
    }

    /// The snapshot from which the group continues after the last removal; nil if there was none.
    ///
    /// A later one that an earlier removal names no longer counts: its key is from before this one.
    var lastPin: SnapshotPin? { state.pins.last?.snapshot }

    /// The number of the ``lastPin``, or 0.
    var leastSnapshot: UInt64 { lastPin?.number ?? 0 }

    /// Whether the entry by which its writer went names a snapshot, or another removal does.
    func isNamed(_ snapshot: SnapshotPin, by writer: MemberID) -> Bool {
        state.lastSnapshots[writer] == snapshot || isPinned(snapshot)
    }

    /// Whether the group continues from this snapshot after a removal.
    func isPinned(_ snapshot: SnapshotPin) -> Bool {
        state.pins.contains { $0.snapshot == snapshot }
    }

    /// Checks that the writer of an object knows the same chain as this member, and used the key of
    /// its last entry.
    ///
    /// - Parameters:
    ///   - header: The object's.
    ///   - name: The object's name.
    /// - Throws: `Outdated`; ``SyncError/damaged(_:_:)``; ``SyncError/withheld(_:number:)`` if the
    ///   store does not show that part of the chain.
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

    /// Whether all of a member's writes are in its own log: other logs begin with changes from a
    /// former group, or of the file's former member.
    func writesAlone(_ member: MemberID) -> Bool {
        state.formers.isEmpty && !hasCopy(member)
    }

    /// Whether a copy of a member's file became another member: before that, both may have given
    /// one timestamp to two values.
    func hasCopy(_ member: MemberID) -> Bool {
        state.everyone.contains {
            state.origin(of: $0.id).map { $0.isFork && $0.author == member } ?? false
        }
    }

    /// The number of the chain's last entry.
    var lastEntry: UInt64 { state.lastEntry }

    /// Whether this member founded the group.
    package var isFounder: Bool { state.everyone.first?.id == member }

    func hasKey(ofEpoch number: UInt64) -> Bool { keys[number] != nil }

    /// The key with which this member seals now.
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
