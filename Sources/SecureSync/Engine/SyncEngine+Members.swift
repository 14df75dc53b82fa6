internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

// Lists and removes the group's members.
extension SyncEngine {
    /// The members, this one included.
    ///
    /// - Returns: The members in the chain as last read, in joining order.
    /// - Throws: ``SyncError/notAMember``; the errors of the database.
    public func members() async throws -> [SyncMember] {
        let group = try await currentGroup()
        return try await described(await group.state.active, of: group)
    }

    /// The devices that left or were removed, and whose logs are not closed yet.
    ///
    /// A log is closed once all members have applied it. If one stays here and syncs fail, the
    /// device has left with a position that is false, or has taken batches out of the store: an
    /// admin can remove it again.
    ///
    /// - Returns: The devices in joining order, with ``SyncMember/isFormer``.
    /// - Throws: ``SyncError/notAMember``; the errors of the database.
    public func formerMembers() async throws -> [SyncMember] {
        let group = try await currentGroup()
        let state = await group.state
        let adopted = try await database.read { try SyncJournal($0).adopted() }
        let former = state.everyone.filter {
            state.removed[$0.id] != nil && $0.kind == .device && $0.role != .reader
                && adopted?.manifest.declaration.closed[$0.id] == nil
        }
        return try await described(former, of: group)
    }

    private func described(
        _ records: [ChainEntry.Member], of group: SyncGroup
    ) async throws -> [SyncMember] {
        let (state, own) = (await group.state, await group.member)
        let (heard, epochs, sent, confirmed) = try await database.read { db in
            let journal = SyncJournal(db)
            return (
                try journal.lastHeard(), try journal.lastEpochs(),
                try journal.sentPosition(of: own).number, try journal.acknowledgements(of: own)
            )
        }
        /// Whether a member wrote with a key more than a day after its replacement.
        func missesNewKey(_ member: MemberID) -> Bool {
            guard let epoch = epochs[member], epoch > 0, let next = state.epochTimes[epoch + 1]
            else { return false }
            return heard[member] ?? 0 > next + 86_400_000
        }
        var members: [SyncMember] = []
        for member in records {
            members.append(
                SyncMember(
                    member, isFormer: !state.isActive(member.id),
                    origin: state.origin(of: member.id),
                    inviter: state.inviter(of: member.id),
                    name: try await group.name(of: member.id), isThisDevice: member.id == own,
                    missesNewKey: missesNewKey(member.id),
                    lastHeard: heard[member.id].flatMap {
                        $0 == 0 ? nil : Date(timeIntervalSince1970: Double($0) / 1000)
                    },
                    unconfirmedBatches: member.id == own
                        ? nil : confirmed[member.id].map { Int(sent - min($0, sent)) }))
        }
        return members
    }

    /// A number for people to compare, equal on devices that have read the same chain of members:
    /// 30 digits in groups of five.
    ///
    /// A store can show a device an outdated state of the group, with members that are already
    /// removed, especially a device that joins with an old code. Sync both devices, and compare.
    /// Like MLS's epoch authenticator, the number changes whenever a member joins, leaves, or
    /// replaces keys.
    ///
    /// - Returns: The digits, for the chain as last read.
    /// - Throws: ``SyncError/notAMember``; the errors of the database.
    public func securityCode() async throws -> String {
        await (try currentGroup()).state.securityCode
    }

    /// Removes a member, and gives the others a new key: the member cannot read later writes, and
    /// its own later writes are ignored.
    ///
    /// It keeps everything that it has read. Revoke its access to the store as well. An unreadable
    /// log, its own or another, does not prevent the removal.
    ///
    /// One of ``formerMembers()`` can be removed again: then what this file has of its writes
    /// counts, instead of what its last entry says. Its forks stay.
    ///
    /// Its file may have become other members: as a copy, as a restored backup, or through someone
    /// who holds the device. They are removed with it, unless kept. Devices that it invited stay;
    /// see ``SyncMember/addedBy``.
    ///
    /// - Parameters:
    ///   - member: One of ``members()`` or ``formerMembers()``.
    ///   - kept: Members that its file became and that stay, such as a new phone onto which its
    ///     backup was restored.
    /// - Returns: The members that were removed, this one first.
    /// - Throws: ``SyncError/notAMember``; ``SyncError``.
    @discardableResult
    public func remove(
        _ member: SyncMember, keeping kept: [SyncMember] = []
    ) async throws -> [SyncMember] {
        // Everything that it wrote until now counts, as far as this member knows.
        try await syncWhatCanBe { $0.mayPass || $0.isWithheldKey }
        let known = try await members() + (member.isFormer ? [member] : [])
        let gone: Set<MemberID> = try await inGroup { [self] group in
            let forks = await group.state.forks(of: member.memberID)
            let own = await group.member
            let others = Set(kept.map(\.memberID)).union([own])
            let gone =
                [member.memberID]
                + (member.isFormer ? [] : forks.filter { !others.contains($0) })
            let before = Set(await group.state.removed.keys)
            try await remove(
                gone, again: member.isFormer, withForksExcept: member.isFormer ? nil : others,
                from: group)
            return Set(await group.state.removed.keys).subtracting(before).union(gone)
        }
        return known.filter { gone.contains($0.memberID) }
            .sorted { first, _ in first.memberID == member.memberID }
    }

    /// Removes members; what this file has of their batches counts, and the group continues from
    /// the snapshot that it has adopted.
    func remove(
        _ gone: [MemberID], again: Bool = false, withForksExcept others: Set<MemberID>? = nil,
        from group: SyncGroup
    ) async throws {
        try await untilCurrent {
            let departures = await group.state.departures
            let newest = try await newestSnapshot(of: group)
            let positions = try await database.read { db in
                try gone.map { try SyncJournal(db).position(of: $0).reaching(newest?.manifest) }
            }
            try await group.remove(
                positions, snapshot: newest?.pin ?? .none, again: again ? Set(gone) : [],
                withForksExcept: others, asOf: departures)
        }
    }

    /// Gives all members a new key for later writes, and replaces this device's own keys.
    ///
    /// A copy of this device's earlier key store cannot read anything written under the new key.
    /// Only admins change the key: a writer replaces its own keys, and the next admin that writes
    /// changes the group's.
    ///
    /// - Throws: ``SyncError/notAMember``; ``SyncError``; the errors of the key store.
    public func rotateKey() async throws {
        try await inGroup { group in
            let isAdmin = await group.isAdmin
            try await group.renewKeys(asksForKey: !isAdmin)
            if isAdmin { try await group.rotate() }
        }
    }

    /// Makes syncs do the same as ``rotateKey()`` when this device's keys are older than an
    /// interval.
    ///
    /// A member that writes nothing keeps its keys. If there are several admins, one of them
    /// changes the group's key.
    ///
    /// - Parameter interval: At least an hour; nil for never. The default is a week.
    public func rotateKey(every interval: Duration?) {
        rotation.withLock { $0 = interval.map { max($0, .seconds(3600)) } }
    }

    /// Leaves the group, after sending unsent changes; the rows stay in the file.
    ///
    /// A removed member's file just forgets the group. The member's keys, which open everything the
    /// group has written so far, are removed from the key store.
    ///
    /// - Throws: ``SyncError/notAMember``; ``SyncError``.
    public func leave() async throws {
        do {
            try await untilCurrent {
                try await syncWhatCanBe { $0.isOfALog || $0.isWithheldKey }
                let departures = await (try currentGroup()).state.departures
                try await inGroup { [self] group in
                    let own = await group.member
                    let position = try await database.read {
                        try SyncJournal($0).sentPosition(of: own)
                    }
                    let newest = try await newestSnapshot(of: group)
                    try await group.leave(
                        position, snapshot: newest?.pin ?? .none, asOf: departures)
                }
            }
        } catch SyncError.notAMember {
            guard try isMember else { throw SyncError.notAMember }
            // It was already removed, but the file does not know yet.
        }
        try await inTurn { [self] in
            let group = try await currentGroup()
            let formerSelves = await group.state.formerSelves(of: group.member)
            let (place, formers) = try await database.write { [capture] db in
                let place = try SyncJournal(db).place()
                let formers = try SyncJournal(db).formerChains().keys
                try SyncJournal(db).leave()
                try capture.setReadOnly(false, in: db)
                return (place, Array(formers))
            }
            use(nil, in: store)
            // They open everything the group has written so far.
            guard let place else { return }
            for group in [place.group] + formers {
                for member in [place.member] + formerSelves {
                    try MemberKeys.removeAll(group, member, in: keyStore)
                }
            }
        }
    }

    /// Sends and applies everything that can be read: the member to remove may have written
    /// unreadable batches, or removed them from the store.
    private func syncWhatCanBe(except isLeft: (SyncError) -> Bool) async throws {
        do {
            _ = try await syncOnce()
        } catch let error as SyncError where isLeft(error) {
            // Shown in the status, and by the next sync.
        }
    }
}
