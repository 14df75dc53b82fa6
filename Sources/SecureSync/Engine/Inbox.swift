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
    /// The last batch that counts of each member whose log is at its end, as far as applied batches
    /// have said.
    var limits: [MemberID: UInt64] = [:]
    /// The snapshot whose floor counts in this file.
    var adopted: AdoptedSnapshot?
    /// Whether it counts for nobody else.
    var isVoid = false
    /// The numbers of those after it.
    var snapshots: [UInt64] = []
    /// The last number that the store has listed.
    var lastSnapshot: UInt64 = 0
    /// What the store's newest snapshot contains.
    var covered: Floor.Heads = [:]
    /// Whether snapshots may be adopted: not before all that this file has written is in its rows.
    var adopts = false

    /// What was done so far, also before an error.
    private(set) var outcome = Outcome()

    struct Outcome: Sendable {
        var transactions = 0
        var rows = 0
        /// Why logs stand still; the others were applied.
        var failures: [SyncError] = []
        /// Whether all that counts of the store is applied.
        var isComplete = false
    }

    /// Others have seen batches of this member that this file does not know, or its log is closed.
    struct OtherCopy: Error {}

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
            if try await adoptNext() { hasMoved = true }
            let before = limits
            for member in logs.keys.sorted() {
                do {
                    while try await applyNext(of: member) { hasMoved = true }
                } catch let error as SyncError where !error.isTransient {
                    outcome.failures.append(error)
                    logs[member] = nil
                }
            }
            // More of a log counts than was known when it was its turn.
            if limits != before { hasMoved = true }
        }
        try await findWithheld()
        // The beginning of a transaction whose end is not there yet says nothing; its writer may
        // never come back.
        let rest = logs.values.filter { log in
            log.next != nil && log.listed.contains { $0 <= limits[log.member] ?? .max }
        }
        outcome.isComplete = outcome.failures.isEmpty && rest.isEmpty
        if !adopts, let adopted {
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
            var log = LogReader(head)
            do {
                try await list(&log)
                logs[head.member] = log
            } catch let error as SyncError where !error.isTransient {
                outcome.failures.append(error)
            }
        }
    }

    /// Lists a log.
    ///
    /// What is missing may have been removed since the snapshots were listed, by a member that has
    /// written a newer one.
    private mutating func list(_ log: inout LogReader) async throws {
        while true {
            do {
                return try await log.list(
                    store, group: keys.group, covered: covered[log.member, default: 0])
            } catch let error as SyncError where error.isAbsence {
                let last = lastSnapshot
                try await findSnapshots()
                guard lastSnapshot > last else { throw error }
            }
        }
    }

    /// The last batch of a log that counts; nil for one that goes on.
    private func limit(
        of member: MemberID, _ declaration: Declaration, _ mention: UInt64
    ) -> UInt64? {
        if let closed = declaration.closed[member] { return closed }
        var limit = keys.removed[member]
        if declaration.logs[member]?.closing != nil {
            limit = max(limit ?? 0, declaration.heads[member, default: 0])
        }
        return limit.map { max($0, mention, limits[member] ?? 0) }
    }

    /// Finds out whether another copy of this file has gone on writing.
    private mutating func checkOwnLog(sent: UInt64) async throws {
        var own = LogReader(LogHead(member: keys.member, number: sent, hash: Data(count: 32)))
        let log = OwnLog(store: store, keys: keys)
        do {
            try await list(&own)
        } catch is NeedsSnapshot {
            throw OtherCopy()
        } catch let error as SyncError where error.isGap {
            // Nothing is missing if nobody but a stranger has gone on after a gap.
            let prefix = SyncNames.log(group: keys.group, member: keys.member)
            let after = SyncNames.batch(group: keys.group, member: keys.member, number: sent + 1)
            for number in try await store.listNumbers(prefix, after: after)
            where try await log.hasSigned(number) {
                throw error
            }
            return
        }
        // One that is sealed here may have arrived without an answer: the outbox finds out.
        let sealed = try await database.read { [keys] db in
            try SyncJournal(db).head(of: keys.member).number
        }
        guard own.end > sealed else { return }
        do {
            try await log.requireOwn(sealed + 1)
        } catch let error as SyncError where error.isDamaged {
            outcome.failures.append(error)
            return
        }
        throw OtherCopy()
    }

    /// Applies the next transaction of a log, if it may be applied now.
    private mutating func applyNext(of member: MemberID) async throws -> Bool {
        guard var log = logs[member] else { return false }
        let next: LogReader.Transaction
        do {
            guard let found = try await log.readNext(store, keys) else { return false }
            next = found
        } catch let error as SyncError where error.isAbsence {
            // Removed since it was listed?
            try await list(&log)
            throw error
        }
        logs[member] = log
        guard next.head.number <= limits[member] ?? .max else { return false }
        guard try await isReady(next, of: member) else { return false }
        let (capture, keys, before) = (capture, keys, log.head)
        let written = try await database.write { db in
            let journal = SyncJournal(db)
            // Another process may have applied it.
            guard try journal.head(of: member) == before else { throw SyncError.otherEngine }
            try Outbox.seal(keys, capture, in: db)
            let floor = try journal.adopted()?.manifest.declaration.floor ?? Floor()
            let report = try capture.apply(next.changes.map(floor.reduced), in: db)
            for batch in next.batches {
                try journal.setHead(batch.head, time: batch.time, size: batch.size)
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
        var isReady = true
        for (head, (number, hash)) in zip(transaction.heads, applied) {
            if head.member == .none {
                // Its stamps are to be understood with that snapshot's floor, unless it is void.
                if head.number > lastSnapshot || snapshots.first.map({ $0 <= head.number }) ?? false
                {
                    isReady = false
                } else if adopts, head.number > adopted?.number ?? 0 {
                    // By that one's floor, which counts for nobody else: the rows have to come with
                    // a later snapshot.
                    let later = SnapshotStore(store: store, keys: keys)
                    if try await later.newest(of: snapshots) != nil { throw NeedsSnapshot() }
                    isReady = false
                }
                continue
            }
            if number < head.number {
                if head.member == keys.member { throw OtherCopy() }
                // A member that counts has applied it, so it counts for all.
                if let limit = limits[head.member] { limits[head.member] = max(limit, head.number) }
                isReady = false
            } else if let hash, hash != head.hash.prefix(8) {
                if head.member == keys.member { throw OtherCopy() }
                throw SyncError.damaged(name, "it has seen another batch than the store shows")
            }
        }
        return isReady
    }

    /// What a transaction needs was in the store before it; so what is not there is withheld.
    private mutating func findWithheld() async throws {
        for log in logs.values.sorted(by: { $0.member < $1.member }) {
            guard let next = log.next, next.head.number <= limits[log.member] ?? .max else {
                continue
            }
            for head in next.heads {
                if head.member == .none, adopts, head.number > adopted?.number ?? 0 {
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
                if needed.end < head.number {
                    outcome.failures.append(
                        .withheld(SyncLog(head.member), number: needed.end + 1))
                }
            }
        }
    }
}
