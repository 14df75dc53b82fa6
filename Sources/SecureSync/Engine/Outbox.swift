internal import Foundation
internal import ObjectStores
internal import SecureStorage
internal import SecureStoragePlatform

/// Sends this member's changes to the store: rows are sealed as batches in one transaction of the
/// file, and the batches are then stored as objects.
struct Outbox: Sendable {
    let database: any SecureDatabaseWriter
    let capture: Capture
    let store: any ObjectStore

    /// A batch of this member's log exists with other bytes: another copy of this file also writes.
    struct OtherCopy: Error {}

    /// Seals all changes since the last call.
    ///
    /// - Parameters:
    ///   - keys: The group's, as of now.
    ///   - positions: Whether to seal a batch without rows if only the applied positions have
    ///     changed.
    /// - Throws: The errors of the database.
    func seal(_ keys: GroupKeys, evenPositionsAlone positions: Bool) async throws {
        _ = try await database.write { [capture] db in
            try Self.seal(keys, capture, evenPositionsAlone: positions, in: db)
        }
    }

    /// Seals all unsealed changes, in the caller's transaction.
    ///
    /// - Returns: How many rows.
    @discardableResult
    static func seal(
        _ keys: GroupKeys, _ capture: Capture, evenPositionsAlone: Bool = false,
        in db: SecureDatabaseStore
    ) throws -> Int {
        if keys.isReader {
            // Triggers refuse its writes. Rows written without triggers do not count, and have no
            // timestamp that could win over others.
            _ = try capture.takeUpLater(in: db)
            return 0
        }
        let journal = SyncJournal(db)
        guard let place = try journal.place() else { throw SyncError.notAMember }
        guard place.began > 0 else {
            // Its log has not begun: see SnapshotLoading.
            let changes = try capture.timestampAndSettle(in: db)
            try journal.addPending(changes)
            return 0
        }
        var sealing = Sealing(keys, capture, journal, place)
        try capture.timestampAndSettle(in: db) { try sealing.add($0) }
        return try sealing.finish(evenIfEmpty: evenPositionsAlone)
    }

    /// Seals changes as the next transaction of this member's log.
    ///
    /// - Parameters:
    ///   - changes: The transaction's changes.
    ///   - keys: The group's, as of now.
    ///   - capture: The file's.
    ///   - journal: Of the file; in a write transaction.
    /// - Throws: ``SyncError/rowTooLarge(_:)``; the errors of the database.
    static func seal(
        _ changes: [RowChange], _ keys: GroupKeys, _ capture: Capture, to journal: SyncJournal
    ) throws {
        guard let place = try journal.place() else { throw SyncError.notAMember }
        var sealing = Sealing(keys, capture, journal, place)
        for change in TransactionParts.divided(changes) { try sealing.add(change) }
        try sealing.finish(evenIfEmpty: true)
    }

    /// Creates the objects of the sealed batches, in their order.
    ///
    /// - Parameters:
    ///   - keys: The group's.
    ///   - uploaded: Grows with each batch newly known to be in the store, even if an error
    ///     follows.
    /// - Throws: `OtherCopy`; the errors of the store.
    func upload(_ keys: GroupKeys, _ uploaded: inout Int) async throws {
        var isFirst = true
        while true {
            let (place, next) = try await database.read { db in
                let journal = SyncJournal(db)
                return (try journal.place(), try journal.outgoing(limit: 8, bytes: 4 << 20))
            }
            guard let place, place.began > 0, let first = next.first else { return }
            // Batches after a gap cannot be read. The inbox finds out why there is one.
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

    /// Creates a batch under the first name that is not taken by a stranger.
    private func create(_ batch: SyncJournal.Outgoing, in log: MemberLog) async throws {
        var attempt: UInt64 = 0
        while true {
            let name = log.name(batch.number, attempt)
            if try await store.create(name, batch.bytes) { return }
            let found = try await store.read(name)
            // The answer to an earlier attempt may have been lost.
            if found == batch.bytes { return }
            guard let found else {
                throw SyncError.tryAgain("\(name) was there, and is gone")
            }
            if log.isSigned(found, batch.number) { throw OtherCopy() }
            attempt += 1
        }
    }

    /// Whether the store has the batch before one of this member's, or no longer needs it.
    private func isAfter(_ number: UInt64, of place: SyncJournal.Place) async throws -> Bool {
        let covered = try await database.read { db in
            try SyncJournal(db).adopted()?.manifest.declaration.positions[place.member] ?? 0
        }
        guard number > covered + 1 else { return true }
        let before = SyncNames.batch(
            group: place.group, member: place.member, number: number - 1)
        return try await !store.list(before, after: nil).objects.isEmpty
    }
}
