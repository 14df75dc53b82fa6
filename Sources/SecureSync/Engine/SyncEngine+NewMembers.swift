internal import SecureStorage
internal import SecureStoragePlatform

// New devices in the group: anyone with a code or a member's device can add one, and it can read
// everything.
extension SyncEngine {
    /// The devices that joined the group after this one, and that the app has not acknowledged yet.
    ///
    /// Show them to the user: someone may have found a code, or used a member's device
    /// (``SyncMember/addedBy``, ``SyncMember/forkOf``). ``SyncStatus/newMembers`` is their number.
    /// They are kept in the file.
    ///
    /// - Returns: Those that are still members in the chain as last read, in joining order.
    /// - Throws: ``SyncError/notAMember``; the errors of the database.
    public func newMembers() async throws -> [SyncMember] {
        let new = try await database.read { try SyncJournal($0).newMembers() }
        return try await members().filter { new.contains($0.memberID) }
    }

    /// Records that the user knows these members.
    ///
    /// - Parameter members: Members from ``newMembers()``.
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
    /// Records the group's current devices.
    ///
    /// Those present the first time, and the file's own, are not new.
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
