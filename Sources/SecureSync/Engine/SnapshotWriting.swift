internal import Foundation
internal import ObjectStores
internal import SecureKeys
internal import SecureStorage
internal import SecureStoragePlatform

/// When members write snapshots, and how long replaced objects are kept.
package struct SnapshotPolicy: Sendable {
    /// Write after this number of batches since the last one.
    package var batches: UInt64 = 500
    /// Or after this number of their bytes.
    package var bytes: UInt64 = 8 << 20
    /// How long batches in a snapshot are kept for returning members, in milliseconds.
    package var retention: UInt64 = 7 * 24 * 3_600_000
    /// A member that is inactive for this time no longer holds back the stable point, in
    /// milliseconds.
    package var silence: UInt64 = 90 * 24 * 3_600_000

    package init() {}
}

/// Writes all rows of the file into the store as the group's next snapshot.
struct SnapshotWriting: Sendable {
    let database: any SecureDatabaseWriter
    let capture: Capture
    let keys: GroupKeys
    let store: any ObjectStore
    let policy: SnapshotPolicy

    var snapshots: SnapshotStore { SnapshotStore(store: store, keys: keys) }

    /// Writes a snapshot if one is due, and removes the objects that it replaces.
    ///
    /// - Parameters:
    ///   - isLost: Whether the store lacks the one before, so that a new member has none to load.
    ///   - send: Brings sealed batches into the store.
    /// - Returns: Whether one was written.
    /// - Throws: The errors of the database and of the store; what `send` throws.
    func runIfDue(
        evenIfSmall isLost: Bool, sending send: () async throws -> Void
    ) async throws -> Bool {
        let isDue = try await database.read { [policy] db in
            let journal = SyncJournal(db)
            // Its rows would not be the group's.
            guard let adopted = try journal.adopted(), try UnsentRows(db: db).isEmpty() else {
                return false
            }
            let size = try journal.size(after: adopted.manifest.declaration.positions)
            return isLost || size.batches > policy.batches || size.bytes > policy.bytes
        }
        guard isDue else { return false }
        try await removeDrafts()
        do {
            guard let (previous, next) = try await write(sending: send) else { return false }
            try await clean(previous: previous, next: next)
            return true
        } catch SyncError.rowTooLarge {
            // Several members together made a row too large. The batches stay.
            return false
        }
    }

    /// Writes the first snapshot of a group that this member founded.
    ///
    /// - Returns: nil if there is one already.
    /// - Throws: The errors of the database and of the store.
    func writeFirst() async throws -> AdoptedSnapshot? {
        try await removeDrafts()
        let (member, capture) = (keys.member, capture)
        let written = try await writeParts { db in
            try Self.first(
                .first(of: member), heard: [:], at: try capture.now(in: db), SyncJournal(db))
        }
        return written?.next
    }

    /// Writes the first snapshot of a group that takes over the members of the file's own.
    ///
    /// It keeps the rows' clocks and the stable point, so edits that only others have still count.
    /// Their logs are open: the stable point waits for each one's acknowledgement. Members that no
    /// longer hold back the stable point, or soon will not, join as new members.
    ///
    /// - Returns: nil if rows wait for timestamps.
    /// - Throws: The errors of the database and of the store.
    func writeFirst(of members: [MemberID]) async throws -> AdoptedSnapshot? {
        try await removeDrafts()
        let (member, capture) = (keys.member, capture)
        let written = try await writeParts { db in
            let journal = SyncJournal(db)
            try capture.requireNoUnsentRows(in: db)
            guard let adopted = try journal.adopted(), try capture.waitingMarks(in: db) == nil
            else { return nil }
            let now = try capture.now(in: db)
            var heard = try journal.lastHeard()
            heard[member] = now
            let before = adopted.manifest.declaration
            let open = members.filter {
                before.closed[$0] == nil && before.logs[$0]?.closing == nil
            }
            let declaration = Declaration(
                number: 1, positions: [:], stablePoint: StablePoint(time: before.stablePoint.time),
                logs: Dictionary(uniqueKeysWithValues: open.map { ($0, .init(began: 1)) }),
                closed: [:])
            var manifest = try Self.first(declaration, heard: heard, at: now, journal)
            for member in open {
                manifest.logs[member]?.hash = try journal.lastHash(of: member, adopted)
            }
            return manifest
        }
        return written?.next
    }

    private static func first(
        _ declaration: Declaration, heard: [MemberID: UInt64], at now: UInt64,
        _ journal: SyncJournal
    ) throws -> SnapshotManifest {
        SnapshotManifest(
            time: now, schema: try journal.schemaNumber(), declaration: declaration,
            logs: Dictionary(
                uniqueKeysWithValues: declaration.logs.keys.map {
                    let none = Data(count: 32)
                    return (
                        $0,
                        .init(hash: none, heard: heard[$0] ?? 0, lowerBounds: [], published: [:])
                    )
                }), rows: .init(name: Data(), epoch: 0, parts: []))
    }

    private func write(
        sending send: () async throws -> Void
    ) async throws -> (previous: AdoptedSnapshot, next: AdoptedSnapshot)? {
        let (capture, keys, policy) = (capture, keys, policy)
        let known = try await database.read { try SyncJournal($0).adopted()?.number ?? 0 }
        let newer = try await snapshots.numbers(after: known)
        // A valid one is adopted first; others only take numbers.
        guard try await snapshots.newest(of: newer) == nil else { return nil }
        let written = try await writeSealed(sending: send) { db in
            let journal = SyncJournal(db)
            guard let adopted = try journal.adopted(), try !journal.hasPending(),
                adopted.number == known
            else { return nil }
            guard try capture.waitingMarks(in: db) == nil else { throw Unsealed() }
            var declaration = adopted.manifest.declaration
            declaration.number = newer.last ?? known
            let positions = Dictionary(
                uniqueKeysWithValues: try journal.positions().filter { $0.number > 0 }.map {
                    ($0.member, $0.number)
                })
            let now = try capture.now(in: db)
            var lowerBounds: [MemberID: [UInt64: UInt64]] = [:]
            let published = try journal.published()
            for member in positions.keys {
                for number in published.values.map({ $0.positions[member, default: 0] }) {
                    lowerBounds[member, default: [:]][number] = try journal.lowerBound(
                        of: member, number)
                }
                for number in [
                    positions[member, default: 0],
                    declaration.stablePoint.positions[member, default: 0],
                ] {
                    lowerBounds[member, default: [:]][number] = try journal.lowerBound(
                        of: member, number)
                }
            }
            guard
                let next = declaration.next(
                    by: keys.member, positions: positions, published: published,
                    lowerBound: { lowerBounds[$0]?[$1] ?? 0 },
                    silent: try Self.silent(keys, declaration, policy, now: now, journal))
            else { return nil }
            return SnapshotManifest(
                time: now, schema: try journal.schemaNumber(), declaration: next,
                logs: try journal.logs(for: next), rows: .init(name: Data(), epoch: 0, parts: []))
        }
        guard let next = written?.next, let previous = written?.previous else { return nil }
        try await database.write { db in
            let journal = SyncJournal(db)
            guard try journal.adopted()?.hash == previous.hash else { return }
            try Outbox.seal(keys, capture, in: db)
            try capture.forget(through: next.manifest.declaration.stablePoint, in: db)
            try journal.setAdopted(next)
        }
        return (previous, next)
    }

    /// A row waits for a timestamp: its value still has the previous value's.
    private struct Unsealed: Error {}

    /// Like ``writeParts(sending:_:)``, but seals the rows right before reading them: an app may
    /// write at any time.
    private func writeSealed(
        sending send: () async throws -> Void,
        _ makeManifest: @escaping @Sendable (SecureDatabaseStore) throws -> SnapshotManifest?
    ) async throws -> (previous: AdoptedSnapshot?, next: AdoptedSnapshot)? {
        for _ in 0..<100 {
            try await database.write { [capture, keys] db in
                _ = try Outbox.seal(keys, capture, in: db)
            }
            do { return try await writeParts(sending: send, makeManifest) } catch is Unsealed {}
        }
        return nil
    }

    /// Members whose logs must be closed: removed and inactive ones.
    ///
    /// This machine's wrong clock must not make others seem inactive: the time is at most that of
    /// the latest batch by another member. Nor must a member's own wrong clock: one that has sent
    /// something since the last snapshot is active. A log closed by mistake costs its owner a new
    /// start, and no data.
    private static func silent(
        _ keys: GroupKeys, _ declaration: Declaration, _ policy: SnapshotPolicy, now: UInt64,
        _ journal: SyncJournal
    ) throws -> Set<MemberID> {
        let heard = try journal.lastHeard()
        var silent = Set(keys.removed.keys)
        for member in declaration.logs.keys where member != keys.member {
            let others = heard.filter { $0.key != member }.values.max() ?? 0
            guard let last = heard[member], last > 0,
                try journal.position(of: member).number == declaration.positions[member, default: 0]
            else { continue }
            if last + policy.silence < min(now, others) { silent.insert(member) }
        }
        return silent
    }

    /// Writes the rows as they are in one read transaction, then the manifest.
    ///
    /// Unsent changes in them must not be lost with this file: they are sent in between.
    private func writeParts(
        sending send: () async throws -> Void = {},
        _ makeManifest: @escaping @Sendable (SecureDatabaseStore) throws -> SnapshotManifest?
    ) async throws -> (previous: AdoptedSnapshot?, next: AdoptedSnapshot)? {
        let directory = try SnapshotPart.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let name = Data(RandomBytes.make(16))
        let (capture, keys) = (capture, keys)
        let made = try await database.read {
            db -> (previous: AdoptedSnapshot?, manifest: SnapshotManifest, files: [URL])? in
            guard var manifest = try makeManifest(db) else { return nil }
            var files: [URL] = []
            var writer = SnapshotPart.Writer(
                group: keys.group,
                rows: .init(name: name, epoch: keys.currentEpoch, parts: []),
                key: try keys.currentKey(), time: manifest.time,
                schema: manifest.schema
            ) { part in
                let file = directory.appendingPathComponent("\(files.count)")
                try part.write(to: file)
                files.append(file)
            }
            try capture.eachRow(in: db) { try writer.add($0) }
            try writer.finish()
            manifest.rows = writer.rows
            return (try SyncJournal(db).adopted(), manifest, files)
        }
        guard let made else { return nil }
        try await database.write { db in
            try db.executeUpdate(
                "INSERT INTO securestorage_sync_draft (name, parts, number) VALUES (?, ?, 0)",
                values: [name, made.files.count])
        }
        for (index, file) in made.files.enumerated() {
            let part = SyncNames.snapshotPart(
                group: keys.group, rows: name, part: UInt64(index + 1))
            let bytes = try Data(contentsOf: file)
            if try await !store.create(part, bytes), try await store.read(part) != bytes {
                throw SyncError.store(.cannotCreateOnly("it has an object with a random name"))
            }
        }
        try await send()
        let (member, last) = (keys.member, made.manifest.declaration.positions[keys.member] ?? 0)
        let sent = try await database.read { try SyncJournal($0).sentPosition(of: member).number }
        guard sent >= last else { return nil }
        // Without a lock, another engine may have taken them for the remains of an earlier attempt.
        guard
            try await database.write({ db in
                try SyncJournal(db).numberDraft(name, made.manifest.declaration.number)
            })
        else { return nil }
        // A group's first snapshot may be written from a file that is still in another group.
        let previous = made.manifest.declaration.number == 1 ? nil : made.previous
        guard let next = try await snapshots.create(made.manifest, after: previous) else {
            try await removeDrafts()
            return nil
        }
        _ = try await database.write { try SyncJournal($0).removeDraft(name) }
        return (previous, next)
    }
}
