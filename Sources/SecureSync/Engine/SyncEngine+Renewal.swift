internal import Foundation
internal import SecureStorage

// Turns a file into another member.
extension SyncEngine {
    /// Turns the file into another member, because it is a copy, its log is closed, or it has to
    /// start over; with `leaving`, the former member leaves.
    ///
    /// A reader has no log that could be confused with another: it stays the same member, and loads
    /// a snapshot.
    func renew(leaving: Bool = false) async throws {
        let group = try await currentGroup()
        if try await group.keys().isReader {
            return try await database.write { db in
                let journal = SyncJournal(db)
                guard var place = try journal.place() else { throw SyncError.notAMember }
                place.began = 0
                try journal.setPlace(place)
                try journal.forgetAdopted()
            }
        }
        let old = await group.member
        let new: MemberID
        if leaving {
            new = try await group.fork(after: try await lastUntainted(in: group)) { [self] in
                try await untilCurrent {
                    let departures = await group.state.departures
                    let newest = try await newestSnapshot(of: group)
                    try await group.leave(
                        try await lastUntainted(in: group), snapshot: newest?.pin ?? .none,
                        asOf: departures)
                }
            }
        } else {
            new = try await group.fork(
                after: try await database.read { try SyncJournal($0).sentPosition(of: old) })
        }
        try await database.write { [capture] db in
            let journal = SyncJournal(db)
            guard var place = try journal.place() else { throw SyncError.notAMember }
            (place.former, place.member, place.began) = (old, new, 0)
            place.mayBeCopy = !leaving
            try capture.setMember(new, in: db)
            try journal.setPlace(place)
            try journal.forgetAdopted()
        }
        try await keepChain(of: group)
    }

    /// Repeats `change` until nobody leaves the group or is removed while it looks up what counts.
    func untilCurrent(_ change: () async throws -> Void) async throws {
        for _ in 0..<100 {
            do { return try await change() } catch is SyncGroup.Outdated {}
        }
        throw SyncError.tryAgain("members leave the group all the time")
    }

    /// This member's last batch in the store from before it applied anything invalid.
    private func lastUntainted(in group: SyncGroup) async throws -> BatchPosition {
        let keys = try await group.keys()
        let (adopted, sent) = try await database.read { db in
            (try SyncJournal(db).adopted(), try SyncJournal(db).sentPosition(of: keys.member))
        }
        let first = try adopted.flatMap { try keys.counts($0) ? nil : $0.number } ?? .max
        let common = try await lastCommon(keys)
        let snapshots = SnapshotStore(store: store, keys: keys)
        let known = try await database.read {
            try SyncJournal($0).shortHashes(of: .none, upTo: keys.leastSnapshot)
        }
        let lastSnapshot = try await snapshots.lastCommon { known[$0] }
        var last = BatchPosition.beginning(of: keys.member)
        // What a snapshot has counts, and may be gone from the log.
        let counting = try await countingSnapshots(of: group)
        for manifest in [counting.own, counting.newest].compactMap({ $0?.manifest }) {
            let number = manifest.declaration.positions[keys.member, default: 0]
            guard number > last.number, number <= sent.number,
                let hash = manifest.logs[keys.member]?.hash,
                try await database.read({ db in
                    try SyncJournal(db).shortHash(of: keys.member, number)
                        .map { hash.starts(with: $0) } ?? true
                })
            else { continue }
            last = BatchPosition(member: keys.member, number: number, hash: hash)
        }
        let log = MemberLog(store: store, keys: keys, member: keys.member)
        while last.number < sent.number {
            guard case .batch(let bytes, let name) = try await log.read(last.number + 1) else {
                break
            }
            let (batch, body) = try LogReader.open(bytes, name, keys, after: nil)
            let isTainted = body.positions.contains { position in
                position.member == .none
                    ? position.number >= first
                        || position.number > lastSnapshot && position.number <= keys.leastSnapshot
                        || !keys.agreesWithPins(position.asSnapshot, epoch: batch.header.epoch)
                    : keys.isLate(position) || position.number > common[position.member] ?? .max
            }
            if isTainted { break }
            last = BatchPosition(member: keys.member, number: last.number + 1, hash: batch.hash)
        }
        return last
    }

    /// For each removed member, the last batch applied here that counts; 0 if the store hides that.
    private func lastCommon(_ keys: GroupKeys) async throws -> VersionVector {
        var common: VersionVector = [:]
        for (member, last) in keys.removed {
            let (applied, hashes) = try await database.read { db in
                let journal = SyncJournal(db)
                return (
                    try journal.position(of: member),
                    try journal.shortHashes(of: member, upTo: last.number)
                )
            }
            guard applied.number > 0, applied != last else { continue }
            let log = MemberLog(store: store, keys: keys, member: member)
            common[member] = try await log.lastCommon(last) {
                $0 == applied.number ? applied.hash : hashes[$0]
            }
        }
        return common
    }
}

extension SyncJournal {
    /// The last own batch known to be in the store.
    func sentPosition(of member: MemberID) throws -> BatchPosition {
        let position = try position(of: member)
        guard let first = try outgoing(limit: 1).first else { return position }
        let header = try SealedBatch(reading: first.bytes).header
        return BatchPosition(member: member, number: first.number - 1, hash: header.previous)
    }

    /// Requires a snapshot to be loaded before the file continues.
    func forgetAdopted() throws { try db.executeUpdate("DELETE FROM securestorage_sync_snapshot") }
}
