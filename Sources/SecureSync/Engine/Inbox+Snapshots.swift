internal import Foundation
internal import ObjectStores
internal import SecureStorage

// Finds snapshots, and adopts their stable points.
extension Inbox {
    mutating func findSnapshots() async throws {
        let reader = SnapshotStore(store: store, keys: keys)
        let known = adopted?.number ?? 0
        let listed = try await reader.numbers(after: known > 0 ? known - 1 : 0)
        // A snapshot stays in the store at least until there are two newer ones.
        if adopts, listed.isEmpty {
            throw SyncError.storeHasForgotten(.snapshots, have: known, found: 0)
        }
        lostSnapshot = listed.contains(known) ? nil : known
        snapshots = listed.filter { $0 > known }
        lastSnapshot = snapshots.last ?? adopted?.number ?? 0
        covered = adopted?.manifest.declaration.positions ?? [:]
        let newest = try await reader.newest(of: snapshots)
        if let newest { covered = covered.joined(with: newest.manifest.declaration.positions) }
        guard adopts, let adopted else { return }
        // Its signer was removed earlier, and this file did not know.
        guard try keys.counts(adopted) else { throw Stale() }
        // Logs began with snapshots that are gone.
        if newest != nil, let first = snapshots.first, first > adopted.number + 1 {
            throw NeedsSnapshot()
        }
    }

    /// Adopts the next snapshot's stable point, if everything that the snapshot contains is applied
    /// here.
    ///
    /// A snapshot that contradicts this file is not adopted, nor any after it: its signer has to be
    /// removed. The logs continue.
    mutating func adoptNext() async throws -> Bool {
        guard adopts, !isHalted, let number = snapshots.first else { return false }
        do {
            return try await adopt(number)
        } catch let error as SyncError where error.isDamaged {
            outcome.failures.append(error)
            isHalted = true
            return false
        }
    }

    private mutating func adopt(_ number: UInt64) async throws -> Bool {
        let reader = SnapshotStore(store: store, keys: keys)
        guard let found = try await reader.read(number) else {
            // Invalid; or removed since it was listed, with batches that this file needs.
            let name = SyncNames.snapshot(group: keys.group, number: number)
            let isInvalid = keys.invalid.contains(name)
            if !isInvalid, try await store.read(name) == nil { try await findSnapshots() }
            snapshots.removeAll { $0 <= number }
            return true
        }
        let (next, capture, keys) = (found.snapshot, capture, keys)
        let declaration = next.manifest.declaration
        let name = SyncNames.snapshot(group: keys.group, number: number)
        if let adopted, found.previous != adopted.hash {
            // The group continues from a snapshot that does not follow this file's.
            if try await leads(next, to: { keys.isPinned($0.pin) }) { throw Stale() }
            throw SyncError.damaged(name, "it does not follow the snapshot before it")
        }
        // A former member may have replaced its own, unless a later one follows it.
        guard try await leads(next, to: keys.countsAlone) else {
            snapshots.removeFirst()
            return true
        }
        // An active member applied it, so it counts for all.
        for (member, position) in declaration.positions where keys.removed[member] == nil {
            if let limit = limits[member] { limits[member] = max(limit, position) }
        }
        let isAdopted = try await database.write { db in
            let journal = SyncJournal(db)
            let positions = try journal.positions()
            let numbers = Dictionary(uniqueKeysWithValues: positions.map { ($0.member, $0.number) })
            guard declaration.canBeAdopted(with: numbers) else { return false }
            // A log is closed once all writers know it; a reader may have read further.
            if keys.isReader,
                positions.contains(where: { $0.number > declaration.closed[$0.member] ?? .max })
            {
                throw Stale()
            }
            try journal.requireBatches(of: next.manifest, name)
            if let adopted = try journal.adopted(),
                let objection = try journal.objection(to: next, after: adopted)
            {
                throw SyncError.damaged(name, objection)
            }
            try Outbox.seal(keys, capture, in: db)
            try capture.forget(through: declaration.stablePoint, in: db)
            try journal.setAdopted(next)
            return true
        }
        guard isAdopted else { return false }
        snapshots.removeFirst()
        adopted = next
        try await openLogs()
        if !keys.isReader, !declaration.isOpen(keys.member) { throw OtherCopy() }
        return true
    }

    /// Whether a snapshot, or one that follows it, meets a condition.
    private func leads(
        _ snapshot: AdoptedSnapshot, to condition: (AdoptedSnapshot) -> Bool
    ) async throws -> Bool {
        let reader = SnapshotStore(store: store, keys: keys)
        var last = snapshot
        for number in snapshots.drop(while: { $0 <= snapshot.number }) {
            if condition(last) { return true }
            guard let found = try await reader.read(number) else { continue }
            guard found.previous == last.hash else { return false }
            last = found.snapshot
        }
        return condition(last)
    }

    /// The batches in a snapshot were in the store before it, so missing ones are withheld.
    mutating func findWithheldPositions() async throws {
        guard adopts, !isHalted, let number = snapshots.first else { return }
        let reader = SnapshotStore(store: store, keys: keys)
        guard let positions = try await reader.read(number)?.snapshot.manifest.declaration.positions
        else {
            return
        }
        for (member, position) in positions.sorted(by: { $0.key < $1.key })
        where member != keys.member {
            if let missing = try await missing(of: member, upTo: position) {
                outcome.failures.append(.withheld(SyncLog(member), number: missing))
            }
        }
    }
}

extension SyncJournal {
    /// Why a snapshot cannot be the next one, as far as this file knows; nil if it can.
    fileprivate func objection(
        to next: AdoptedSnapshot, after adopted: AdoptedSnapshot
    ) throws -> String? {
        let (before, declaration) = (adopted.manifest.declaration, next.manifest.declaration)
        let isBeginning = before.logs[next.writer] == nil
        guard !isBeginning || next.manifest.rows == adopted.manifest.rows else {
            return "it has other rows than the one before"
        }
        return before.objection(
            to: declaration, by: next.writer, published: try published(),
            lowerBound: { (try? greatestLowerBound(of: $0, $1)) ?? 0 })
    }
}
