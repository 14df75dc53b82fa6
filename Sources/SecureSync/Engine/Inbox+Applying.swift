internal import SecureStorage

// Transactions, each once all that its writer had applied is applied here.
extension Inbox {
    /// Applies the next transaction of a log, if it may be applied now.
    mutating func applyNext(of member: MemberID) async throws -> Bool {
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
        guard let rules = timestampRules, try await isReady(next, of: member) else { return false }
        let (capture, keys, before) = (capture, keys, log.head)
        let written = try await database.write { db in
            let journal = SyncJournal(db)
            // Another process may have applied it.
            guard try journal.head(of: member) == before else { throw SyncError.otherEngine }
            try rules.check(
                next, of: member,
                after: journal.lowerBound(of: member, before.number, isReadHere: true))
            try Outbox.seal(keys, capture, in: db)
            let stablePoint =
                try journal.adopted()?.manifest.declaration.stablePoint ?? StablePoint()
            let report = try capture.apply(next.changes.map(stablePoint.reduced), in: db)
            for batch in next.batches {
                try journal.setHead(
                    batch.head, time: batch.time, lowerBound: batch.lowerBound, size: batch.size)
            }
            try journal.setHeard(member, at: next.time, epoch: next.epoch)
            for head in next.heads {
                try journal.setAcknowledgement(by: member, of: head.member, head.number)
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
                    adopted.hash.prefix(LogHead.shortHashCount) != head.hash
                {
                    throw SyncError.damaged(
                        transaction.name, "it has seen another snapshot than the store shows")
                }
                // Its timestamps are to be understood with that snapshot's stable point.
                if head.number > lastSnapshot || snapshots.first.map({ $0 <= head.number }) ?? false
                {
                    isReady = false
                }
                continue
            }
            guard keys.mayWrite(head.member) else {
                throw SyncError.damaged(transaction.name, "it has seen a batch of no writer")
            }
            if number < head.number {
                if head.member == keys.member { throw OtherCopy() }
                // A member that counts has applied it, so it counts for all.
                if let limit = limits[head.member] { limits[head.member] = max(limit, head.number) }
                isReady = false
            } else if let hash, hash != head.hash.prefix(LogHead.shortHashCount) {
                if head.member == keys.member { throw OtherCopy() }
                throw SyncError.damaged(
                    transaction.name, "it has seen another batch than the store shows")
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
}
