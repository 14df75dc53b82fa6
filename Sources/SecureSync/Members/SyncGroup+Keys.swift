internal import Foundation
internal import SecureKeys

// The keys that this member can open.
extension SyncGroup {
    /// - Throws: ``SyncError/keyWithheld(by:)`` if this member did not get the others' key,
    ///   ``SyncError/keysReplaced`` if its keys were replaced and this device lacks the new ones,
    ///   ``SyncError/notAMember``.
    func currentKey() throws -> EpochKey {
        if let key = try epochKey(state.epoch) { return key }
        guard isActive, let author = state.sealedKey(state.epoch)?.author else {
            throw SyncError.notAMember
        }
        guard try hasOwnKeys(memberKeys) else { throw SyncError.keysReplaced }
        throw SyncError.keyWithheld(by: (try? name(of: author)) ?? "")
    }

    /// The newest key that this member has.
    ///
    /// An admin that was given a wrong key continues from this one.
    func newestKey() throws -> EpochKey {
        var number = state.epoch
        while number > 0 {
            if let key = try epochKey(number) { return key }
            number -= 1
        }
        return try currentKey()
    }

    /// The key of an epoch; nil if this member never had it.
    func epochKey(_ number: UInt64) throws -> EpochKey? {
        if keysChain != state.last {
            epochKeys = [:]
            try openKeys()
            keysChain = state.last
        }
        return epochKeys[number]
    }

    /// Opens the keys wrapped for this member, and the keys sealed with them.
    ///
    /// Only keys that match the chain's commitments are accepted.
    private func openKeys() throws {
        let wrapped = state.wrappedKeys(for: memberKeys.id)
        for number in stride(from: state.epoch, to: 0, by: -1) {
            guard let sealed = state.sealedKey(number) else { continue }
            if epochKeys[number] == nil, let bytes = wrapped[number] {
                epochKeys[number] = isRight(
                    try GroupSecret(.epoch, number, unwrapping: bytes, memberKeys, group: id),
                    sealed.commitment
                ).map(EpochKey.init)
            }
            if epochKeys[number] == nil {
                epochKeys[number] = try openedByTree(number, sealed).map(EpochKey.init)
            }
            guard let key = epochKeys[number], sealed.previousNumber > 0,
                epochKeys[sealed.previousNumber] == nil,
                let commitment = state.sealedKey(sealed.previousNumber)?.commitment,
                let previous = isRight(
                    GroupSecret(
                        .epoch, sealed.previousNumber, opening: sealed.previous, with: key.secret),
                    commitment)
            else { continue }
            epochKeys[previous.number] = EpochKey(previous)
        }
    }

    /// Whether the chain has other keys for this member than this device.
    var areKeysReplaced: Bool { get throws { try !hasOwnKeys(memberKeys) } }

    /// Whether a member's keys match the chain.
    func hasOwnKeys(_ keys: MemberKeys) throws -> Bool {
        guard let known = state.member(keys.id)?.keys else { return true }
        let own = try keys.publicKeys
        // A system that lacks an algorithm may be updated.
        return known.all.allSatisfy { own.all[$0] == $1 }
    }

    /// Replaces this member's keys for receiving the group's, so that a copy of the old ones is
    /// useless after the next rotation.
    ///
    /// With `asksForKey`, an admin changes the group's key soon.
    func renewKeys(asksForKey: Bool) async throws {
        try await refresh()
        let (name, next) = (MemberKeys.name(id, memberKeys.id), memberKeys.renewed())
        // Before the others know them; the process may be killed at any moment.
        try next.save(as: name + Self.nextSuffix, in: keyStore)
        let keys = try next.publicKeys
        try await append { group in
            guard let role = group.state.activeMember(next.id)?.role else {
                throw SyncError.notAMember
            }
            return .update(
                keys, try group.ownKeys(for: next.id, keys, role, by: keys),
                asksForKey: asksForKey)
        }
        try adoptRenewedKeys()
    }

    static let nextSuffix = "-next"

    /// Switches to this member's new keys, if they are in the chain.
    func adoptRenewedKeys() throws {
        guard try !hasOwnKeys(memberKeys) else { return }
        let name = MemberKeys.name(id, memberKeys.id)
        guard let next = try? MemberKeys(named: name + Self.nextSuffix, in: keyStore),
            try hasOwnKeys(next)
        else {
            // Another engine on this file may have done it.
            if let kept = try? MemberKeys(named: name, in: keyStore), try hasOwnKeys(kept) {
                memberKeys = kept
            }
            return
        }
        try next.save(as: name, in: keyStore)
        try keyStore.remove(name + Self.nextSuffix)
        memberKeys = next
    }

    private func isRight(_ secret: GroupSecret?, _ commitment: Data) -> GroupSecret? {
        secret?.commitment(group: id) == commitment ? secret : nil
    }

    private func openedByTree(
        _ number: UInt64, _ sealed: MembershipState.SealedKey
    ) throws -> GroupSecret? {
        let (root, bytes): (GroupSecret?, Data)
        if state.member(memberKeys.id)?.role == .admin {
            (root, bytes) = (try treeSecret(atEpoch: number), sealed.forAdmins)
        } else {
            (root, bytes) = (try rootKey(atEpoch: number, sealed.height), sealed.forWriters)
        }
        guard let root else { return nil }
        return isRight(GroupSecret(.epoch, number, opening: bytes, with: root), sealed.commitment)
    }

    /// The secret from which an admin derives the keys of the tree; nil if it does not have it.
    func treeSecret(atEpoch number: UInt64) throws -> GroupSecret? {
        guard let (epoch, keys) = state.tree.secret(atEpoch: number) else { return nil }
        if let opened = openedTreeSecret, opened.number == epoch {
            return isRight(opened, keys.commitment)
        }
        guard let wrapped = keys.wrapped[memberKeys.id] else { return nil }
        let opened = isRight(
            try GroupSecret(.tree, epoch, unwrapping: wrapped, memberKeys, group: id),
            keys.commitment)
        if let opened { openedTreeSecret = opened }
        return opened
    }

    private func rootKey(atEpoch number: UInt64, _ height: Int) throws -> GroupSecret? {
        var key: GroupSecret?
        for step in state.tree.way(of: memberKeys.id, atEpoch: number, height: height) {
            let use = GroupSecret.Use.node(step.node)
            let next =
                if let key {
                    GroupSecret(use, step.epoch, opening: step.wrapped, with: key)
                } else {
                    try GroupSecret(
                        use, step.epoch, unwrapping: step.wrapped, memberKeys, group: id)
                }
            guard let right = isRight(next, step.commitment) else { return nil }
            key = right
        }
        return key
    }

    /// The keys for another member when it is added.
    func ownKeys(
        for member: MemberID, _ keys: PublicKeys, _ role: ChainEntry.Role, by author: PublicKeys
    ) throws -> ChainEntry.OwnKeys {
        var own = ChainEntry.OwnKeys(
            epoch: try currentKey().secret.wrapped(for: member, keys, by: author, group: id))
        if role == .admin, let secret = try treeSecret(atEpoch: state.epoch) {
            own.secret = try secret.wrapped(for: member, keys, by: author, group: id)
        }
        return own
    }

    /// The next key, for all except leaving members.
    func newKeys(without gone: [MemberID] = []) throws -> ChainEntry.EpochKeys {
        guard let author = state.member(memberKeys.id)?.keys else { throw SyncError.notAMember }
        let tree = state.tree(without: gone)
        let secret = tree.needsSecret ? nil : try treeSecret(atEpoch: state.epoch)
        let number = state.epoch + 1
        let making = KeyMaking(
            group: id, epoch: try .random(number),
            secret: try secret ?? .random(.tree, number), isNewSecret: secret == nil, tree: tree,
            author: author,
            members: Dictionary(
                state.active.map { ($0.id, $0.keys) }, uniquingKeysWith: { $1 }))
        return try making.keys(after: try newestKey())
    }
}
