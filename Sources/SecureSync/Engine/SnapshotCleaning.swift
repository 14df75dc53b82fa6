internal import Foundation
internal import ObjectStores
internal import SecureStorage

// Removes objects that a snapshot replaces, and the remains of unfinished snapshots.
extension SnapshotWriting {
    /// Removes parts of unfinished snapshots.
    ///
    /// A manifest's creation may fail here and take effect later, so its parts stay until its
    /// number is taken.
    func removeDrafts() async throws {
        let (known, drafts) = try await database.read { db in
            (try SyncJournal(db).adopted()?.number ?? 0, try SyncJournal(db).drafts())
        }
        guard !drafts.isEmpty else { return }
        let numbers = try await snapshots.numbers(after: known > 0 ? known - 1 : 0)
        let last = max(known, numbers.last ?? 0)
        var used: Set<Data> = []
        for number in Set(numbers).union(drafts.map(\.number)).subtracting([0]) {
            if let found = try await snapshots.read(number) {
                used.insert(found.snapshot.manifest.rows.name)
            }
        }
        for draft in drafts where draft.number <= last {
            let isHere = try await database.write { try SyncJournal($0).removeDraft(draft.name) }
            guard isHere, !used.contains(draft.name) else { continue }
            try await removeParts(of: draft.name, draft.parts)
        }
    }

    private func removeParts(of rows: Data, _ count: Int) async throws {
        guard count > 0 else { return }
        try await store.remove(
            (1...UInt64(count)).map {
                SyncNames.snapshotPart(group: keys.group, rows: rows, part: $0)
            })
    }

    /// Removes old batches that the previous snapshot contains, and all snapshots before it.
    func clean(previous: AdoptedSnapshot, next: AdoptedSnapshot) async throws {
        let (policy, capture) = (policy, capture)
        let (end, last) = try await database.read { db in
            let journal = SyncJournal(db)
            let now = try capture.now(in: db)
            let end = now - min(now, policy.retention)
            let last = try previous.manifest.declaration.positions.map { member, number in
                (member, try journal.last(of: member, upTo: number, before: end))
            }
            return (end, last)
        }
        for (member, number) in last where number > 0 {
            let prefix = SyncNames.log(group: keys.group, member: member)
            let names = try await store.listAll(prefix).map(\.name).filter {
                SyncNames.batch(of: $0, after: prefix).map { $0.number <= number } ?? false
            }
            if !names.isEmpty { try await store.remove(names) }
        }
        let kept = [previous.manifest.rows.name, next.manifest.rows.name]
        for number in try await snapshots.numbers(after: 0) where number < previous.number {
            let manifest = try await snapshots.read(number)?.snapshot.manifest
            // Members that continue to read need each one.
            if let manifest, manifest.time > end { break }
            if let rows = manifest?.rows, !kept.contains(rows.name) {
                try await removeParts(of: rows.name, rows.parts.count)
            }
            try await store.remove([SyncNames.snapshot(group: keys.group, number: number)])
        }
    }
}

extension SyncJournal {
    /// A snapshot whose parts are written, but whose manifest may not exist.
    struct Draft {
        /// The name of its rows.
        var name: Data
        var parts: Int
        /// The manifest's number; 0 before an attempt to create it.
        var number: UInt64
    }

    fileprivate func drafts() throws -> [Draft] {
        let rows = try db.executeQuery("SELECT name, parts, number FROM securestorage_sync_draft")
        defer { rows.close() }
        var drafts: [Draft] = []
        while try rows.next() {
            guard let name = rows.data(forColumnIndex: 0), let parts = rows.int(forColumnIndex: 1),
                let number = rows.uint64(forColumnIndex: 2)
            else { continue }
            drafts.append(Draft(name: name, parts: parts, number: number))
        }
        return drafts
    }

    /// Notes that the manifest may be created from now on; returns false if its row is gone.
    func numberDraft(_ name: Data, _ number: UInt64) throws -> Bool {
        try db.executeUpdate(
            "UPDATE securestorage_sync_draft SET number = ? WHERE name = ?",
            values: [Int64(number), name])
        return try db.changedRowCount() == 1
    }

    /// Returns false if it is gone.
    @discardableResult
    func removeDraft(_ name: Data) throws -> Bool {
        try db.executeUpdate("DELETE FROM securestorage_sync_draft WHERE name = ?", values: [name])
        return try db.changedRowCount() == 1
    }
}
