internal import Foundation
internal import ObjectStores
internal import SecureStorage
internal import SecureStoragePlatform

// Following a reset of the group, in its store or in another one: see
// Docs/Decisions/0039-a-group-that-follows-another.md.
extension SyncEngine {
    /// Reads new chain entries, and moves to the following group, if there is one.
    ///
    /// - Returns: Whether the file is in another group now.
    func moveToFollowingGroup(after group: SyncGroup) async throws -> Bool {
        var failure: SyncError?
        do {
            try await group.refresh()
        } catch let error as SyncError where !error.isTransient {
            // A store that lost the chain may still show a following group.
            failure = error
        }
        guard let next = try await group.successor() else {
            guard let failure else { return false }
            if try await moveToOtherSuccessor(beside: group) { return true }
            try await requirePresence(of: group)
            throw failure
        }
        try await move(to: next, after: group)
        return true
    }

    /// Moves to a different successor of a former group, if the store shows one.
    ///
    /// The founder of this file's group did not see that successor, and the first one counts for
    /// all.
    ///
    /// - Returns: Whether the file is in another group now.
    func moveToOtherSuccessor(beside group: SyncGroup) async throws -> Bool {
        let (own, formers) = (await group.member, await group.state.formers)
        let chains = try await database.read { try SyncJournal($0).formerChains() }
        let path = [group.id] + formers
        // Starts with the earliest split.
        for (index, former) in formers.enumerated().reversed() {
            guard let chain = chains[former],
                let before = try? SyncGroup(
                    resuming: chain, as: own, in: store, keyStore: keyStore)
            else { continue }
            do {
                try await before.refresh()
            } catch let error as SyncError where !error.isTransient {
                // The names of successors are read before the chain.
            }
            do {
                guard let next = try await before.successor(), next.id != path[index] else {
                    continue
                }
                try await move(to: next, after: before, leaving: group)
                return true
            } catch SyncError.groupHasMoved {
                continue
            }
        }
        return false
    }

    /// Checks that the store shows an object of the group or of a former one.
    ///
    /// - Throws: A transient error; the store's.
    func requirePresence(of group: SyncGroup) async throws {
        for id in [group.id] + (await group.state.formers) {
            let objects = try await store.list(SyncNames.all(group: id), after: nil).objects
            if objects.contains(where: { $0.name != SyncNames.mark(group: id) }) { return }
        }
        throw SyncError.groupNotFound(in: store.place)
    }

    /// Makes the file a member of the group that follows its own.
    ///
    /// The file's changes by any member that the new group's snapshot lacks become the first
    /// transaction of its log there.
    ///
    /// - Parameters:
    ///   - next: The successor of `former`.
    ///   - former: A group that the store shows.
    ///   - current: The file's group, if it is not `former`: its rows are not an older state of the
    ///     rows in `next`.
    /// - Throws: ``SyncError/notAMember``; the errors of the store and of the database.
    private func move(
        to next: SyncGroup.Successor, after former: SyncGroup, leaving current: SyncGroup? = nil
    ) async throws {
        let group = current ?? former
        let (own, place) = (
            try? await group.keys(), try await database.read { try SyncJournal($0).place() }
        )
        guard let place, let own else { throw SyncError.notAMember }
        // The chain stays in the file, in case the store is restored again.
        try await keepChain(of: group)
        let (following, passed) = try await lastGroup(from: next, after: former, of: place)
        let keys = try await following.keys()
        let entries = await following.entries
        let snapshots = SnapshotStore(store: store, keys: keys)
        guard let newest = try await snapshots.newest(of: snapshots.numbers(after: 0)) else {
            throw SyncError.withheld(.snapshots, number: 1)
        }
        let loading = SnapshotLoading(capture: capture, keys: keys, store: store)
        let isOurs = current == nil ? try await isOurLog(in: newest, keys) : false
        if place.began > 0, isOurs, place.member == keys.member {
            try await loading.withFiles(of: newest) { [database, passed] files in
                try await database.write { db in
                    guard try SyncJournal(db).place()?.group == group.id else { return }
                    try SyncJournal(db).keepFormerChains(passed)
                    try loading.follow(newest, files, entries, in: db)
                }
            }
        } else {
            try await database.write { [capture, passed] db in
                guard try SyncJournal(db).place()?.group == group.id else { return }
                try SyncJournal(db).keepFormerChains(passed)
                try GroupMove(keys: keys, former: own, capture: capture).perform(entries, in: db)
            }
        }
        use(following, in: store)
        hasCompleted.withLock { $0 = false }
        if !isOurs { try await renew() }
        try await complete(following, by: group)
    }

    /// Checks that a group's members know the same chain as the store shows.
    ///
    /// A removed admin may have deleted the entry of its removal, to lead members that have not
    /// read it into a group of its own.
    ///
    /// - Throws: ``SyncError/withheld(_:number:)``, ``SyncError/damaged(_:_:)``; the store's
    ///   errors.
    private func requireKnownChain(of group: SyncGroup) async throws {
        let keys = try await group.keys()
        let snapshots = SnapshotStore(store: store, keys: keys)
        _ = try await snapshots.newest(of: snapshots.numbers(after: 0))
        for member in keys.writers where member != keys.member && keys.removed[member] == nil {
            let log = MemberLog(store: store, keys: keys, member: member)
            for place in try await log.places().reversed() {
                guard case .batch(let bytes, let name) = try await log.read(place),
                    let header = try? SealedBatch(reading: bytes).header
                else { continue }
                // For an entry that this file has read, the other member may have seen a different
                // one: the store was restored, and has a different entry there since.
                if header.chain.number > keys.lastEntry {
                    try keys.requireSameChain(header, name)
                }
                break
            }
        }
    }

    /// Whether the following group lacks this member, or has other keys for it.
    ///
    /// False if the store does not show it now.
    func isMissingInSuccessor(of group: SyncGroup) async throws -> Bool {
        try? await group.refresh()
        guard let next = try? await group.successor(),
            let place = try await database.read({ try SyncJournal($0).place() })
        else { return false }
        do {
            let (last, _) = try await lastGroup(from: next, after: group, of: place)
            return try await last.areKeysReplaced
        } catch SyncError.notAMember, SyncError.notAddedYet {
            return true
        } catch let error as SyncError where error.isAbsence || error.isDamaged {
            // It cannot be followed: the file has to join it again.
            return true
        }
    }

    /// The last of the groups that follow one another, and the chains of the groups in between,
    /// of which this file never was a member; other members may be in one.
    ///
    /// The founder of the first has read the chain of `group` to its end; others check that the
    /// store shows all of it.
    private func lastGroup(
        from next: SyncGroup.Successor, after group: SyncGroup, of place: SyncJournal.Place
    ) async throws -> (SyncGroup, passed: [Data: [Data]]) {
        if next.founder != place.member { try await requireKnownChain(of: group) }
        var (following, later) = (group, SyncGroup.Successor?.some(next))
        var passed: [Data: [Data]] = [:]
        while let next = later {
            if following.id != group.id { passed[following.id] = await following.entries }
            following = try await following.following(
                next, as: [place.member, place.former].compactMap { $0 })
            later = try await following.successor()
        }
        return (following, passed)
    }

    /// Whether this file may use its member's log in a following group.
    private func isOurLog(in newest: AdoptedSnapshot, _ keys: GroupKeys) async throws -> Bool {
        // Not if the log is closed, or a copy of this file began it.
        let declaration = newest.manifest.declaration
        let log = MemberLog(store: store, keys: keys, member: keys.member)
        guard !keys.isReader, declaration.isOpen(keys.member),
            declaration.positions[keys.member] == nil,
            try await !log.hasBatch(1)
        else { return false }
        // Nor if the file, such as an old copy, lacks its member's batches in the former group: it
        // did not hold back the stable point.
        let last = newest.manifest.logs[keys.member]?.hash ?? Data(count: 32)
        return try await database.read { db in
            let journal = SyncJournal(db)
            return try journal.hasBatch(of: keys.member, hash: last)
                || journal.adopted()?.manifest.logs[keys.member]?.hash == last
        }
    }

    /// Brings membership changes that the reset missed from the former group into the file's group,
    /// once per engine, because an earlier attempt may not have finished.
    func completeReset() async throws {
        guard !hasCompleted.withLock({ $0 }) else { return }
        let group = try await currentGroup()
        let (state, own) = (await group.state, await group.member)
        let chains = try await database.read { try SyncJournal($0).formerChains() }
        if let former = state.formers.first.flatMap({ chains[$0] }),
            let before = try? SyncGroup(resuming: former, as: own, in: store, keyStore: keyStore)
        {
            try await complete(group, by: before)
            try await keepChain(of: group)
        }
        hasCompleted.withLock { $0 = true }
    }

    /// Repeats changes of the former group that the admin did not know at the reset: removes
    /// members that are back, and adds missing ones.
    private func complete(_ group: SyncGroup, by former: SyncGroup) async throws {
        let (before, state, own) = (await former.state, await group.state, await group.member)
        guard state.activeMember(own)?.role == .admin else { return }
        for member in before.removed.keys.sorted() where state.isActive(member) {
            try await remove([member], from: group)
        }
        do {
            for member in before.devices where state.member(member.id) == nil {
                try await group.add(member, named: try await former.name(of: member.id))
            }
        } catch SyncError.notAllowed {
            // The group is full; continue, so that this member can make room.
        }
    }
}
