internal import Foundation
internal import ObjectStores
internal import SecureStorage

/// Replaces the file's rows with a snapshot's, and reapplies changes that only this file has, in
/// one transaction.
///
/// For a file that starts a log: of a new member, after its log was closed, or as a copy. Also for
/// a file that was offline so long that batches it needs are gone.
struct SnapshotLoading: Sendable {
    let capture: Capture
    let keys: GroupKeys
    let store: any ObjectStore

    /// Downloads a snapshot's parts, and removes the files after `body`.
    func withFiles(
        of snapshot: AdoptedSnapshot, _ body: @Sendable ([URL]) async throws -> Void
    ) async throws {
        let directory = try SnapshotPart.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(download(snapshot.manifest.rows, into: directory))
    }

    /// Downloads the parts into a directory for temporary files.
    ///
    /// - Returns: The files, in the order of the parts; the caller removes the directory.
    /// - Throws: `SyncError.damaged` for a part that does not match the manifest, or is gone.
    private func download(
        _ rows: SnapshotManifest.Rows, into directory: URL
    ) async throws -> [URL] {
        var files: [URL] = []
        for (index, part) in rows.parts.enumerated() {
            let name = SyncNames.snapshotPart(
                group: keys.group, rows: rows.name, part: UInt64(index + 1))
            guard let bytes = try await store.read(name) else {
                throw SyncError.damaged(name, "a part of the newest snapshot is missing")
            }
            guard SnapshotPart.isPart(bytes, of: part) else {
                throw SyncError.damaged(name, "it is not what the snapshot says")
            }
            let file = directory.appendingPathComponent("\(index)")
            try bytes.write(to: file)
            files.append(file)
        }
        return files
    }

    /// Changes that this file sent and the snapshot does not contain.
    func sentChanges(
        of member: MemberID, after snapshot: AdoptedSnapshot, upTo sent: UInt64
    ) async throws -> [RowChange] {
        let declaration = snapshot.manifest.declaration
        // The valid part of a log that this member left is read like other members' logs.
        var number = declaration.closed[member] ?? declaration.positions[member, default: 0]
        number = max(number, keys.removed[member]?.number ?? 0)
        var changes: [RowChange] = []
        let log = MemberLog(store: store, keys: keys, member: member)
        while number < sent {
            number += 1
            guard case .batch(let bytes, let name) = try await log.read(number) else {
                throw SyncError.withheld(SyncLog(member), number: number)
            }
            changes += try LogReader.open(bytes, name, keys, after: nil).body.changes
        }
        return changes
    }

    /// Loads the rows of the newest snapshot from its downloaded parts; in a write transaction.
    ///
    /// `sent` comes from ``sentChanges(of:after:upTo:)``; `copied` has those of this file's unsent
    /// writes that another copy sent.
    func load(
        _ snapshot: AdoptedSnapshot, _ files: [URL], sent: [RowChange], _ copied: CopiedWrites,
        in db: SecureDatabaseStore
    ) throws {
        let journal = SyncJournal(db)
        guard let place = try journal.place() else { throw SyncError.notAMember }
        if place.began > 0, snapshot.manifest.declaration.isOpen(place.member) {
            try join(snapshot, files, place, in: db)
        } else {
            try replace(snapshot, files, place, sent, copied, in: db)
        }
        try journal.setAdopted(snapshot)
    }

    /// Merges a snapshot's rows with those of a file whose log continues.
    ///
    /// Its log holds back the stable point: others know everything in the file that is below it. If
    /// the snapshot lacks a row, the file has newer changes of that row.
    private func join(
        _ snapshot: AdoptedSnapshot, _ files: [URL], _ place: SyncJournal.Place,
        in db: SecureDatabaseStore
    ) throws {
        let journal = SyncJournal(db)
        let manifest = snapshot.manifest
        try journal.requireBatches(
            of: manifest, SyncNames.snapshot(group: keys.group, number: snapshot.number))
        try Outbox.seal(keys, capture, in: db)
        try capture.forget(through: manifest.declaration.stablePoint, in: db)
        try journal.joinLogs(of: manifest)
        // A lost value is a new conflict only if the snapshot's writer did not know it.
        let known = try journal.lowerBound(
            of: place.member, manifest.declaration.positions[place.member, default: 0])
        let last = Timestamp.time(milliseconds: known) | 0xffff
        try read(snapshot, files, in: db) { changes in
            _ = try capture.apply(changes, in: db) {
                $0.timestamp.member == place.member && $0.timestamp.time > last
            }
        }
    }

    /// Replaces the file's rows with a snapshot's.
    ///
    /// Changes that only this file has stay visible where possible: new rows, below everything from
    /// the logs, and edits of the snapshot's rows.
    private func replace(
        _ snapshot: AdoptedSnapshot, _ files: [URL], _ place: SyncJournal.Place,
        _ sent: [RowChange], _ copied: CopiedWrites, in db: SecureDatabaseStore
    ) throws {
        let journal = SyncJournal(db)
        let declaration = snapshot.manifest.declaration
        let new = try capture.timestamp(in: db)
        // Later timestamps must be above the stable point.
        try capture.raiseLowerBound(to: declaration.stablePoint.time, in: db)
        // Only this file has them.
        try capture.requireNoUnsentRows(in: db)
        let waiting = try (journal.takePending() + journal.outgoingChanges(keys))
            .map(copied.split)
        let marked = new.map(copied.split)
        var own = sent + waiting.compactMap(\.own)
        own += marked.compactMap(\.own).map(declaration.stablePoint.raisedEdit)
        var updated = place
        updated.mayBeCopy = false
        try journal.setPlace(updated)
        try capture.removeAllRows(in: db)
        try capture.removeAllMerging(in: db)
        try journal.removeAllOutgoing()
        try journal.setLogs(of: snapshot.manifest)
        try capture.forget(through: declaration.stablePoint, in: db)
        try read(snapshot, files, in: db) { _ = try capture.apply($0, in: db) }

        let known = try KnownRows(capture, in: db)
        for change in (waiting + marked).compactMap(\.lost).map(known.renamed) {
            let reason: LostValues.Reason =
                try known.incarnation(of: change) == nil ? .deleted : .overwritten
            try capture.noteLost(change, reason, known, in: db)
        }
        let rows = OwnRows(own.map(known.renamed), place)
        var (pending, seen): ([RowChange], [RowChange]) = ([], [])
        for change in rows.changes {
            let incarnation = try known.incarnation(of: change)
            let isThere = incarnation != nil
            if OwnRows.isInsertion(change) {
                if isThere,
                    place.keepsRows || declaration.stablePoint.covers(change.incarnation.timestamp)
                {
                    try capture.noteLost(change, .replaced, known, in: db)
                    continue
                }
                if !isThere { seen.append(rows.early(change)) }
            } else if !change.incarnation.isAlive,
                declaration.standing(change, rowIsThere: isThere) == nil
            {
                // Nor later: it must not win over later edits of the visible row.
                try capture.noteLost(change, .deleted, known, in: db)
                continue
            } else if declaration.stablePoint.isEdit(change, of: incarnation),
                let stands = declaration.standing(change, rowIsThere: true)
            {
                seen.append(stands)
            }
            pending.append(change)
        }
        _ = try capture.apply(seen, in: db)
        try journal.addPending(pending)
    }

    func read(
        _ snapshot: AdoptedSnapshot, _ files: [URL], in db: SecureDatabaseStore,
        _ body: ([RowChange]) throws -> Void
    ) throws {
        let (manifest, stablePoint) = (snapshot.manifest, snapshot.manifest.declaration.stablePoint)
        let rules = try TimestampRules(capture, in: db)
        try rules.check(ofSnapshot: [stablePoint.time], by: snapshot.writer)
        for (index, file) in files.enumerated() {
            let name = SyncNames.snapshotPart(
                group: keys.group, rows: manifest.rows.name, part: UInt64(index + 1))
            do {
                try SnapshotPart.read(
                    try Data(contentsOf: file), number: index + 1, of: manifest.rows,
                    group: keys.group, key: keys.key(ofEpoch: manifest.rows.epoch)
                ) {
                    try rules.check(
                        ofSnapshot: $0.lazy.map(\.greatestTimestamp.milliseconds),
                        by: snapshot.writer)
                    try body($0.map(stablePoint.reduced))
                }
            } catch let error as CBORError {
                throw SyncError.damaged(name, error.reason)
            }
        }
    }

    /// Lists pending changes that the rows do not show as conflicts, when the file joins another
    /// group; in a write transaction.
    static func listPending(_ capture: Capture, in db: SecureDatabaseStore) throws {
        let journal = SyncJournal(db)
        guard let place = try journal.place() else { return }
        let known = try KnownRows(capture, in: db)
        let pending = try journal.takePending().map(known.renamed)
        for change in OwnRows(pending, place).changes {
            try capture.noteLost(change, .deleted, known, in: db)
        }
    }

    /// Reapplies changes that only this file has, once the logs are read; in a write transaction.
    ///
    /// Changes that do not apply are listed as conflicts.
    static func putPending(
        _ keys: GroupKeys, _ capture: Capture, in db: SecureDatabaseStore
    ) throws {
        let journal = SyncJournal(db)
        try Outbox.seal(keys, capture, in: db)
        guard let place = try journal.place(), let adopted = try journal.adopted() else { return }
        let declaration = adopted.manifest.declaration
        let known = try KnownRows(capture, in: db)
        let rows = OwnRows(try journal.takePending().map(known.renamed), place)
        let time = max(
            Timestamp.time(milliseconds: try capture.now(in: db)),
            try capture.lowerBound(in: db) + 1)
        let anew = Timestamp(time: min(time, Timestamp.greatestTime), member: place.member)
        var standing: [RowChange] = []
        for change in rows.changes {
            let incarnation = try known.incarnation(of: change)
            let isOurs = incarnation.map { rows.isOwn($0, of: change) } ?? true
            var stands = declaration.standing(change, rowIsThere: incarnation != nil)
            if OwnRows.isInsertion(change) {
                // If the logs brought another one, the conflict is already listed.
                if place.keepsRows, !isOurs { continue }
                if isOurs {
                    stands = stands.flatMap { $0.incarnation.timestamp > .stablePoint ? $0 : nil }
                }
                if stands == nil, isOurs { stands = OwnRows.begun(change, at: anew) }
            } else if change.incarnation.isAlive,
                !declaration.stablePoint.isEdit(change, of: incarnation),
                !known.isWhole(change)
            {
                // It would create a row with only the edited columns.
                stands = nil
            }
            if let stands {
                standing.append(stands)
            } else {
                try capture.noteLost(change, .deleted, known, in: db)
            }
        }
        _ = try capture.apply(standing, in: db)
        guard !standing.isEmpty else { return }
        try Outbox.seal(standing, keys, capture, to: journal)
    }
}

extension StablePoint {
    /// Whether a change is an edit of the row with this incarnation, which its writer saw.
    fileprivate func isEdit(_ change: RowChange, of incarnation: Timestamp?) -> Bool {
        incarnation.map { reduced($0) == reduced(change.incarnation.timestamp) } ?? false
    }

    /// An edit or a deletion that nobody has seen: it counts, whatever its time.
    fileprivate func raisedEdit(_ change: RowChange) -> RowChange {
        guard !OwnRows.isInsertion(change) else { return change }
        func raised(_ timestamp: Timestamp) -> Timestamp {
            covers(timestamp)
                ? Timestamp(time: Timestamp.time(milliseconds: time + 1), member: timestamp.member)
                : timestamp
        }
        var change = change
        if !change.incarnation.isAlive {
            change.incarnation.timestamp = raised(change.incarnation.timestamp)
        }
        for index in change.columnGroups.indices {
            change.columnGroups[index].timestamp = raised(change.columnGroups[index].timestamp)
        }
        return change
    }
}
