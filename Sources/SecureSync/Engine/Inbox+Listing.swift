internal import Foundation
internal import SecureStorage

// Lists each log in the store, and how much of it counts.
extension Inbox {
    /// Starts reading the logs that the adopted snapshot names.
    mutating func openLogs() async throws {
        guard let declaration = adopted?.manifest.declaration else { return }
        let members = Set(declaration.logs.keys).union(declaration.closed.keys)
            .filter { $0 != keys.member && keys.mayWrite($0) }
        let open = members.filter { declaration.isOpen($0) && keys.removed[$0] == nil }
            .union([keys.member])
        let found = try await database.read { [keys] db in
            let journal = SyncJournal(db)
            return try members.map { member in
                let others = (keys.removed[member] == nil ? open : Set(keys.writers))
                    .filter { $0 != member }
                return (
                    try journal.position(of: member),
                    try journal.acknowledgement(by: others, of: member)
                )
            }
        }
        for (position, acknowledgement) in found {
            // Batches that others applied without knowing of a removal do not count.
            limits[position.member] =
                keys.removed[position.member]?.number
                ?? declaration.limit(
                    of: position.member,
                    named: max(acknowledgement, limits[position.member] ?? 0))
            if position == keys.removed[position.member] {
                // It is no longer needed.
                complete.insert(position.member)
            } else if keys.wasRemoved(position.member), position.number > 0 {
                unverified.insert(position.member)
            }
            guard logs[position.member] == nil, !complete.contains(position.member) else {
                continue
            }
            logs[position.member] = LogReader(position, store, keys)
            try await listLog(position.member)
        }
    }

    mutating func listLog(_ member: MemberID) async throws {
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
    /// Missing batches may have been removed since the snapshots were listed, by the writer of a
    /// newer one.
    mutating func list(_ log: inout LogReader) async throws {
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

    /// Checks whether another copy of this file continues its log.
    mutating func checkOwnLog(sent: UInt64) async throws {
        let position = BatchPosition(member: keys.member, number: sent, hash: Data(count: 32))
        var own = LogReader(position, store, keys)
        do { try await list(&own) } catch is NeedsSnapshot { throw OtherCopy() }
        // A batch sealed here may have arrived without an answer: the outbox finds out.
        let sealed = try await database.read { [keys] db in
            try SyncJournal(db).position(of: keys.member).number
        }
        let log = MemberLog(store: store, keys: keys, member: keys.member)
        let later = (own.listed + own.beyond).filter { $0.number > sealed }
        if try await log.hasBatch(in: later) { throw OtherCopy() }
    }
}
