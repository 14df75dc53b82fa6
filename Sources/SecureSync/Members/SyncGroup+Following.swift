internal import Foundation
internal import ObjectStores
internal import SecureKeys

// The group that follows this one after a reset: because a store lost objects, or to use another
// store. See Docs/Decisions/0039-a-group-that-follows-another.md.
extension SyncGroup {
    /// A group that follows this one.
    struct Successor: Equatable, Sendable {
        /// The group's 16 bytes.
        var id: Data
        /// The first entry of its chain, and its author in this group.
        var entry: Data
        var founder: MemberID
    }

    /// The group that follows this one, if the store shows a valid one: founded by an admin of this
    /// group.
    ///
    /// - Throws: ``SyncError/groupHasMoved`` if it is in another store; the store's errors.
    func successor() async throws -> Successor? {
        var isElsewhere = false
        let invalid = invalid
        for name in candidates where !invalid.contains(name) {
            guard let bytes = try await store.read(name) else { continue }
            guard let next = counting(bytes) else {
                invalid.insert(name, size: bytes.count)
                continue
            }
            if try await Self.isThere(next, in: store) { return next }
            isElsewhere = true
        }
        if isElsewhere { throw SyncError.groupHasMoved }
        return nil
    }

    private static func isThere(
        _ successor: Successor, in store: any ObjectStore
    ) async throws -> Bool {
        let first = SyncNames.chainEntry(group: successor.id, number: 1)
        return try await store.read(first) == successor.entry
    }

    /// Returns nil if the bytes do not name a valid successor.
    private func counting(_ bytes: Data) -> Successor? {
        guard let entry = try? ChainEntry(reading: bytes),
            case .succeed(let formers, let members, _) = entry.action, formers.contains(id),
            let author = state.activeMember(entry.author), author.kind == .device,
            author.role == .admin, members.first?.keys.signing == author.keys.signing
        else { return nil }
        // Checks that it is signed with those keys.
        var state = MembershipState()
        guard (try? state.apply(bytes)) != nil else { return nil }
        return Successor(id: entry.group, entry: bytes, founder: entry.author)
    }

    /// Notes the listed objects that may name a successor.
    func noteCandidates(_ objects: [StoredObject]) {
        let prefix = SyncNames.successors(group: id)
        candidates = objects.filter { object in
            SyncNames.number(of: object.name, after: prefix) != nil
                && object.size <= ChainEntry.longest
        }.map(\.name)
    }

    /// Creates, in a store, the chain of a group with this group's devices and recovery codes.
    ///
    /// Nobody moves there before ``announce(_:after:in:)``.
    func foundSuccessor(in store: any ObjectStore) async throws -> SyncGroup {
        guard let member = state.activeMember(member), member.role == .admin else {
            throw SyncError.notAllowed("only an admin resets or moves the group")
        }
        let next = Data(RandomBytes.make(16))
        try await store.probe(under: SyncNames.all(group: next))
        try memberKeys.save(as: MemberKeys.name(next, member.id), in: keyStore)
        let epoch = try EpochKey.random(1)
        let others = state.active.filter { $0.id != member.id && $0.kind != .invitation }
        let members = [member] + others
        let records = try members.map { try epoch.naming($0, name(of: $0.id)) }
        let keys = try KeyMaking(group: next, first: epoch, members, by: member.keys).keys()
        let formers = Array(([id] + state.formers).prefix(MembershipState.mostFormers))
        let group = SyncGroup(next, memberKeys, in: store, keyStore: keyStore)
        try await group.append { _ in .succeed(formers: formers, records, keys) }
        return group
    }

    /// Announces the following group in a store to the members of this one.
    ///
    /// The store may have lost entries that this member has read; members that have read less need
    /// them to verify the founder. If another admin was faster, the members follow that admin's
    /// group.
    ///
    /// - Parameters:
    ///   - entry: The first entry of the other group's chain.
    ///   - formerChains: The known chains of former groups.
    ///   - store: The store that the members use.
    /// - Throws: The store's errors.
    func announce(
        _ entry: Data, after formerChains: [Data: [Data]], in store: any ObjectStore
    ) async throws {
        // Members of former groups find the next group, and continue there.
        var next = entry
        for group in [id] + state.formers {
            guard let chain = group == id ? entries : formerChains[group], let first = chain.first
            else { return }
            try await complete(chain, of: group, in: store)
            var number: UInt64 = 1
            while try await !isAnnounced(
                next, as: SyncNames.successor(group: group, number: number), in: store)
            {
                number += 1
            }
            next = first
        }
    }

    private func complete(
        _ chain: [Data], of group: Data, in store: any ObjectStore
    ) async throws {
        for (index, bytes) in chain.enumerated() {
            // Only the hash of an invalid entry is known, and nobody could read beyond it.
            guard bytes.count > MembershipState.hashCount else { return }
            let name = SyncNames.chainEntry(group: group, number: UInt64(index + 1))
            _ = try await store.create(name, bytes)
        }
    }

    /// Whether an object names the successor, or another valid one.
    private func isAnnounced(
        _ entry: Data, as name: String, in store: any ObjectStore
    ) async throws -> Bool {
        if try await store.create(name, entry) { return true }
        // The answer may have been lost.
        guard let bytes = try await store.read(name) else { return false }
        if bytes == entry { return true }
        guard let other = counting(bytes) else { return false }
        return try await Self.isThere(other, in: store)
    }

    /// Adds a device of the former group.
    func add(_ member: ChainEntry.Member, named name: String) async throws {
        try await append { group in
            guard group.state.member(member.id) == nil else { return nil }
            return .add(
                try group.currentKey().naming(member, name),
                try group.ownKeys(for: member.id, member.keys, member.role, by: group.ownRecord()))
        }
    }

    /// The following group in its current state, for the first of `members` that belongs to it.
    ///
    /// - Throws: ``SyncError/notAMember`` if none does; a transient error if one may still be
    ///   added, since the founder did not know it; the store's errors.
    func following(_ successor: Successor, as members: [MemberID]) async throws -> SyncGroup {
        var state = MembershipState()
        var entries: [Data] = []
        try Self.take(successor.entry, successor.id, &state, &entries)
        let group = SyncGroup(
            successor.id, memberKeys, in: store, keyStore: keyStore, chain: (state, entries))
        try await group.refresh()
        let now = await group.state
        guard let member = members.first(where: now.isActive) else {
            let known = members.filter { self.state.activeMember($0)?.kind == .device }
            guard known.contains(where: { now.member($0) == nil }) else {
                throw SyncError.notAMember
            }
            throw SyncError.notAddedYet
        }
        let keys = try await keys(of: member, in: group)
        if now.member(member)?.kind == .device {
            try keys.save(as: MemberKeys.name(successor.id, member), in: keyStore)
        }
        try await group.become(keys)
        return group
    }

    /// This device's keys of a member, as known in a following group.
    ///
    /// Another engine of this device may have replaced them, and the store may not show that here.
    private func keys(of member: MemberID, in next: SyncGroup) async throws -> MemberKeys {
        let name = MemberKeys.name(id, member)
        // A code's keys are in no key store.
        var all = member == memberKeys.id ? [memberKeys] : []
        for name in [MemberKeys.name(next.id, member), name, name + Self.nextSuffix] {
            do { all.append(try MemberKeys(named: name, in: keyStore)) } catch KeyStoreError
                .notFound
            {}
        }
        for keys in all where try await next.hasOwnKeys(keys) { return keys }
        guard let keys = all.first else { throw KeyStoreError.notFound(name: name) }
        return keys
    }

    private func become(_ keys: MemberKeys) throws {
        (member, memberKeys) = (keys.id, keys)
        try adoptRenewedKeys()
    }
}
