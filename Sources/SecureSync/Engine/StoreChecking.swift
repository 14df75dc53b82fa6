internal import Foundation
internal import ObjectStores
internal import SecureStorage

/// Reads objects and records problems.
struct StoreChecking {
    let store: any ObjectStore
    private(set) var found = SyncVerification()
    private var logs: [MemberID: Log] = [:]
    /// Positions that batches acknowledge, with the batch's name.
    private var named: [(position: BatchPosition, by: String)] = []

    init(store: any ObjectStore) { self.store = store }

    /// The findings about a log.
    private struct Log {
        /// Batches up to this one may be gone.
        var contained: UInt64
        /// Batches after this one are invalid.
        var last: UInt64?
        /// The last batch in the store.
        var end: UInt64 = 0
        /// The first 16 bytes of the hash of each batch.
        var hashes: [UInt64: Data] = [:]
    }

    /// A file's knowledge of the store.
    struct Known: Sendable {
        /// The last applied batch of each log; of the own log, the last sent one.
        var positions: [MemberID: BatchPosition] = [:]
        /// The last batch of each log that others have acknowledged.
        var acknowledgements: [MemberID: UInt64] = [:]
        /// The first 16 bytes of the hash of each batch that was sent or applied since the stable
        /// point.
        var hashes: [MemberID: [UInt64: Data]] = [:]
        /// The snapshot that was adopted, if it counts.
        var adopted: AdoptedSnapshot?

        init(_ keys: GroupKeys, _ journal: SyncJournal) throws {
            let place = try journal.place()
            for member in keys.writers {
                // Sealed batches not yet sent belong to the former member.
                let isOwn = member == keys.member || member == place?.former
                let position =
                    try isOwn ? journal.sentPosition(of: member) : journal.position(of: member)
                positions[member] = position
                acknowledgements[member] = try journal.acknowledgement(
                    by: keys.writers.filter { $0 != member }, of: member)
                hashes[member] = try journal.shortHashes(of: member, upTo: position.number)
            }
            if let snapshot = try journal.adopted(), try keys.counts(snapshot) {
                adopted = snapshot
            }
        }
    }

    mutating func note(_ error: SyncError?) {
        if let error, !found.problems.contains(error) { found.problems.append(error) }
    }

    private mutating func read(_ name: String) async throws -> Data? {
        guard let bytes = try await store.read(name) else { return nil }
        found.objectCount += 1
        found.byteCount += bytes.count
        return bytes
    }

    // MARK: - The chain

    /// Checks that the store has each entry as this file has read it.
    mutating func checkChain(_ entries: [Data], of group: Data) async throws {
        for (index, entry) in entries.enumerated() {
            let name = SyncNames.chainEntry(group: group, number: UInt64(index + 1))
            guard let bytes = try await read(name) else {
                note(.damaged(name, "an entry of the chain of members is missing"))
                continue
            }
            let kept = MembershipState.kept(of: bytes)
            // For an invalid entry, only the hash may be kept.
            guard kept != entry, MembershipState.hash(of: bytes) != entry else { continue }
            note(.damaged(name, "it is not the entry that this file has read before"))
        }
    }

    // MARK: - Snapshots

    /// Checks the newest snapshot that counts, and all its parts.
    mutating func checkSnapshots(
        _ keys: GroupKeys, _ adopted: AdoptedSnapshot?
    ) async throws -> AdoptedSnapshot? {
        let snapshots = SnapshotStore(store: store, keys: keys)
        do {
            let numbers = try await snapshots.numbers(after: 0)
            guard let newest = try await snapshots.newest(of: numbers) else {
                note(.withheld(.snapshots, number: adopted?.number ?? 1))
                return nil
            }
            let name = SyncNames.snapshot(group: keys.group, number: newest.number)
            _ = try await read(name)
            if let adopted, newest.number < adopted.number {
                note(
                    .storeHasForgotten(
                        .snapshots, have: adopted.number, found: newest.number))
            } else if let adopted, newest.number == adopted.number, newest.hash != adopted.hash {
                note(.damaged(name, "it is not the snapshot that this file has read before"))
            }
            try await check(newest.manifest.rows, keys)
            return newest
        } catch let error as SyncError where !error.isTransient {
            note(error)
            return nil
        }
    }

    /// Compares the rows of the adopted snapshot with the file's.
    ///
    /// - Parameters:
    ///   - snapshot: The newest, whose parts match its manifest.
    ///   - writer: The name of its writer.
    ///   - keys: The group's.
    ///   - capture: The file's.
    ///   - database: The file.
    /// - Throws: The errors of the store and of the database.
    mutating func compareRows(
        of snapshot: AdoptedSnapshot, by writer: String, _ keys: GroupKeys, _ capture: Capture,
        in database: any SecureDatabaseWriter
    ) async throws {
        let rows = snapshot.manifest.rows
        var comparison = try await database.read {
            try SnapshotComparison(snapshot, keys, capture, in: $0)
        }
        for index in rows.parts.indices {
            let name = SyncNames.snapshotPart(
                group: keys.group, rows: rows.name, part: UInt64(index + 1))
            guard let bytes = try await store.read(name) else { return }
            do {
                try SnapshotPart.read(
                    bytes, number: index + 1, of: rows, group: keys.group,
                    key: keys.key(ofEpoch: rows.epoch)
                ) { comparison.add($0) }
            } catch is CBORError {
                return
            }
        }
        let read = comparison
        let compared = try await database.read { db -> SnapshotComparison? in
            var comparison = read
            let journal = SyncJournal(db)
            // A value that waits for a timestamp, or cannot be sent, has the previous value's.
            guard try capture.waitingMarks(in: db) == nil, try !journal.hasPending(),
                try UnsentRows(db: db).isEmpty(),
                try journal.adopted()?.hash == snapshot.hash
            else { return nil }
            try comparison.compare(capture, in: db)
            return comparison
        }
        guard let compared, compared.count > 0 else { return }
        note(
            .damaged(
                SyncNames.snapshot(group: keys.group, number: snapshot.number),
                "\(compared.count) of its rows, one of them in \"\(compared.table)\", are not those "
                    + "of this file; \"\(writer)\" has made it"))
    }

    private mutating func check(_ rows: SnapshotManifest.Rows, _ keys: GroupKeys) async throws {
        for (index, part) in rows.parts.enumerated() {
            let name = SyncNames.snapshotPart(
                group: keys.group, rows: rows.name, part: UInt64(index + 1))
            guard let bytes = try await read(name) else {
                note(.damaged(name, "a part of the newest snapshot is missing"))
                continue
            }
            guard SnapshotPart.isPart(bytes, of: part) else {
                note(.damaged(name, "it is not what the snapshot says"))
                continue
            }
            do {
                try SnapshotPart.read(
                    bytes, number: index + 1, of: rows, group: keys.group,
                    key: keys.key(ofEpoch: rows.epoch)
                ) { _ in }
            } catch let error as CBORError {
                note(.damaged(name, error.reason))
            }
        }
    }

    // MARK: - Logs

    /// Checks a log in the store.
    ///
    /// Batches up to `contained` are in the newest snapshot and may be gone; those after `last` are
    /// invalid.
    mutating func checkLog(
        of member: MemberID, _ keys: GroupKeys, _ known: Known, contained: UInt64, last: UInt64?
    ) async throws {
        let reader = MemberLog(store: store, keys: keys, member: member)
        let places = try await reader.places().filter { $0.number <= last ?? .max }
        var log = Log(contained: contained, last: last)
        var expected = min(places.first?.number ?? contained + 1, contained + 1)
        var previous: Data?
        // An unsigned object is a stranger's, unless there was a batch with that number.
        var others: [(number: UInt64, name: String)] = []
        let least = max(known.positions[member]?.number ?? 0, known.acknowledgements[member] ?? 0)
        func noteOthers(before number: UInt64) {
            for other in others where other.number < number {
                note(.damaged(other.name, MemberLog.isOther))
                log.end = other.number
            }
            others = []
        }
        for place in places {
            let (bytes, name): (Data, String)
            switch try await reader.read(place) {
            case .batch(let found, let place): (bytes, name) = (found, place)
            case .other(let name):
                others.append((place.number, name))
                previous = nil
                continue
            case .nothing:
                previous = nil
                continue
            }
            noteOthers(before: place.number)
            if place.number != expected {
                note(.withheld(SyncLog(member), number: expected))
                previous = nil
            }
            expected = place.number + 1
            log.end = place.number
            found.objectCount += 1
            found.byteCount += bytes.count
            do {
                let (batch, body) = try LogReader.open(bytes, name, keys, after: previous)
                previous = batch.hash
                log.hashes[place.number] = batch.hash.prefix(BatchPosition.shortHashCount)
                named += body.positions.map { ($0, name) }
                if let own = known.hashes[member]?[place.number],
                    own != batch.hash.prefix(BatchPosition.shortHashCount)
                {
                    note(.damaged(name, "it is not the batch that this file has sent or applied"))
                }
            } catch let error as SyncError {
                note(error)
                previous = nil
            }
        }
        noteOthers(before: least + 1)
        if expected <= contained, let first = places.first?.number, first <= contained {
            note(.withheld(SyncLog(member), number: expected))
        }
        logs[member] = log
    }

    /// Checks that each log reaches the positions that this file and the read batches know.
    mutating func checkEnds(_ known: Known) {
        var needed = known.acknowledgements
        for (position, name) in named where position.member != .none {
            guard let log = logs[position.member] else { continue }
            needed[position.member] = max(needed[position.member] ?? 0, position.number)
            if let hash = log.hashes[position.number],
                hash != position.hash.prefix(BatchPosition.shortHashCount)
            {
                note(.damaged(name, "its writer has seen another batch than the store has"))
            }
        }
        for (member, log) in logs.sorted(by: { $0.key < $1.key }) {
            let end = max(log.end, log.contained)
            func counts(_ number: UInt64) -> UInt64 { min(number, log.last ?? .max) }
            let position = known.positions[member]?.number ?? 0
            if counts(position) > end {
                note(
                    .storeHasForgotten(
                        SyncLog(member), have: counts(position), found: log.end))
            } else if counts(needed[member] ?? 0) > end {
                note(.withheld(SyncLog(member), number: end + 1))
            }
        }
    }
}
