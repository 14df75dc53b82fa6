internal import Foundation
internal import SecureStorage

/// What others have written, on its way from the store into the file: each transaction of a log
/// takes effect as one, after all that its writer had applied.
struct Inbox {
    let database: any SecureDatabaseWriter
    let capture: Capture
    let store: any SyncObjectStore
    let keys: GroupKeys
    private var logs: [MemberID: LogReader] = [:]
    /// The removed members whose logs were found to end as the chain says.
    private var complete: Set<MemberID> = []
    /// Those whose next transaction knows what does not count: see ``isTainted(_:)``.
    private var tainted: Set<MemberID> = []
    /// The last batch that counts of each member whose log is at its end, as far as applied batches
    /// have said.
    var limits: [MemberID: UInt64] = [:]
    /// The snapshot whose floor counts in this file.
    var adopted: AdoptedSnapshot?
    /// The numbers of those after it.
    var snapshots: [UInt64] = []
    /// The last number that the store has listed.
    var lastSnapshot: UInt64 = 0
    /// What the store's newest snapshot contains.
    var covered: Floor.Heads = [:]
    /// Whether the next snapshot is not adopted, since it is wrong.
    var isHalted = false
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
                && log.next.map { $0.head.number <= limits[log.member] ?? .max } ?? false
        }
        outcome.isComplete = outcome.failures.isEmpty && rest.isEmpty
        outcome.isSettled =
            outcome.isComplete
            || !outcome.failures.isEmpty && outcome.failures.allSatisfy(\.isOfALog)
        if !adopts, outcome.failures.isEmpty, let adopted {
            // What waits is put onto the rows after all logs: it must not meet half of a row.
            let needed = rest.compactMap(\.next).flatMap(\.heads).filter { $0.member == .none }
            if needed.contains(where: { $0.number > adopted.number && $0.number <= lastSnapshot }) {
                throw NeedsSnapshot()
            }
        }
    }

    private mutating func begin() async throws {
        let (place, own, hasPending) = try await database.read { [keys] db in
            let journal = SyncJournal(db)
            return (
                try journal.place(), try journal.head(of: keys.member), try journal.hasPending()
            )
        }
        guard let place else { throw SyncError.notAMember }
        adopted = try await database.read { try SyncJournal($0).adopted() }
        adopts = place.entered > 0 && !hasPending
        if place.entered > 0 { try await requireNothingLate() }
        try await findSnapshots()
        try await openLogs()
        guard place.entered > 0 else { return }
        let sent = try await database.read { db in
            try SyncJournal(db).outgoing(limit: 1).first.map { $0.number - 1 } ?? own.number
        }
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
        let heads = try await database.read { db in
            try removed.keys.map { try SyncJournal(db).head(of: $0) }
        }
        for head in heads {
            guard let last = removed[head.member], head.number >= last.number, head.number > 0
            else { continue }
            guard head == last else { throw Stale() }
        }
    }

    /// Begins to read the logs that the adopted snapshot names.
    mutating func openLogs() async throws {
        guard let declaration = adopted?.manifest.declaration else { return }
        let members = Set(declaration.logs.keys).union(declaration.closed.keys)
            .filter { $0 != keys.member }
        let open = members.filter { declaration.isOpen($0) && keys.removed[$0] == nil }
            .union([keys.member])
        let found = try await database.read { [keys] db in
            let journal = SyncJournal(db)
            return try members.map { member in
                let others = (keys.removed[member] == nil ? open : Set(keys.writers))
                    .filter { $0 != member }
                return (
                    try journal.head(of: member), try journal.mention(by: others, of: member)
                )
            }
        }
        for (head, mention) in found {
            limits[head.member] = limit(of: head.member, declaration, mention)
            guard logs[head.member] == nil else { continue }
            logs[head.member] = LogReader(head, store, keys)
            try await listLog(head.member)
        }
    }

    private mutating func listLog(_ member: MemberID) async throws {
        guard var log = logs[member] else { return }
        do {
            try await list(&log)
            logs[member] = log
        } catch let error as SyncError where !error.isTransient {
            outcome.failures.append(error)
            logs[member] = nil
        }
    }

    /// Lists a log.
    ///
    /// What is missing may have been removed since the snapshots were listed, by a member that has
    /// written a newer one.
    private mutating func list(_ log: inout LogReader) async throws {
        while true {
            let last = lastSnapshot
            do {
                try await log.list(
                    covered: covered[log.member, default: 0], limit: limits[log.member])
                guard log.isTorn else { return }
                try await findSnapshots()
                if lastSnapshot == last { return }
            } catch let error as SyncError where error.isAbsence {
                try await findSnapshots()
                guard lastSnapshot > last else { throw error }
            }
        }
    }

    /// The last batch of a log that counts; nil for one that goes on.
    ///
    /// What a member has applied of one that is closed for its silence counts for all.
    private func limit(
        of member: MemberID, _ declaration: Declaration, _ mention: UInt64
    ) -> UInt64? {
        // What others have applied without knowing of a removal does not count.
        if let last = keys.removed[member] { return last.number }
        if let closed = declaration.closed[member] { return closed }
        guard declaration.logs[member]?.closing != nil else { return nil }
        return max(declaration.heads[member, default: 0], mention, limits[member] ?? 0)
    }

    /// Finds out whether another copy of this file has gone on writing.
    private mutating func checkOwnLog(sent: UInt64) async throws {
        let head = LogHead(member: keys.member, number: sent, hash: Data(count: 32))
        var own = LogReader(head, store, keys)
        do { try await list(&own) } catch is NeedsSnapshot { throw OtherCopy() }
        // One that is sealed here may have arrived without an answer: the outbox finds out.
        let sealed = try await database.read { [keys] db in
            try SyncJournal(db).head(of: keys.member).number
        }
        let log = MemberLog(store: store, keys: keys, member: keys.member)
        let later = (own.listed + own.beyond).filter { $0.number > sealed }
        if try await log.hasBatch(in: later) { throw OtherCopy() }
    }

    /// Applies the next transaction of a log, if it may be applied now.
    private mutating func applyNext(of member: MemberID) async throws -> Bool {
        guard var log = logs[member] else { return false }
        let next: LogReader.Transaction
        do {
            if let last = keys.removed[member], !complete.contains(member) {
                try await log.requireEnd(last)
                complete.insert(member)
            }
            let found = try await log.readNext(limit: limits[member])
            logs[member] = log
            guard let found else { return false }
            next = found
        } catch let error as SyncError where error.isAbsence {
            // Removed since it was listed?
            try await list(&log)
            throw error
        }
        guard try await isReady(next, of: member) else { return false }
        let (capture, keys, before) = (capture, keys, log.head)
        let name = SyncNames.batch(
            group: keys.group, member: member, number: next.head.number)
        let written = try await database.write { db in
            let journal = SyncJournal(db)
            // Another process may have applied it.
            guard try journal.head(of: member) == before else { throw SyncError.otherEngine }
            try StampRules(capture, in: db).check(
                next, of: member, after: journal.ownPromise(of: member, before.number), name)
            try Outbox.seal(keys, capture, in: db)
            let floor = try journal.adopted()?.manifest.declaration.floor ?? Floor()
            let report = try capture.apply(next.changes.map(floor.reduced), in: db)
            for batch in next.batches {
                try journal.setHead(
                    batch.head, time: batch.time, promise: batch.promise, size: batch.size)
            }
            try journal.setHeard(member, at: next.time)
            for head in next.heads {
                try journal.setMention(by: member, of: head.member, head.number)
            }
            return report.written
        }
        outcome.transactions += 1
        outcome.rows += written
        log.advance()
        logs[member] = log
        return true
    }

    /// Whether all that a transaction's writer had applied is applied here.
    private mutating func isReady(
        _ transaction: LogReader.Transaction, of member: MemberID
    ) async throws -> Bool {
        let name = SyncNames.batch(
            group: keys.group, member: member, number: transaction.head.number)
        let applied = try await database.read { db in
            let journal = SyncJournal(db)
            return try transaction.heads.map { head in
                (
                    try journal.head(of: head.member).number,
                    try journal.shortHash(of: head.member, head.number)
                )
            }
        }
        for head in transaction.heads where try await isTainted(head) {
            tainted.insert(member)
            return false
        }
        var isReady = true
        for (head, (number, hash)) in zip(transaction.heads, applied) {
            if head.member == .none {
                if let adopted, adopted.number == head.number,
                    adopted.hash.prefix(LogHead.mentionCount) != head.hash
                {
                    throw SyncError.damaged(
                        name, "it has seen another snapshot than the store shows")
                }
                // Its stamps are to be understood with that snapshot's floor.
                if head.number > lastSnapshot || snapshots.first.map({ $0 <= head.number }) ?? false
                {
                    isReady = false
                }
                continue
            }
            if number < head.number {
                if head.member == keys.member { throw OtherCopy() }
                // A member that counts has applied it, so it counts for all.
                if let limit = limits[head.member] { limits[head.member] = max(limit, head.number) }
                isReady = false
            } else if let hash, hash != head.hash.prefix(LogHead.mentionCount) {
                if head.member == keys.member { throw OtherCopy() }
                throw SyncError.damaged(name, "it has seen another batch than the store shows")
            }
        }
        return isReady
    }

    /// Whether a batch's writer has known something that counts for nobody, since it did not know
    /// of a removal: it takes that back, and writes again as another member.
    private func isTainted(_ head: LogHead) async throws -> Bool {
        guard head.member == .none else { return keys.isLate(head) }
        guard head.number > adopted?.number ?? 0, head.number <= lastSnapshot else { return false }
        let snapshots = SnapshotStore(store: store, keys: keys)
        return try await snapshots.isLate(head)
    }

    /// The first batch of a log that the store does not have, of those up to a number; nil if it
    /// has all, or the log cannot be read.
    mutating func missing(of member: MemberID, upTo head: UInt64) async throws -> UInt64? {
        guard var log = logs[member], log.end < head else { return nil }
        try await list(&log)
        return log.end < head ? log.end + 1 : nil
    }

    /// What a transaction needs was in the store before it; so what is not there is withheld.
    private mutating func findWithheld() async throws {
        try await findWithheldHeads()
        for log in logs.values.sorted(by: { $0.member < $1.member })
        where !tainted.contains(log.member) {
            if log.isTorn, log.listed.isEmpty {
                outcome.failures.append(.withheld(SyncLog(log.member), number: log.end + 1))
            }
            guard let next = log.next, next.head.number <= limits[log.member] ?? .max else {
                continue
            }
            for head in next.heads {
                if head.member == .none, head.number > adopted?.number ?? 0 {
                    let snapshots = SnapshotStore(store: store, keys: keys)
                    let numbers = try await snapshots.numbers(after: head.number - 1)
                    if try await snapshots.newest(of: numbers) == nil {
                        outcome.failures.append(
                            .withheld(.snapshots, number: head.number))
                    }
                    continue
                }
                guard var needed = logs[head.member], needed.head.number < head.number else {
                    continue
                }
                try await list(&needed)
                // Otherwise it came in the meantime, and the next round applies it.
                guard try await needed.readNext(limit: limits[head.member]) == nil else { continue }
                outcome.failures.append(
                    needed.failure(naming: needed.end + 1))
            }
        }
    }
}
