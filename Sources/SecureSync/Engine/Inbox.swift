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
    /// The last batch of each removed member that counts, as far as applied batches have said.
    private var limits: [MemberID: UInt64]

    /// What one round has done.
    struct Outcome: Sendable {
        var transactions = 0
        var rows = 0
        /// Why logs stand still; the others were applied.
        var failures: [SyncError] = []
    }

    /// Others have seen batches of this member that this file does not know.
    struct OtherCopy: Error {}

    init(
        _ database: any SecureDatabaseWriter, _ capture: Capture, _ store: any SyncObjectStore,
        _ keys: GroupKeys
    ) {
        (self.database, self.capture, self.store, self.keys) = (database, capture, store, keys)
        limits = keys.removed
    }

    /// Applies all that the store has.
    mutating func run() async throws -> Outcome {
        var outcome = Outcome()
        try await begin(&outcome)
        var hasMoved = true
        while hasMoved {
            hasMoved = false
            for member in logs.keys.sorted() {
                do {
                    while try await applyNext(of: member, &outcome) { hasMoved = true }
                } catch let error as SyncError where !error.isTransient {
                    outcome.failures.append(error)
                    logs[member] = nil
                }
            }
        }
        try await findWithheld(&outcome)
        return outcome
    }

    private mutating func begin(_ outcome: inout Outcome) async throws {
        let (heads, own, mentions) = try await database.read { [keys] db in
            let journal = SyncJournal(db)
            return (
                try keys.writers.map { try journal.head(of: $0) },
                try journal.head(of: keys.member),
                try keys.removed.keys.map { member in
                    let others = keys.writers.filter { $0 != member }
                    return (member, try journal.mention(by: others, of: member))
                }
            )
        }
        for (member, number) in mentions { limits[member] = max(limits[member] ?? 0, number) }
        for head in heads where head.member != keys.member {
            var log = LogReader(head)
            do {
                try await log.list(store, group: keys.group)
                logs[head.member] = log
            } catch let error as SyncError where !error.isTransient {
                outcome.failures.append(error)
            }
        }
        let sent = try await database.read { db in
            try SyncJournal(db).outgoing(limit: 1).first.map { $0.number - 1 } ?? own.number
        }
        try await checkOwnLog(sent: sent)
    }

    /// Finds out whether another copy of this file has gone on writing.
    private func checkOwnLog(sent: UInt64) async throws {
        var own = LogReader(LogHead(member: keys.member, number: sent, hash: Data(count: 32)))
        try await own.list(store, group: keys.group)
        // One that is sealed here may have arrived without an answer: the outbox finds out.
        let sealed = try await database.read { [keys] db in
            try SyncJournal(db).head(of: keys.member).number
        }
        if own.end > sealed { throw OtherCopy() }
    }

    /// Applies the next transaction of a log, if it may be applied now.
    private mutating func applyNext(of member: MemberID, _ outcome: inout Outcome) async throws
        -> Bool
    {
        guard var log = logs[member], let next = try await log.readNext(store, keys) else {
            return false
        }
        logs[member] = log
        guard next.head.number <= limits[member] ?? .max else { return false }
        guard try await isReady(next, of: member) else { return false }
        let (capture, keys, before) = (capture, keys, log.head)
        outcome.rows += try await database.write { db in
            let journal = SyncJournal(db)
            // Another process may have applied it.
            guard try journal.head(of: member) == before else { throw SyncError.otherEngine }
            try Outbox.seal(keys, capture, in: db)
            let report = try capture.apply(next.changes, in: db)
            for head in next.hashes { try journal.setHead(head) }
            try journal.setHeard(member, at: next.time)
            for head in next.heads {
                try journal.setMention(by: member, of: head.member, head.number)
            }
            return report.written
        }
        outcome.transactions += 1
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
            if number < head.number {
                if head.member == keys.member { throw OtherCopy() }
                // A member that counts has applied it, so it counts for all.
                if let limit = limits[head.member] { limits[head.member] = max(limit, head.number) }
                isReady = false
            } else if let hash, hash != head.hash.prefix(8) {
                throw SyncError.damaged(name, "it has seen another batch than the store shows")
            }
        }
        return isReady
    }

    /// What a transaction needs was in the store before it; so what is not there is withheld.
    private mutating func findWithheld(_ outcome: inout Outcome) async throws {
        for log in logs.values.sorted(by: { $0.member < $1.member }) {
            guard let next = log.next, next.head.number <= limits[log.member] ?? .max else {
                continue
            }
            for head in next.heads {
                guard var needed = logs[head.member], needed.head.number < head.number else {
                    continue
                }
                try await needed.list(store, group: keys.group)
                // Otherwise it came in the meantime, and the next round applies it.
                if needed.end < head.number {
                    outcome.failures.append(
                        .withheld(member: head.member.description, number: needed.end + 1))
                }
            }
        }
    }
}
