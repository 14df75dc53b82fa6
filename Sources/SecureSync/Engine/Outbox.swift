internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

/// What this member has written, on its way into the store: rows become sealed batches in the file,
/// in one transaction, and then objects.
struct Outbox: Sendable {
    let database: any SecureDatabaseWriter
    let capture: Capture
    let store: any SyncObjectStore

    /// A batch of this member's log exists with other bytes: another copy of this file writes too.
    struct OtherCopy: Error {}

    /// Seals all that was written since the last time.
    ///
    /// - Parameters:
    ///   - keys: The group's, as of now.
    ///   - heads: Whether to seal a batch without rows if only what was applied has changed.
    /// - Throws: The errors of the database.
    func seal(_ keys: GroupKeys, evenHeadsAlone heads: Bool) async throws {
        _ = try await database.write { [capture] db in
            try Self.seal(keys, capture, evenHeadsAlone: heads, in: db)
        }
    }

    /// Seals all that was written, in the caller's transaction.
    ///
    /// - Returns: How many rows.
    @discardableResult
    static func seal(
        _ keys: GroupKeys, _ capture: Capture, evenHeadsAlone: Bool = false,
        in db: SecureDatabaseStore
    ) throws -> Int {
        if keys.isReader {
            // Triggers refuse its writes. What comes in without them counts for nobody, and has no
            // stamp by which it could outdo what does.
            _ = try capture.takeUpLater(in: db)
            return 0
        }
        let changes = try capture.stampAndSettle(in: db)
        let journal = SyncJournal(db)
        guard let place = try journal.place() else { throw SyncError.notAMember }
        guard place.entered > 0 else {
            // Its log does not begin yet: see SnapshotLoading.
            try journal.addPending(changes)
            return 0
        }
        guard !changes.isEmpty || evenHeadsAlone else { return 0 }
        try seal(changes, keys, capture, to: journal)
        return changes.count
    }

    /// Seals changes as the next transaction of this member's log.
    ///
    /// - Parameters:
    ///   - changes: What the transaction writes.
    ///   - keys: The group's, as of now.
    ///   - capture: The file's.
    ///   - journal: Of the file; in a write transaction.
    /// - Throws: ``SyncError/rowTooLarge(_:)``; the errors of the database.
    static func seal(
        _ changes: [RowChange], _ keys: GroupKeys, _ capture: Capture, to journal: SyncJournal
    ) throws {
        guard var place = try journal.place() else { throw SyncError.notAMember }
        let heads = try journal.headsToTell(by: place.member)
        let parts = try TransactionParts.split(TransactionParts.divided(changes))
        let ends = TransactionParts.ends(parts)
        let now = try capture.now(in: journal.db)
        // What waits was written before, as the rest of this may have been.
        let isComplete = try !journal.hasPending()
        for (index, part) in parts.enumerated() {
            let body = BatchBody(
                time: now, schema: try journal.schemaNumber(),
                heads: index == 0 ? heads : [], changes: Array(part),
                isLast: ends[index], promises: isComplete && index == parts.count - 1)
            try append(body, keys, to: journal, of: place)
        }
        for head in heads {
            try journal.setMention(by: place.member, of: head.member, head.number)
        }
        // What is stamped from now on is later than what this batch says of its time.
        try capture.promise(upTo: now, in: journal.db)
        place.published = try capture.machineTime(in: journal.db)
        try journal.setPlace(place)
    }

    /// Seals a body as the next batch of this member's log.
    static func append(
        _ body: BatchBody, _ keys: GroupKeys, to journal: SyncJournal, of place: SyncJournal.Place
    ) throws {
        let head = try journal.head(of: place.member)
        let header = BatchHeader(
            group: place.group, member: place.member, number: head.number + 1,
            epoch: keys.currentEpoch, previous: head.hash, chain: keys.position)
        let batch = try SealedBatch.seal(
            body, header, key: try keys.currentKey(), sign: keys.sign)
        try journal.addOutgoing(.init(number: header.number, bytes: batch.bytes))
        try journal.setHead(
            LogHead(member: place.member, number: header.number, hash: batch.hash),
            time: body.time, promise: body.promise, size: batch.bytes.count)
    }

    /// Creates the objects of the sealed batches, in their order.
    ///
    /// - Parameters:
    ///   - keys: The group's.
    ///   - uploaded: Grows with each batch that is in the store then and was not known to be, also
    ///     before an error.
    /// - Throws: `OtherCopy`; the errors of the store.
    func upload(_ keys: GroupKeys, _ uploaded: inout Int) async throws {
        var isFirst = true
        while true {
            let (place, next) = try await database.read { db in
                let journal = SyncJournal(db)
                return (try journal.place(), try journal.outgoing(limit: 8))
            }
            guard let place, place.entered > 0, let first = next.first else { return }
            // Nobody could read what comes after a gap. The inbox finds out why there is one.
            if isFirst, try await !isAfter(first.number, of: place) { return }
            isFirst = false
            let log = MemberLog(store: store, keys: keys, member: place.member)
            for batch in next {
                try await create(batch, in: log)
                try await database.write { try SyncJournal($0).removeOutgoing(batch.number) }
                uploaded += 1
            }
        }
    }

    /// Creates a batch, under the first name that no stranger has taken.
    private func create(_ batch: SyncJournal.Outgoing, in log: MemberLog) async throws {
        var attempt: UInt64 = 0
        while true {
            let name = log.name(batch.number, attempt)
            if try await store.create(name, batch.bytes) { return }
            let found = try await store.read(name)
            // The answer to an earlier try may have been lost.
            if found == batch.bytes { return }
            guard let found else {
                throw SyncError.store(
                    code: "changing", message: "\(name) was there, and is not any more",
                    isTransient: true)
            }
            if log.isSigned(found, batch.number) { throw OtherCopy() }
            attempt += 1
        }
    }

    /// Whether the store has the batch before one of this member, or need not have it any more.
    private func isAfter(_ number: UInt64, of place: SyncJournal.Place) async throws -> Bool {
        let covered = try await database.read { db in
            try SyncJournal(db).adopted()?.manifest.declaration.heads[place.member] ?? 0
        }
        guard number > covered + 1 else { return true }
        let before = SyncNames.batch(
            group: place.group, member: place.member, number: number - 1)
        return try await !store.list(before, after: nil).objects.isEmpty
    }
}

extension SyncJournal {
    /// What this member has applied of other logs, as far as its batches have not said it yet.
    fileprivate func headsToTell(by member: MemberID) throws -> [LogHead] {
        var told = try heads().filter { $0.member != member }
        // The last snapshot whose floor counts here, as if it were a log of nobody.
        if let adopted = try adopted() {
            told.append(LogHead(member: .none, number: adopted.number, hash: adopted.hash))
        }
        return try told.filter { try $0.number > mention(by: member, of: $0.member) }
    }
}
