internal import SecureStorage

// See Docs/Decisions/0039-a-group-that-follows-another.md.
extension SyncEngine {
    /// Lets the group begin anew, with this file's rows and what the other members have written
    /// that it does not know.
    ///
    /// For a store that has lost objects, or was put back to an older state: what this member can
    /// read is applied before. The others follow by themselves, at their next sync, and nothing
    /// that is in one of their files is lost: it is compared as any write is. Invitations of the
    /// kind ``SyncInvitation/Kind/recovery`` stay valid, other open ones do not.
    ///
    /// The objects from before stay in the store. Only an admin of the group can do this. If
    /// another one has done it before, this file goes on in that one's.
    ///
    /// - Parameter force: Whether to do so in a store that shows nothing at all of the group: it
    ///   was emptied, and is the one that the other members use. Otherwise that fails, since the
    ///   store may be another one, or not mounted, and the group would be in two halves.
    /// - Throws: ``SyncError/notAMember``; ``SyncError/notAllowed(_:)``; the errors of the store
    ///   and of the database.
    public func reset(force: Bool = false) async throws {
        try await beginAnew(in: nil, evenIfAbsent: force)
    }

    /// Moves the group into another store, as ``reset(force:)`` lets it begin anew in its own.
    ///
    /// This engine goes on there. The others fail with ``SyncError/groupHasMoved`` until they are
    /// created with that store, if the old one can still tell them.
    ///
    /// - Parameter other: An engine that the group does not use yet.
    /// - Throws: ``SyncError/notAMember``; ``SyncError/notAllowed(_:)``; the errors of the stores
    ///   and of the database.
    public func moveGroup(to other: any SyncObjectStore) async throws {
        try await beginAnew(in: other, evenIfAbsent: true)
    }

    private func beginAnew(in other: (any SyncObjectStore)?, evenIfAbsent: Bool) async throws {
        do {
            _ = try await syncOnce()
        } catch let error as SyncError
            where error != .notAMember
            && (other != nil || !error.isTransient || evenIfAbsent && error.isAbsentGroup)
        {
            // What cannot be read is why the group begins anew.
        }
        let isHere = other == nil
        let other = other ?? store
        try await inTurn { [self] in
            let group = try await currentGroup()
            if isHere, try await goOnBeside(group) { return }
            let place = try await database.read { [capture] db in
                try capture.requireNoUnsentRows(in: db)
                let journal = SyncJournal(db)
                return try journal.hasPending() ? nil : try journal.place()
            }
            guard place?.entered ?? 0 > 0 else {
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
                    throw SyncError.store(
                        code: "busy", message: "the synced tables change all the time",
                        isTransient: true)
                }
                try await database.write { [capture] in _ = try Outbox.seal(own, capture, in: $0) }
            } while try await writing.writeFirst(of: keys.writers) == nil
            guard let entry = await next.entries.first else { return }
            let former = try await database.read { try SyncJournal($0).formerChains() }
            try await group.announce(entry, after: former, in: other)
            // Members that look there learn it; if the store is gone, none does.
            try? await group.announce(entry, after: former, in: store)
            try? await store.setMark(ofGroup: group.id)
            use(nil, in: other)
        }
        _ = try await syncOnce()
    }
}
