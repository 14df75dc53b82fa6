internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

// Who is in the group, and how they go.
extension SyncEngine {
    /// The members, this one included.
    ///
    /// - Returns: Those of the chain as it was read last, in the order of their joining.
    /// - Throws: ``SyncError/notAMember``; the errors of the database.
    public func members() async throws -> [SyncMember] {
        let group = try await currentGroup()
        let (state, own) = (await group.state, await group.member)
        let (heard, epochs, sent, confirmed) = try await database.read { db in
            let journal = SyncJournal(db)
            return (
                try journal.lastHeard(), try journal.lastEpochs(),
                try journal.sentPosition(of: own).number, try journal.acknowledgements(of: own)
            )
        }
        /// Whether a member has written with a key for more than a day after that was replaced.
        func missesNewKey(_ member: MemberID) -> Bool {
            guard let epoch = epochs[member], epoch > 0, let next = state.epochTimes[epoch + 1]
            else { return false }
            return heard[member] ?? 0 > next + 86_400_000
        }
        var members: [SyncMember] = []
        for member in state.active {
            members.append(
                SyncMember(
                    member, origin: state.origin(of: member.id),
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

    /// A number that is the same on devices that have read the same chain of members, as a person
    /// compares it: 30 digits in groups of five.
    ///
    /// A store can show a device an older state of the group, with members that were removed since;
    /// above all one that joins with a code of long ago. Sync on both devices, and compare. It
    /// changes whenever somebody joins, goes, or replaces keys, as MLS's epoch authenticator does.
    ///
    /// - Returns: The digits, of the chain as it was read last.
    /// - Throws: ``SyncError/notAMember``; the errors of the database.
    public func securityCode() async throws -> String {
        await (try currentGroup()).state.securityCode
    }

    /// Removes a member, and gives the others a new key: it reads nothing that is written from now
    /// on, and nothing that it writes counts.
    ///
    /// What it has read, it keeps. Revoke its access to the store as well. A log that cannot be
    /// read, its own or another one, does not keep it in the group.
    ///
    /// Its file may have gone on as other members: a copy or a restored backup does, and so can
    /// whoever has the device in hand. Those go with it, unless they are to be kept. Devices that
    /// it has invited stay; ``SyncMember/addedBy`` tells them.
    ///
    /// - Parameters:
    ///   - member: One of ``members()``.
    ///   - kept: Of those that its file has gone on as, such as the new phone onto which a backup
    ///     of this one was restored.
    /// - Returns: The members that were removed, this one first.
    /// - Throws: ``SyncError/notAMember``; ``SyncError``.
    @discardableResult
    public func remove(
        _ member: SyncMember, keeping kept: [SyncMember] = []
    ) async throws -> [SyncMember] {
        // All that it wrote until now counts, as far as this member can know.
        try await syncWhatCanBe()
        let known = try await members()
        let gone: [MemberID] = try await inGroup { [self] group in
            let forks = await group.state.forks(of: member.memberID)
            let own = await group.member
            let others = Set(kept.map(\.memberID)).union([own])
            let gone = [member.memberID] + forks.filter { !others.contains($0) }
            let newest = try await newestSnapshot(of: group)
            let positions = try await database.read { db in
                try gone.map { try SyncJournal(db).position(of: $0).reaching(newest?.manifest) }
            }
            try await group.remove(positions, snapshot: newest?.pin ?? .none)
            return gone
        }
        return known.filter { gone.contains($0.memberID) }
            .sorted { first, _ in first.memberID == member.memberID }
    }

    /// Gives all members a new key for what is written from now on, and this device other keys to
    /// receive it with.
    ///
    /// Whoever has read this device's key store before, or a backup of it, reads nothing that is
    /// written under the new key. Only admins change the key: a writer replaces its own keys, and
    /// the next admin that writes changes the group's.
    ///
    /// - Throws: ``SyncError/notAMember``; ``SyncError``; the errors of the key store.
    public func rotateKey() async throws {
        try await inGroup { group in
            let isAdmin = await group.isAdmin
            try await group.renewKeys(asksForKey: !isAdmin)
            if isAdmin { try await group.rotate() }
        }
    }

    /// Lets syncs do what ``rotateKey()`` does when this device's keys are older than an interval.
    ///
    /// A member that writes nothing keeps its keys. Of several admins one changes the group's key.
    ///
    /// - Parameter interval: At least an hour. At first a week; nil for never.
    public func rotateKey(every interval: Duration?) {
        rotation.withLock { $0 = interval.map { max($0, .seconds(3600)) } }
    }

    /// Leaves the group; the rows stay in the file, and those written last are sent before.
    ///
    /// The file of a member that was removed forgets the group. The member's keys, which open what
    /// the group has written until now, are removed from the key store.
    ///
    /// - Throws: ``SyncError/notAMember``; ``SyncError``.
    public func leave() async throws {
        do {
            try await syncWhatCanBe()
            try await inGroup { [self] group in
                let own = await group.member
                let position = try await database.read { try SyncJournal($0).position(of: own) }
                let newest = try await newestSnapshot(of: group)
                try await group.leave(position, snapshot: newest?.pin ?? .none)
            }
        } catch SyncError.notAMember {
            guard try isMember else { throw SyncError.notAMember }
            // It was removed before, and only this file does not say so yet.
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
            // They open what the group has written until now.
            guard let place else { return }
            for group in [place.group] + formers {
                for member in [place.member] + formerSelves {
                    try MemberKeys.removeAll(group, member, in: keyStore)
                }
            }
        }
    }

    /// Sends and applies all but what cannot be read, which whoever is to be removed may have
    /// written.
    private func syncWhatCanBe() async throws {
        do {
            _ = try await syncOnce()
        } catch let error as SyncError where error.isOfALog || error.isWithheldKey {
            // Shown in the status, and by the next sync.
        }
    }
}
