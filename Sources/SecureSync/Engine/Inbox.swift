internal import Foundation
internal import ObjectStores
internal import SecureStorage

/// Applies other members' changes from the store to the file.
///
/// Each transaction of a log is applied atomically, after everything that its writer had applied.
struct Inbox {
    let database: any SecureDatabaseWriter
    let capture: Capture
    let store: any ObjectStore
    let keys: GroupKeys
    var logs: [MemberID: LogReader] = [:]
    /// The removed members whose logs end where the chain says.
    var complete: Set<MemberID> = []
    /// Removed members of which this file has batches, but not the last.
    var unverified: Set<MemberID> = []
    /// Members whose next transaction depends on something invalid: see `isTainted`.
    var tainted: Set<MemberID> = []
    /// The last batch that counts of each ended log, according to the batches applied so far.
    var limits: [MemberID: UInt64] = [:]
    /// The snapshot whose stable point counts in this file.
    var adopted: AdoptedSnapshot?
    /// The numbers of later snapshots.
    var snapshots: [UInt64] = []
    /// The adopted snapshot's number, if the store lacks it.
    var lostSnapshot: UInt64?
    /// The last number that the store has listed.
    var lastSnapshot: UInt64 = 0
    /// The positions in the store's newest snapshot.
    var covered: VersionVector = [:]
    /// Whether adoption has stopped because the next snapshot is wrong.
    var isHalted = false
    /// The timestamps that other members may use now.
    var timestampRules: TimestampRules?
    /// Whether snapshots may be adopted: only once all of this file's writes are in its rows.
    var adopts = false

    /// The work done so far, even if an error follows.
    var outcome = Outcome()

    struct Outcome: Sendable {
        var transactions = 0
        var rows = 0
        /// Why some logs are blocked; the others were applied.
        var failures: [SyncError] = []
        /// Whether the store lacks the adopted snapshot, and has no later one that counts.
        var lacksSnapshot = false
        /// Whether what this file has of each removed member's batches is what counts.
        var hasRightBatches = true
        /// Whether everything in the store that counts is applied.
        var isComplete = false
        /// Whether everything is applied except unreadable logs and changes that wait for them.
        var isSettled = false
    }

    /// Others have seen batches of this member that this file does not know, or its log is closed.
    struct OtherCopy: Error {}

    /// This file applied invalid batches, because it did not know that a member was removed.
    struct Stale: Error {}

    /// Batches that this file needs are gone, and the newest snapshot has their rows.
    struct NeedsSnapshot: Error {}

    init(
        _ database: any SecureDatabaseWriter, _ capture: Capture, _ store: any ObjectStore,
        _ keys: GroupKeys
    ) {
        (self.database, self.capture, self.store, self.keys) = (database, capture, store, keys)
    }

    /// Applies everything in the store.
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
        // An incomplete transaction does not count: its writer may never return.
        let rest = logs.values.filter { log in
            !tainted.contains(log.member)
                && log.next.map { $0.position.number <= limits[log.member] ?? .max } ?? false
        }
        outcome.isComplete = outcome.failures.isEmpty && rest.isEmpty
        outcome.isSettled =
            outcome.isComplete
            || !outcome.failures.isEmpty && outcome.failures.allSatisfy(\.isOfALog)
        if let adopted, adopted.number == lostSnapshot { outcome.lacksSnapshot = true }
        outcome.hasRightBatches = unverified.isSubset(of: complete)
        if !adopts, outcome.failures.isEmpty, let adopted {
            // Pending changes are applied after all logs: they must not meet half a row.
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
        adopts = place.began > 0 && !hasPending
        if place.began > 0 { try await requireNothingLate() }
        try await findSnapshots()
        try await openLogs()
        guard place.began > 0 else { return }
        let sent = try await database.read { db in
            try SyncJournal(db).outgoing(limit: 1).first.map { $0.number - 1 } ?? own.number
        }
        guard !keys.isReader else { return }
        try await checkOwnLog(sent: sent)
        if let declaration = adopted?.manifest.declaration, !declaration.isOpen(keys.member) {
            throw OtherCopy()
        }
    }

    /// Checks that nothing applied here was written by a member after it left or was removed, or
    /// replaces a batch that counts.
    private mutating func requireNothingLate() async throws {
        let removed = keys.removed.keys
        guard !removed.isEmpty else { return }
        let positions = try await database.read { db in
            try removed.map { try SyncJournal(db).position(of: $0) }
        }
        for position in positions where keys.isLate(position) {
            let (member, manifest) = (position.member, adopted?.manifest)
            let contained = BatchPosition.beginning(of: member).reaching(manifest)
            guard keys.isLate(contained), let adopted, try keys.counts(adopted) else {
                throw Stale()
            }
            // A new start would find the same snapshot: the entry is wrong.
            outcome.failures.append(
                .damaged(
                    SyncNames.log(group: keys.group, member: member),
                    "it ends before what a snapshot contains; let an admin remove its member again")
            )
        }
    }

    /// The first batch up to a number that the store lacks; nil if it has all, or the log cannot be
    /// read.
    mutating func missing(of member: MemberID, upTo position: UInt64) async throws -> UInt64? {
        guard var log = logs[member], log.end < position else { return nil }
        try await list(&log)
        return log.end < position ? log.end + 1 : nil
    }

    /// Batches that a transaction needs were in the store before it, so missing ones are withheld.
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
                // Otherwise it has just arrived, and the next round applies it.
                guard try await needed.readNext(limit: limits[position.member]) == nil else {
                    continue
                }
                outcome.failures.append(
                    needed.failure(naming: needed.end + 1))
            }
        }
    }
}
