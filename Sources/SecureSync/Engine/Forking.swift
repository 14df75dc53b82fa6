internal import Foundation
internal import SecureStorage

/// A file that is a copy of another one goes on as a member of its own: what it has written and not
/// sent moves into a new log, and the old log is read like a stranger's.
enum Forking {
    static func reseal(
        as new: MemberID, after sent: LogHead, _ keys: GroupKeys, _ capture: Capture,
        in db: SecureDatabaseStore
    ) throws {
        let journal = SyncJournal(db)
        guard var place = try journal.place() else { throw SyncError.notAMember }
        let unsent = try journal.outgoing()
        try journal.removeAllOutgoing()
        try journal.cutLog(of: sent.member, after: sent.number, hash: sent.hash)
        try capture.setMember(new, in: db)
        place.member = new
        place.owesHeads = true
        try journal.setPlace(place)
        for (index, batch) in unsent.enumerated() {
            let sealed = try SealedBatch(reading: batch.bytes)
            var body = try sealed.open(key: try keys.key(ofEpoch: sealed.header.epoch))
            // Whoever applies it has to have applied what the two logs have in common.
            if index == 0, sent.number > 0 {
                body.heads.append(
                    LogHead(
                        member: sent.member, number: sent.number,
                        hash: Data(sent.hash.prefix(8))))
            }
            try Outbox.append(body, keys, to: journal, of: place)
        }
    }
}

extension SyncJournal {
    /// The last own batch that is known to be in the store.
    func sentHead(of member: MemberID) throws -> LogHead {
        let head = try head(of: member)
        guard let first = try outgoing(limit: 1).first else { return head }
        let header = try SealedBatch(reading: first.bytes).header
        return LogHead(member: member, number: first.number - 1, hash: header.previous)
    }
}
