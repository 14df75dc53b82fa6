internal import Foundation
internal import ObjectStores
internal import SecureStorage

// How a member's log begins, and how a member returns after being offline too long: see
// Docs/Decisions/0038-clocks-forgotten-at-a-stable-point.md.
extension SyncEngine {
    /// Begins this member's log: loads the newest snapshot, applies others' later changes and the
    /// changes that only this file has, then declares the log in a new snapshot.
    ///
    /// - Parameters:
    ///   - keys: The group's.
    ///   - report: Receives the work done.
    /// - Throws: The errors of the store and of the database; a later call continues.
    func beginLog(_ keys: GroupKeys, _ report: inout SyncReport) async throws {
        let snapshots = SnapshotStore(store: store, keys: keys)
        for _ in 0..<100 {
            let (place, adopted, number) = try await nextNumber(snapshots)
            guard place.began == 0 else { return }
            guard let newest = adopted.newest else {
                guard keys.isFounder, place.former == nil else {
                    throw SyncError.tryAgain("the group's first snapshot is not there yet")
                }
                let writing = SnapshotWriting(
                    database: database, capture: capture, keys: keys, store: store, policy: policy)
                // The rows need no clocks: the snapshot has them all.
                try await database.write { [capture] in try capture.forgetHistory(in: $0) }
                if let first = try await writing.writeFirst() { try await setBegan(first, keys) }
                continue
            }
            guard newest.number >= keys.leastSnapshot else {
                throw SyncError.withheld(.snapshots, number: keys.leastSnapshot)
            }
            if newest.manifest.declaration.logs[keys.member] != nil {
                // This file sent nothing: a copy of it began the log.
                let log = MemberLog(store: store, keys: keys, member: keys.member)
                guard try await !log.hasBatch(1),
                    newest.manifest.declaration.positions[keys.member] == nil
                else { throw Inbox.OtherCopy() }
            }
            if newest.manifest.rows != adopted.own?.manifest.rows {
                try await load(newest, keys)
                report.hasLoadedSnapshot = true
            } else if newest.number != adopted.own?.number {
                // Another member began its log; the rows and the stable point are the same.
                try await database.write { try SyncJournal($0).setAdopted(newest) }
            }
            let outcome: Inbox.Outcome
            do { outcome = try await receive(keys, &report) } catch is Inbox.NeedsSnapshot {
                continue
            }
            // Unreadable batches in a log must not keep anyone from joining. But joining after an
            // older snapshot would contradict the newest one.
            for failure in outcome.failures {
                if case .withheld(.snapshots, _) = failure { throw failure }
                guard failure.isOfALog else { throw failure }
            }
            guard outcome.isSettled else {
                throw SyncError.tryAgain("the store does not show all batches yet")
            }
            try await completeRows(keys)
            if keys.isReader || newest.manifest.declaration.logs[keys.member] != nil {
                // A reader has no log; for others, the answer to an earlier attempt was lost.
                try await setBegan(newest, keys)
                continue
            }
            var before = newest
            before.manifest.declaration.number = number
            let now = try await database.read { [capture] in try capture.now(in: $0) }
            guard let next = before.manifest.beginningLog(of: keys.member, at: now) else {
                throw SyncError.notAMember
            }
            if let began = try await snapshots.create(next, after: newest) {
                try await setBegan(began, keys)
            }
        }
        throw SyncError.tryAgain("other members write snapshots all the time")
    }

    /// The file's snapshot, the store's newest, and the last number with an object.
    private func nextNumber(
        _ snapshots: SnapshotStore
    ) async throws -> (
        SyncJournal.Place, (own: AdoptedSnapshot?, newest: AdoptedSnapshot?), UInt64
    ) {
        let (place, known) = try await database.read { db in
            (try SyncJournal(db).place(), try SyncJournal(db).adopted())
        }
        guard let place else { throw SyncError.notAMember }
        // A removal may have made it invalid since.
        let own = try known.flatMap { try snapshots.keys.counts($0) ? $0 : nil }
        let numbers = try await snapshots.numbers(after: own?.number ?? 0)
        let newest = try await snapshots.newest(of: numbers) ?? own
        return (place, (own, newest), numbers.last ?? own?.number ?? 0)
    }

    /// The snapshot from which the group continues after a removal: the adopted one, which this
    /// file has checked, even if the store does not show it; without one, the store's newest.
    func newestSnapshot(of group: SyncGroup) async throws -> AdoptedSnapshot? {
        let found = try await countingSnapshots(of: group)
        return found.own ?? found.newest
    }

    /// The adopted snapshot and the store's newest, as far as they count.
    func countingSnapshots(
        of group: SyncGroup
    ) async throws -> (own: AdoptedSnapshot?, newest: AdoptedSnapshot?) {
        var keys = try await group.keys()
        keys.isCurrent = true
        return try await nextNumber(SnapshotStore(store: store, keys: keys)).1
    }

    private func setBegan(_ snapshot: AdoptedSnapshot, _ keys: GroupKeys) async throws {
        let stablePoint = snapshot.manifest.declaration.stablePoint
        try await database.write { [capture] db in
            let journal = SyncJournal(db)
            guard var place = try journal.place() else { throw SyncError.notAMember }
            if try journal.adopted() == nil {
                try journal.setLogs(of: snapshot.manifest)
            }
            try journal.setAdopted(snapshot)
            (place.began, place.keepsRows, place.former) = (snapshot.number, false, nil)
            try journal.setPlace(place)
            // The app may have written since: its timestamps must be above the stable point, and
            // exist before anything is forgotten.
            try capture.raiseLowerBound(to: stablePoint.time, in: db)
            try Outbox.seal(keys, capture, in: db)
            try capture.forget(through: stablePoint, in: db)
        }
    }

    /// Replaces the file's rows with the newest snapshot's; changes that exist only in this file
    /// are deferred until the logs have been read.
    func load(_ snapshot: AdoptedSnapshot, _ keys: GroupKeys) async throws {
        for (member, position) in snapshot.manifest.declaration.positions {
            let log = MemberLog(store: store, keys: keys, member: member)
            if let missing = try await log.missing(upTo: position) {
                throw SyncError.withheld(SyncLog(member), number: missing)
            }
        }
        let loading = SnapshotLoading(capture: capture, keys: keys, store: store)
        let (log, sent) = try await database.read { db -> (MemberID?, UInt64) in
            let journal = SyncJournal(db)
            guard let place = try journal.place() else { throw SyncError.notAMember }
            let member = place.former ?? place.member
            // A log in use is read like the others, unless it ended with this file.
            let isOurs =
                !snapshot.manifest.declaration.isOpen(member) || keys.removed[member] != nil
            return (
                isOurs ? member : nil,
                try journal.outgoing(limit: 1).first.map { $0.number - 1 }
                    ?? journal.position(of: member).number
            )
        }
        var changes: [RowChange] = []
        if let log {
            changes = try await loading.sentChanges(of: log, after: snapshot, upTo: sent)
        }
        let copied = try await copiedWrites(keys, snapshot)
        try await loading.withFiles(of: snapshot) { [database, changes] files in
            try await database.write {
                try loading.load(snapshot, files, sent: changes, copied, in: $0)
            }
        }
    }

    private func copiedWrites(
        _ keys: GroupKeys, _ snapshot: AdoptedSnapshot
    ) async throws -> CopiedWrites {
        let (sent, sealed) = try await database.read { db -> (BatchPosition?, UInt64) in
            let journal = SyncJournal(db)
            guard let place = try journal.place(), place.mayBeCopy, let former = place.former
            else { return (nil, 0) }
            return (try journal.sentPosition(of: former), try journal.position(of: former).number)
        }
        guard let sent else { return CopiedWrites() }
        return try await CopiedWrites(store, keys, after: sent, sealed: sealed, snapshot)
    }

    /// Loads the newest snapshot into the file of a member whose log continues.
    ///
    /// A reader has no log, and always loads it.
    ///
    /// - Returns: False if the log is closed, or another copy of this file continues it: then a new
    ///   log is needed.
    /// - Throws: `Inbox.Stale` if the file may have applied batches that a removed member has
    ///   replaced; the errors of the store and of the database.
    func loadNewest(_ keys: GroupKeys) async throws -> Bool {
        let snapshots = SnapshotStore(store: store, keys: keys)
        let (_, found, _) = try await nextNumber(snapshots)
        guard let newest = found.newest else { throw SyncError.notAMember }
        guard newest.number >= keys.leastSnapshot else {
            throw SyncError.withheld(.snapshots, number: keys.leastSnapshot)
        }
        let unverified = try await database.read { [keys] db in
            let declaration = newest.manifest.declaration
            return try SyncJournal(db).positions().contains { position in
                // Of a removed member that may have replaced what this file has.
                position.number > 0 && keys.wasRemoved(position.member)
                    && position != keys.removed[position.member]
                    && declaration.positions[position.member, default: 0] > position.number
            }
        }
        if unverified { throw Inbox.Stale() }
        if !keys.isReader {
            guard newest.manifest.declaration.isOpen(keys.member),
                try await removeSent(newest, keys)
            else { return false }
        }
        try await load(newest, keys)
        return true
    }

    /// Checks, before anything is sent, whether a snapshot contains batches of this member that
    /// this file did not send.
    ///
    /// Those batches may be gone from the store: their names are then free again, and creating an
    /// object does not detect the other copy.
    ///
    /// - Throws: `Outbox.OtherCopy`.
    func findOtherCopy(_ keys: GroupKeys) async throws {
        let adopted = try await database.read { try SyncJournal($0).adopted()?.number ?? 0 }
        let snapshots = SnapshotStore(store: store, keys: keys)
        let numbers = try await snapshots.numbers(after: adopted)
        guard let newest = try await snapshots.newest(of: numbers) else { return }
        guard try await !removeSent(newest, keys) else { return }
        let log = MemberLog(store: store, keys: keys, member: keys.member)
        let last = newest.manifest.declaration.positions[keys.member, default: 0]
        // A false claim must not turn this file into another member.
        guard try await log.missing(upTo: last) == nil else { return }
        throw Outbox.OtherCopy()
    }

    /// Removes batches that a snapshot contains from the outbox: the answers to their creation were
    /// lost.
    ///
    /// - Returns: False if the snapshot contains batches that this file did not write.
    private func removeSent(_ snapshot: AdoptedSnapshot, _ keys: GroupKeys) async throws -> Bool {
        let manifest = snapshot.manifest
        let last = manifest.declaration.positions[keys.member, default: 0]
        let sent = try await database.read { try SyncJournal($0).sentPosition(of: keys.member) }
        guard last > sent.number else { return true }
        return try await database.write { db in
            let journal = SyncJournal(db)
            let batches = try journal.outgoing()
            guard let batch = batches.first(where: { $0.number == last }),
                try SealedBatch(reading: batch.bytes).hash == manifest.logs[keys.member]?.hash
            else { return false }
            for batch in batches where batch.number <= last {
                try journal.removeOutgoing(batch.number)
            }
            return true
        }
    }

    /// Reapplies changes that only this file has, once the logs are read.
    func completeRows(_ keys: GroupKeys) async throws {
        let hasPending = try await database.read { try SyncJournal($0).hasPending() }
        guard hasPending else { return }
        try await database.write { [capture] db in
            try SnapshotLoading.putPending(keys, capture, in: db)
        }
    }
}
