internal import Foundation
internal import SecureStorage

// Which snapshots there are, and whose floor counts here.
extension Inbox {
    mutating func findSnapshots() async throws {
        let reader = SnapshotStore(store: store, keys: keys)
        let known = adopted?.number ?? 0
        let listed = try await reader.numbers(after: known > 0 ? known - 1 : 0)
        // It stays in the store at least until there are two newer ones.
        if adopts, listed.isEmpty {
            throw SyncError.storeHasForgotten(.snapshots, have: known, found: 0)
        }
        snapshots = listed.filter { $0 > known }
        lastSnapshot = snapshots.last ?? adopted?.number ?? 0
        covered = adopted?.manifest.declaration.heads ?? [:]
        let newest = try await reader.newest(of: snapshots)
        if let newest { covered = covered.joined(with: newest.manifest.declaration.heads) }
        guard adopts, let adopted else { return }
        // One that has signed it was removed before, and this file did not know. If there is none
        // that has more, this file writes it: what it has forgotten, all open logs had told.
        isVoid = try !keys.mayDeclare(adopted.writer, adopted.number)
        let contained = adopted.manifest.declaration.heads
        if isVoid, newest?.manifest.declaration.heads.cover(contained) ?? false {
            throw NeedsSnapshot()
        }
        // Logs have begun with snapshots that are gone.
        if let first = snapshots.first, first > adopted.number + 1 { throw NeedsSnapshot() }
    }

    /// Lets the next snapshot's floor count, if all that the snapshot contains is applied here.
    mutating func adoptNext() async throws -> Bool {
        guard adopts, let number = snapshots.first else { return false }
        let reader = SnapshotStore(store: store, keys: keys)
        guard let found = try await reader.read(number) else {
            // Void; or removed since it was listed, and batches that this file needs with it.
            let name = SyncNames.snapshot(group: keys.group, number: number)
            if try await store.read(name) == nil { try await findSnapshots() }
            snapshots.removeAll { $0 <= number }
            return true
        }
        let (next, capture, keys) = (found.snapshot, capture, keys)
        let declaration = next.manifest.declaration
        let name = SyncNames.snapshot(group: keys.group, number: number)
        // A member that counts has applied it, so it counts for all.
        for (member, head) in declaration.heads {
            if let limit = limits[member] { limits[member] = max(limit, head) }
        }
        if let adopted, !isVoid, number == adopted.number + 1, found.previous != adopted.hash {
            throw SyncError.damaged(name, "it does not follow the snapshot before it")
        }
        let isAdopted = try await database.write { db in
            let journal = SyncJournal(db)
            let heads = try journal.heads()
            let numbers = Dictionary(uniqueKeysWithValues: heads.map { ($0.member, $0.number) })
            guard declaration.canBeAdopted(with: numbers) else { return false }
            for head in heads where declaration.heads[head.member] == head.number {
                guard next.manifest.logs[head.member]?.hash == head.hash else {
                    throw SyncError.damaged(name, "it has seen another batch than the store shows")
                }
            }
            try Outbox.seal(keys, capture, in: db)
            try capture.forget(through: declaration.floor, in: db)
            try journal.setAdopted(next)
            return true
        }
        guard isAdopted else { return false }
        snapshots.removeFirst()
        (adopted, isVoid) = (next, false)
        try await openLogs()
        if !declaration.isOpen(keys.member) { throw OtherCopy() }
        return true
    }
}
