internal import SecureStorage

// Applies each transaction after everything that its writer had applied.
extension Inbox {
    /// Applies the next transaction of a log, if that is possible now.
    mutating func applyNext(of member: MemberID) async throws -> Bool {
        guard var log = logs[member] else { return false }
        let next: LogReader.Transaction
        do {
            try await requireEnd(of: log)
            let found = try await log.readNext(limit: limits[member])
            logs[member] = log
            guard let found else { return false }
            next = found
        } catch let error as SyncError where error.isAbsence {
            // Removed since it was listed?
            try await list(&log)
            throw error
        }
        guard let rules = timestampRules, try await admit(next, of: member) else { return false }
        let (capture, keys, before) = (capture, keys, log.position)
        let written = try await database.write { db in
            let journal = SyncJournal(db)
            // Another process may have applied it.
            guard try journal.position(of: member) == before else { throw SyncError.otherEngine }
            try rules.check(
                next, of: member,
                after: journal.lowerBound(of: member, before.number, isReadHere: true))
            try Outbox.seal(keys, capture, in: db)
            let stablePoint =
                try journal.adopted()?.manifest.declaration.stablePoint ?? StablePoint()
            let report = try capture.apply(next.changes.map(stablePoint.reduced), in: db)
            for batch in next.batches {
                try journal.setPosition(
                    batch.position, time: batch.time, lowerBound: batch.lowerBound, size: batch.size
                )
            }
            try journal.setHeard(member, at: next.time, epoch: next.epoch)
            for position in next.positions {
                try journal.setAcknowledgement(by: member, of: position.member, position.number)
            }
            return report.written
        }
        outcome.transactions += 1
        outcome.rows += written
        log.advance()
        logs[member] = log
        return true
    }

    /// Admits a transaction if everything that its writer had applied is applied here; otherwise
    /// notes what is missing.
    private mutating func admit(
        _ transaction: LogReader.Transaction, of member: MemberID
    ) async throws -> Bool {
        let applied = try await database.read { db in
            let journal = SyncJournal(db)
            return try transaction.positions.map { position in
                (
                    try journal.position(of: position.member).number,
                    try journal.shortHash(of: position.member, position.number)
                )
            }
        }
        if transaction.positions.contains(where: { isTainted($0, epoch: transaction.epoch) }) {
            tainted.insert(member)
            return false
        }
        var isReady = true
        for (position, (number, hash)) in zip(transaction.positions, applied) {
            if position.member == .none {
                if let hash, hash != position.hash {
                    // Its writer starts over, from a snapshot that a removal names.
                    if keys.leastSnapshot >= position.number {
                        tainted.insert(member)
                        return false
                    }
                    throw SyncError.damaged(
                        transaction.name, "it has seen another snapshot than the store shows")
                }
                // Its timestamps are relative to that snapshot's stable point.
                let isAhead =
                    adopts
                    ? position.number > adopted?.number ?? 0
                    : position.number > snapshots.first.map { $0 - 1 } ?? lastSnapshot
                if isAhead { isReady = false }
                continue
            }
            guard keys.mayWrite(position.member) else {
                throw SyncError.damaged(transaction.name, "it has seen a batch of no writer")
            }
            if number < position.number {
                if position.member == keys.member { throw OtherCopy() }
                // An active member applied it, so it counts for all.
                if let limit = limits[position.member] {
                    limits[position.member] = max(limit, position.number)
                }
                isReady = false
            } else if let hash, hash != position.hash.prefix(BatchPosition.shortHashCount) {
                if position.member == keys.member { throw OtherCopy() }
                if let log = logs[position.member] { try await requireEnd(of: log) }
                // This file has those that count.
                if complete.contains(position.member) {
                    tainted.insert(member)
                    return false
                }
                throw SyncError.damaged(
                    transaction.name, "it has seen another batch than the store shows")
            }
        }
        return isReady
    }

    /// Whether a batch's writer had applied something invalid because it did not know of a removal.
    ///
    /// The writer drops that, and writes again as another member.
    private func isTainted(_ position: BatchPosition, epoch: UInt64) -> Bool {
        position.member == .none
            ? !keys.agreesWithPins(position.asSnapshot, epoch: epoch) : keys.isLate(position)
    }

    /// Checks that the batches this file applies from a removed member's log are the ones that
    /// count.
    private mutating func requireEnd(of log: LogReader) async throws {
        guard let last = keys.removed[log.member], !complete.contains(log.member) else { return }
        let contained = adopted?.manifest.declaration.positions[log.member] ?? 0
        try await log.requireEnd(last, contained: contained)
        complete.insert(log.member)
    }
}
