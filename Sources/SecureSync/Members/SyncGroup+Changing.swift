internal import Foundation
internal import ObjectStores
internal import SecureKeys

// Changing the group: each change is an entry of the chain.
extension SyncGroup {
    /// The next entry's action; nil if it is no longer needed.
    typealias MakingAction = @Sendable (isolated SyncGroup) throws -> ChainEntry.Action?

    /// Creates the next entry; if another member was faster, builds it again after that one.
    func append(_ makeAction: MakingAction) async throws {
        for _ in 0..<100 {
            guard let action = try makeAction(self) else { return }
            let entry = ChainEntry(
                group: id, number: state.count + 1, previous: state.last, author: memberKeys.id,
                time: Self.now(), action: action)
            let bytes = try entry.signed(by: memberKeys)
            // An entry that others would refuse is not stored.
            var next = state
            do {
                try next.apply(bytes)
            } catch let refusal as MembershipState.Refusal {
                guard state.isActive(memberKeys.id) || state.count == 0 else {
                    throw SyncError.notAMember
                }
                throw SyncError.notAllowed(refusal.reason)
            }
            let name = SyncNames.chainEntry(group: id, number: entry.number)
            var isOurs = try await store.create(name, bytes)
            // The answer to an earlier attempt may have been lost.
            if !isOurs { isOurs = try await store.read(name) == bytes }
            if isOurs {
                // Another call may have read it, or forgotten invalid places before it.
                if state.count + 1 == entry.number {
                    try Self.take(bytes, id, &state, &entries)
                } else if state.count < entry.number {
                    try await refresh()
                }
                // Only a hint.
                try? await store.setMark(ofGroup: id)
                return
            }
            try await refresh()
        }
        throw SyncError.tryAgain("other members change the group all the time")
    }

    /// Milliseconds since 1970, by this machine's clock.
    static func now() -> UInt64 { UInt64(max(0, Date().timeIntervalSince1970 * 1000)) }

    /// Adds an invitation that may expire; the devices that it adds have its role.
    ///
    /// `expires` is in milliseconds since 1970, 0 for never.
    package func invite(
        _ kind: SyncInvitation.Kind, role: ChainEntry.Role, expires: UInt64 = 0,
        forOlderSystems: Bool = false
    ) async throws -> SyncInvitation {
        let invitation = SyncInvitation(.random())
        let guest = MemberKeys(of: invitation.secret)
        try await refresh()
        try await append { group in
            let epoch = try group.currentKey()
            let (number, previous) = (group.state.count + 1, group.state.last)
            var record = try group.record(guest, "", role, epoch)
            record.kind = kind == .once ? .invitation : .recovery
            record.mac = invitation.mac(group.id, number, previous)
            record.expires = expires
            if forOlderSystems { record.keys[.xWing] = nil }
            return .add(
                record, try group.ownKeys(for: guest.id, record.keys, role, by: group.ownRecord()))
        }
        return invitation
    }

    /// Removes other members, whose batches count up to `positions`, and gives the rest a new key,
    /// which later snapshots than `snapshot` must use.
    ///
    /// - Parameters:
    ///   - positions: The last batch of each that counts.
    ///   - snapshot: The newest one.
    ///   - former: Those that are former members already, and are removed again.
    ///   - kept: Unless nil, all other forks of the members go with them, also those that come
    ///     while this call looks for a place in the chain; nothing that they wrote counts.
    ///   - departures: Unless nil, how many the chain had when the rest was looked up.
    /// - Throws: `Outdated` if another member left or was removed since; ``SyncError``; the errors
    ///   of the key store.
    package func remove(
        _ positions: [BatchPosition], snapshot: SnapshotPin = .none,
        again former: Set<MemberID> = [], withForksExcept kept: Set<MemberID>? = nil,
        asOf departures: Int? = nil
    ) async throws {
        try await refresh()
        try await append { group in
            try group.requireNoDeparture(since: departures)
            var positions = positions
            if let kept {
                let known = kept.union(positions.map(\.member)).union([group.member])
                let forks = positions.flatMap { group.state.forks(of: $0.member) }
                positions += Set(forks).subtracting(known).map { .beginning(of: $0) }
            }
            positions = positions.filter {
                group.state.member($0.member) == nil || group.state.isActive($0.member)
                    || former.contains($0.member)
            }
            guard !positions.isEmpty else { return nil }
            return .remove(
                positions, try group.newKeys(without: positions.map(\.member)), snapshot: snapshot)
        }
    }

    /// The expired invitations that are not removed yet.
    var expired: [MemberID] {
        let now = Self.now()
        return state.active.filter { $0.expires > 0 && $0.expires < now }.map(\.id)
    }

    /// Gives all members a new key.
    package func rotate() async throws {
        try await refresh()
        try await append { group in .rotate(try group.newKeys()) }
    }

    /// Whether an admin should change the key: a non-member knows it, or this admin was added by a
    /// member that did not know the tree's secret.
    var needsRotation: Bool {
        get throws {
            guard isAdmin else { return false }
            if state.needsRotation { return true }
            return try epochKey(state.epoch) != nil && treeSecret(atEpoch: state.epoch) == nil
        }
    }

    /// Whether this device's keys are older than an interval.
    func hasOldKeys(_ interval: UInt64?) -> Bool {
        guard let interval, state.isActive(memberKeys.id) else { return false }
        return Self.isOld(state.keyTime(of: memberKeys.id), interval)
    }

    /// Includes times in the future, from a wrong clock.
    private static func isOld(_ time: UInt64, _ interval: UInt64) -> Bool {
        let now = now()
        return max(time, now) - min(time, now) > interval
    }

    /// Changes the key if needed, or if its age exceeds half of `interval`, which is in
    /// milliseconds.
    package func rotateIfNeeded(every interval: UInt64? = nil) async throws {
        try await append { group in
            // Of all admins that renewed their own keys, the first to get here changes the group's.
            let isOld = interval.map { Self.isOld(group.state.lastRotation, $0 / 2) } ?? false
            guard try group.needsRotation || isOld && group.isAdmin else { return nil }
            return .rotate(try group.newKeys())
        }
    }

    private func requireNoDeparture(since departures: Int?) throws {
        guard state.departures == departures ?? state.departures else { throw Outdated() }
    }

    /// A member left or was removed since a position and a snapshot were looked up.
    struct Outdated: Error {}

    /// Ends this device's membership; its batches count up to `position`.
    ///
    /// - Throws: `Outdated` if the chain has more than `departures` departures; ``SyncError``.
    package func leave(
        _ position: BatchPosition, snapshot: SnapshotPin = .none, asOf departures: Int? = nil
    ) async throws {
        try await refresh()
        try await append { group in
            try group.requireNoDeparture(since: departures)
            return .leave(position, snapshot: snapshot)
        }
    }

    /// Adds the member that this file becomes, after the batch of its log.
    ///
    /// - Parameters:
    ///   - position: The last batch that the file sent.
    ///   - leave: Makes the former member leave, in the chain as it is then.
    /// - Returns: The new member.
    /// - Throws: ``SyncError``; the errors of the key store.
    package func fork(
        after position: BatchPosition, leaving leave: @Sendable () async throws -> Void = {}
    ) async throws -> MemberID {
        try await refresh()
        let keys = MemberKeys.random()
        try keys.save(as: MemberKeys.name(id, keys.id), in: keyStore)
        let (old, name) = (member, try name(of: member))
        try await append { group in
            let epoch = try group.currentKey()
            let role = group.state.member(old)?.role ?? .writer
            let device = try group.record(keys, name, role, epoch)
            return .fork(
                device,
                try group.ownKeys(for: device.id, device.keys, role, by: group.ownRecord()),
                after: position)
        }
        try await leave()
        (member, memberKeys) = (keys.id, keys)
        return keys.id
    }

    func record(
        _ keys: MemberKeys, _ name: String, _ role: ChainEntry.Role, _ epoch: EpochKey
    ) throws -> ChainEntry.Member {
        ChainEntry.Member(
            id: keys.id, keys: try keys.publicKeys, kind: .device, role: role,
            sealedName: try epoch.sealedName(String(name.prefix(80)), of: keys.id),
            nameEpoch: epoch.number, mac: Data())
    }

    /// Whether this member may change the group.
    var isAdmin: Bool {
        state.activeMember(memberKeys.id).map { $0.kind == .device && $0.role == .admin } ?? false
    }

    /// The keys of this member, as the others know them.
    func ownRecord() throws -> PublicKeys {
        guard let member = state.member(memberKeys.id) else { throw SyncError.notAMember }
        return member.keys
    }
}
