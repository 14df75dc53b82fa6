internal import Foundation
internal import SecureStorage

/// What others have written, on its way from the store into the file: each transaction of a log
/// takes effect as one, after all that its writer had applied.
struct Inbox {
    let database: any SecureDatabaseWriter
    let capture: Capture
    let store: any SyncObjectStore
    let keys: GroupKeys
    var logs: [MemberID: LogReader] = [:]
    /// The removed members whose logs were found to end as the chain says.
    var complete: Set<MemberID> = []
    /// Those whose next transaction knows what does not count: see ``isTainted(_:)``.
    var tainted: Set<MemberID> = []
    /// The last batch that counts of each member whose log is at its end, as far as applied batches
    /// have said.
    var limits: [MemberID: UInt64] = [:]
    /// The snapshot whose stable point counts in this file.
    var adopted: AdoptedSnapshot?
    /// The numbers of those after it.
    var snapshots: [UInt64] = []
    /// The last number that the store has listed.
    var lastSnapshot: UInt64 = 0
    /// What the store's newest snapshot contains.
    var covered: VersionVector = [:]
    /// Whether the next snapshot is not adopted, since it is wrong.
    var isHalted = false
    /// Which timestamps others may give now.
    var timestampRules: TimestampRules?
    /// Whether snapshots may be adopted: not before all that this file has written is in its rows.
    var adopts = false

    /// What was done so far, also before an error.
    var outcome = Outcome()

    struct Outcome: Sendable {
        var transactions = 0
        var rows = 0
        /// Why logs stand still; the others were applied.
        var failures: [SyncError] = []
        /// Whether all that counts of the store is applied.
        var isComplete = false
        /// Whether all is applied but logs that cannot be read, and what waits for those.
        var isSettled = false
    }

    /// Others have seen batches of this member that this file does not know, or its log is closed.
    struct OtherCopy: Error {}

    /// This file has applied what does not count, since it did not know that a member was removed.
    struct Stale: Error {}

    /// Batches that this file lacks are gone, and the newest snapshot has what they say.
    struct NeedsSnapshot: Error {}

    init(
        _ database: any SecureDatabaseWriter, _ capture: Capture, _ store: any SyncObjectStore,
        _ keys: GroupKeys
    ) {
        (self.database, self.capture, self.store, self.keys) = (database, capture, store, keys)
    }

    /// Applies all that the store has.
    mutating func run() async throws {
        try await begin()
        var hasMoved = true
        while hasMoved {
            hasMoved = false
            let before = limits
            if try await adoptNext() { hasMoved = true }
            for member in logs.keys.sorted() {
                do {
                    while try await applyNext(of: member) { hasMoved = true }
                } catch let error as SyncError where !error.isTransient {
                    outcome.failures.append(error)
                    logs[member] = nil
                }
            }
            // More of a log counts than was known when it was listed.
            for member in limits.keys.sorted() where limits[member] != before[member] {
                hasMoved = true
                try await listLog(member)
            }
        }
        try await findWithheld()
        // The beginning of a transaction whose end is not there yet says nothing; its writer may
        // never come back.
        let rest = logs.values.filter { log in
            !tainted.contains(log.member)
                && log.next.map { $0.position.number <= limits[log.member] ?? .max } ?? false
        }
        outcome.isComplete = outcome.failures.isEmpty && rest.isEmpty
        outcome.isSettled =
            outcome.isComplete
            || !outcome.failures.isEmpty && outcome.failures.allSatisfy(\.isOfALog)
        if !adopts, outcome.failures.isEmpty, let adopted {
            // What waits is put onto the rows after all logs: it must not meet half of a row.
            let needed = rest.compactMap(\.next).flatMap(\.positions).filter { $0.member == .none }
            if needed.contains(where: { $0.number > adopted.number && $0.number <= lastSnapshot }) {
                throw NeedsSnapshot()
            }
        }
    }

    private mutating func begin() async throws {
        let (place, own, hasPending) = try await database.read { [keys] db in
            let journal = SyncJournal(db)
            return (
                try journal.place(), try journal.position(of: keys.member), try journal.hasPending()
            )
        }
        guard let place else { throw SyncError.notAMember }
        (adopted, timestampRules) = try await database.read { [capture] db in
            (try SyncJournal(db).adopted(), try TimestampRules(capture, in: db))
        }
        adopts = place.entered > 0 && !hasPending
        if place.entered > 0 { try await requireNothingLate() }
        try await findSnapshots()
        try await openLogs()
        guard place.entered > 0 else { return }
        let sent = try await database.read { db in
            try SyncJournal(db).outgoing(limit: 1).first.map { $0.number - 1 } ?? own.number
        }
        guard !keys.isReader else { return }
        try await checkOwnLog(sent: sent)
        if let declaration = adopted?.manifest.declaration, !declaration.isOpen(keys.member) {
            throw OtherCopy()
        }
    }

    /// Checks that nothing was applied that a removed member has written since, or in the place of
    /// what counts.
    private func requireNothingLate() async throws {
        let removed = keys.removed
        guard !removed.isEmpty else { return }
        let positions = try await database.read { db in
            try removed.keys.map { try SyncJournal(db).position(of: $0) }
        }
        for position in positions {
            guard let last = removed[position.member], position.number >= last.number,
                position.number > 0
            else { continue }
            guard position == last else { throw Stale() }
        }
    }

    /// The first batch of a log that the store does not have, of those up to a number; nil if it
    /// has all, or the log cannot be read.
    mutating func missing(of member: MemberID, upTo position: UInt64) async throws -> UInt64? {
        guard var log = logs[member], log.end < position else { return nil }
        try await list(&log)
        return log.end < position ? log.end + 1 : nil
    }

    /// What a transaction needs was in the store before it; so what is not there is withheld.
    private mutating func findWithheld() async throws {
        try await findWithheldPositions()
        for log in logs.values.sorted(by: { $0.member < $1.member })
        where !tainted.contains(log.member) {
            if log.isTorn, log.listed.isEmpty {
                outcome.failures.append(.withheld(SyncLog(log.member), number: log.end + 1))
            }
            guard let next = log.next, next.position.number <= limits[log.member] ?? .max else {
                continue
            }
            for position in next.positions {
                if position.member == .none, position.number > adopted?.number ?? 0 {
                    let snapshots = SnapshotStore(store: store, keys: keys)
                    let numbers = try await snapshots.numbers(after: position.number - 1)
                    if try await snapshots.newest(of: numbers) == nil {
                        outcome.failures.append(
                            .withheld(.snapshots, number: position.number))
                    }
                    continue
                }
                guard var needed = logs[position.member], needed.position.number < position.number
                else {
                    continue
                }
                try await list(&needed)
                // Otherwise it came in the meantime, and the next round applies it.
                guard try await needed.readNext(limit: limits[position.member]) == nil else {
                    continue
                }
                outcome.failures.append(
                    needed.failure(naming: needed.end + 1))
            }
        }
    }
}
