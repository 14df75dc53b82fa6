public import ObjectStores
internal import SecureStorage

// See Docs/Decisions/0039-a-group-that-follows-another.md.
extension SyncEngine {
    /// Resets the group, with this file's rows and the other members' changes that it does not
    /// know.
    ///
    /// For a store that lost objects, or was restored to an older state. Everything that this
    /// member can read is applied first. The others follow automatically at their next sync, and
    /// nothing in their files is lost: it is merged like any write. Invitations of the kind
    /// ``SyncInvitation/Kind/recovery`` stay valid, other open ones do not.
    ///
    /// The former objects stay in the store. Only an admin can do this. If another admin has
    /// already reset the group, this file joins that new group.
    ///
    /// - Parameter force: Whether to reset even if the store has none of the group's objects: it
    ///   was emptied, and the other members use it. Otherwise the call fails in that case, since
    ///   the store may be a wrong one or not mounted, and the group would be split.
    /// - Throws: ``SyncError/notAMember``; ``SyncError/notAllowed(_:)``; the errors of the store
    ///   and of the database.
    public func reset(force: Bool = false) async throws {
        try await rebuild(in: nil, evenIfAbsent: force)
    }

    /// Moves the group to another store, like a ``reset(force:)`` into that store.
    ///
    /// This engine continues there. The others fail with ``SyncError/groupHasMoved`` until they are
    /// created with that store, if the old store can still tell them.
    ///
    /// - Parameter other: An engine that the group does not use yet.
    /// - Throws: ``SyncError/notAMember``; ``SyncError/notAllowed(_:)``; the errors of the stores
    ///   and of the database.
    public func moveGroup(to other: any ObjectStore) async throws {
        try await rebuild(in: other, evenIfAbsent: true)
    }

    private func rebuild(in other: (any ObjectStore)?, evenIfAbsent: Bool) async throws {
        do {
            _ = try await syncOnce()
        } catch let error as SyncError
            where error != .notAMember
            && (other != nil || !error.isTransient
                || evenIfAbsent && error == .groupNotFound(in: store.place))
        {
            // Unreadable objects are why the group is reset.
        }
        let isHere = other == nil
        let other = other.map(SyncError.translating) ?? store
        try await inTurn { [self] in
            let group = try await currentGroup()
            if isHere, try await moveToOtherSuccessor(beside: group) { return }
            let place = try await database.read { [capture] db in
                try capture.requireNoUnsentRows(in: db)
                let journal = SyncJournal(db)
                return try journal.hasPending() ? nil : try journal.place()
            }
            guard place?.began ?? 0 > 0 else {
                throw SyncError.notAllowed(
                    "this file has not read the group's rows yet; let another member do it")
            }
            let next = try await group.foundSuccessor(in: other)
            let keys = try await next.keys()
            let writing = SnapshotWriting(
                database: database, capture: capture, keys: keys, store: other, policy: policy)
            let own = try await group.keys()
            var tries = 0
            repeat {
                tries += 1
                guard tries < 100 else {
                    throw SyncError.tryAgain("the synced tables change all the time")
                }
                try await database.write { [capture] in _ = try Outbox.seal(own, capture, in: $0) }
            } while try await writing.writeFirst(of: keys.writers) == nil
            guard let entry = await next.entries.first else { return }
            let former = try await database.read { try SyncJournal($0).formerChains() }
            try await group.announce(entry, after: former, in: other)
            // Members that still use the former store find the entry there; if the store is gone,
            // they do not.
            try? await group.announce(entry, after: former, in: store)
            try? await store.setMark(ofGroup: group.id)
            use(nil, in: other)
        }
        _ = try await syncOnce()
    }
}
