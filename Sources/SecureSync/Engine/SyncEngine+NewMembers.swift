internal import SecureStorage

// Devices that have come into the group: whoever has a code, or a device in hand, can add one, and
// it reads everything.
extension SyncEngine {
    /// The devices that have come into the group since this one has joined, and that the app has
    /// not acknowledged yet.
    ///
    /// Show them to the person: somebody may have found a code, or had a device in hand
    /// (``SyncMember/addedBy``, ``SyncMember/forkOf``). ``SyncStatus/newMembers`` says how many
    /// there are. They are kept in the file.
    ///
    /// - Returns: Those that are still members, as the chain was read last, in the order of their
    ///   joining.
    /// - Throws: ``SyncError/notAMember``; the errors of the database.
    public func newMembers() async throws -> [SyncMember] {
        let new = try await database.read { try SyncJournal($0).newMembers() }
        return try await members().filter { new.contains($0.memberID) }
    }

    /// Notes that the person knows these members.
    ///
    /// - Parameter members: Of ``newMembers()``.
    /// - Throws: The errors of the database.
    public func acknowledge(_ members: [SyncMember]) async throws {
        let count = try await database.write { db in
            let journal = SyncJournal(db)
            try journal.acknowledge(members.map(\.memberID))
            return try journal.newMembers().count
        }
        changes.update { $0.newMembers = count }
    }
}

extension SyncJournal {
    /// Notes the devices of the group as they are now; those that were there at the first time, and
    /// the file's own, are not new.
    func noteMembers(_ devices: [MemberID], own: MemberID) throws {
        let known = try Set(
            db.allRows("SELECT member FROM securestorage_sync_known", columns: 1)
                .compactMap { $0[0].blobBytes.flatMap { MemberID($0) } })
        for member in known.subtracting(devices) {
            try db.executeUpdate(
                "DELETE FROM securestorage_sync_known WHERE member = ?", values: [member.bytes])
        }
        for member in devices where !known.contains(member) {
            try db.executeUpdate(
                "INSERT INTO securestorage_sync_known (member, is_new) VALUES (?, ?)",
                values: [member.bytes, !known.isEmpty && member != own])
        }
    }

    func newMembers() throws -> Set<MemberID> {
        Set(
            try db.allRows(
                "SELECT member FROM securestorage_sync_known WHERE is_new", columns: 1
            ).compactMap { $0[0].blobBytes.flatMap { MemberID($0) } })
    }

    fileprivate func acknowledge(_ members: [MemberID]) throws {
        for member in members {
            try db.executeUpdate(
                "UPDATE securestorage_sync_known SET is_new = 0 WHERE member = ?",
                values: [member.bytes])
        }
    }
}
