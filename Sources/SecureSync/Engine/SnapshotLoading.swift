internal import Foundation
internal import SecureStorage

/// Replaces the file's rows by those of a snapshot, and puts onto them what only this file has
/// written, in one transaction.
///
/// For a file whose log begins: of a new member, or of one whose log is closed, or that is a copy;
/// and for one that was away so long that batches which it needs are gone.
struct SnapshotLoading: Sendable {
    let capture: Capture
    let keys: GroupKeys
    let store: any SyncObjectStore

    /// Downloads the parts into a directory for temporary files.
    ///
    /// - Returns: The files, in the order of the parts; the caller removes the directory.
    /// - Throws: `SyncError.damaged` for a part that is not what the manifest says, or is gone.
    func download(
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

    /// What this file has sent into its log, and the snapshot does not contain.
    func sentChanges(
        of member: MemberID, after snapshot: AdoptedSnapshot, upTo sent: UInt64
    ) async throws -> [RowChange] {
        let declaration = snapshot.manifest.declaration
        var number = declaration.closed[member] ?? declaration.heads[member, default: 0]
        var changes: [RowChange] = []
        while number < sent {
            number += 1
            let name = SyncNames.batch(group: keys.group, member: member, number: number)
            guard let bytes = try await store.read(name) else {
                throw SyncError.withheld(member: member.description, number: number)
            }
            do {
                let batch = try SealedBatch(reading: bytes)
                try batch.verify { keys.isValid($0, for: $1, by: member) }
                changes += try batch.open(key: keys.key(ofEpoch: batch.header.epoch)).changes
            } catch let error as CBORError {
                throw SyncError.damaged(name, error.reason)
            }
        }
        return changes
    }

    /// Loads the rows of the newest snapshot from its downloaded parts; in a write transaction.
    ///
    /// `sent` is what ``sentChanges(of:after:upTo:)`` has returned.
    func load(
        _ snapshot: AdoptedSnapshot, _ files: [URL], sent: [RowChange],
        in db: SecureDatabaseStore
    ) throws {
        let journal = SyncJournal(db)
        guard let place = try journal.place() else { throw SyncError.notAMember }
        let (declaration, floor) = (
            snapshot.manifest.declaration, snapshot.manifest.declaration.floor
        )
        // What is stamped now has to be above the floor.
        try capture.promise(upTo: floor.time, in: db)
        let new = try capture.stamp(in: db)
        let goesOn = place.entered > 0 && declaration.isOpen(place.member)
        if goesOn, !new.isEmpty { try Outbox.seal(new, keys, capture, to: journal) }
        let ownHead = try journal.head(of: place.member)
        var own = try journal.takePending() + sent
        for batch in try journal.outgoing() {
            let sealed = try SealedBatch(reading: batch.bytes)
            own += try sealed.open(key: keys.key(ofEpoch: sealed.header.epoch)).changes
        }
        if !goesOn { try journal.addPending(own + new) }

        try capture.removeAllRows(in: db)
        try capture.removeAllMerging(in: db)
        try journal.setLogs(of: snapshot.manifest)
        if goesOn {
            try journal.setHead(ownHead)
            try journal.setReplay(
                LogHead(
                    member: place.member, number: declaration.heads[place.member, default: 0],
                    hash: snapshot.manifest.logs[place.member]?.hash ?? Data(count: 32)))
        } else {
            try journal.setReplay(nil)
            try journal.removeAllOutgoing()
        }
        try capture.forget(through: floor, in: db)
        for (index, file) in files.enumerated() {
            let name = SyncNames.snapshotPart(
                group: keys.group, rows: snapshot.manifest.rows.name, part: UInt64(index + 1))
            do {
                try SnapshotPart.read(
                    try Data(contentsOf: file), number: index + 1, of: snapshot.manifest.rows,
                    group: keys.group, key: keys.key(ofEpoch: snapshot.manifest.rows.epoch)
                ) { changes in
                    _ = try capture.apply(changes.map(floor.reduced), in: db)
                }
            } catch let error as CBORError {
                throw SyncError.damaged(name, error.reason)
            }
        }
        try journal.setAdopted(snapshot)
    }

    /// Puts onto the rows what only this file has written, once the logs are read; in a write
    /// transaction.
    ///
    /// What does not stand is listed in the conflicts.
    static func putPending(
        _ keys: GroupKeys, _ capture: Capture, in db: SecureDatabaseStore
    ) throws {
        let journal = SyncJournal(db)
        guard let place = try journal.place(), let adopted = try journal.adopted() else { return }
        let declaration = adopted.manifest.declaration
        if place.entered > 0, try journal.replay(of: place.member) != nil {
            // The log goes on, and what is in the store of it was read: this is the rest.
            try Outbox.seal(keys, capture, in: db)
            for batch in try journal.outgoing() {
                let sealed = try SealedBatch(reading: batch.bytes)
                let body = try sealed.open(key: keys.key(ofEpoch: sealed.header.epoch))
                _ = try capture.apply(body.changes.map(declaration.floor.reduced), in: db)
            }
            try journal.setReplay(nil)
        }
        let pending = try journal.takePending()
        guard !pending.isEmpty else { return }
        try Outbox.seal(keys, capture, in: db)
        let time = max(
            Stamp.time(milliseconds: try capture.now(in: db)), try capture.promisedTime(in: db) + 1)
        let anew = Stamp(time: time, member: place.member)
        var standing: [RowChange] = []
        for change in pending {
            let isThere = try capture.isThere(change, in: db)
            let isInsertion =
                change.life.isAlive && !change.registers.isEmpty
                && change.registers.allSatisfy { $0.stamp == change.life.stamp }
            if place.keepsRows, isInsertion, isThere {
                try capture.noteLost(change, .replaced, in: db)
            } else if let stands = declaration.standing(change, rowIsThere: isThere)
                ?? (isInsertion && !isThere ? change.begun(at: anew) : nil)
            {
                _ = try capture.apply([stands], in: db)
                standing.append(stands)
            } else {
                try capture.noteLost(change, .deleted, in: db)
            }
        }
        if !standing.isEmpty { try Outbox.seal(standing, keys, capture, to: journal) }
    }
}

extension RowChange {
    /// An insertion that nobody has seen, as one of now: below the floor it would say nothing.
    fileprivate func begun(at stamp: Stamp) -> RowChange {
        var change = self
        change.life = .init(stamp: stamp, isAlive: true)
        for index in change.registers.indices {
            (change.registers[index].stamp, change.registers[index].known) = (stamp, nil)
        }
        return change
    }
}
