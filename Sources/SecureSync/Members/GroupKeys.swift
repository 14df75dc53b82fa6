package import Foundation
package import SecureKeys

/// What a member needs to write and read batches: a group's members and keys at one moment.
package struct GroupKeys: Sendable {
    package let group: Data
    package let member: MemberID
    private let own: MemberKeys
    private let state: MembershipState
    private let keys: [UInt64: DataEncryptionKey]
    /// Whether the chain was read after all that is judged by it, so that a member or a key that it
    /// does not name is none of the group's.
    var isCurrent = true

    /// The chain has to be read again: something was written by a member, or under a key, that has
    /// come since.
    struct Outdated: Error {}

    init(
        group: Data, own: MemberKeys, state: MembershipState,
        keys: [UInt64: DataEncryptionKey]
    ) {
        self.group = group
        self.own = own
        member = own.id
        self.state = state
        self.keys = keys
    }

    package var currentEpoch: UInt64 { state.epoch }

    /// All that ever wrote, this member and removed ones included.
    package var writers: [MemberID] { state.everyone.filter { $0.kind == .device }.map(\.id) }

    /// The last batch of each removed member that counts, as far as the chain says.
    package var removed: [MemberID: UInt64] { state.removed.mapValues(\.number) }

    /// Whether a member may sign snapshot `number`: one that is gone may have signed earlier ones.
    ///
    /// - Throws: `Outdated`.
    package func mayDeclare(_ member: MemberID, _ number: UInt64) throws -> Bool {
        guard let known = state.member(member) else {
            guard isCurrent else { throw Outdated() }
            return false
        }
        guard known.kind == .device else { return false }
        return state.lastSnapshots[member].map { number <= $0 } ?? true
    }

    /// Whether this member has founded the group.
    package var isFounder: Bool { state.everyone.first?.id == member }

    func hasKey(ofEpoch number: UInt64) -> Bool { keys[number] != nil }

    package func key(ofEpoch number: UInt64) throws -> DataEncryptionKey {
        guard let key = keys[number] else { throw CBORError("its key is not known") }
        return key
    }

    package func sign(_ message: Data) throws -> Data { try own.signature(of: message) }

    package func isValid(_ signature: Data, for message: Data, by member: MemberID) -> Bool {
        state.member(member)?.keys.isValid(signature, for: message) ?? false
    }
}
