internal import Foundation
internal import SecureStorage

// The applied position of each member's log, and own batches that the store may lack.

extension SyncJournal {
    /// A member's last batch in this file; number 0 before the first one.
    func position(of member: MemberID) throws -> BatchPosition {
        let rows = try db.executeQuery(
            "SELECT number, hash FROM securestorage_sync_position WHERE member = ?",
            values: [member.bytes])
        defer { rows.close() }
        guard try rows.next(), let number = rows.uint64(forColumnIndex: 0),
            let hash = rows.data(forColumnIndex: 1)
        else { return .beginning(of: member) }
        return BatchPosition(member: member, number: number, hash: hash)
    }

    /// The hash of a member's last batch in this file.
    ///
    /// If its log has none, the hash of its last batch in the former group that the founder had
    /// applied; zeros if there is none. `adopted` is this file's.
    func lastHash(of member: MemberID, _ adopted: AdoptedSnapshot?) throws -> Data {
        let position = try position(of: member)
        return position.number > 0
            ? position.hash : adopted?.manifest.logs[member]?.hash ?? position.hash
    }

    func positions() throws -> [BatchPosition] {
        let rows = try db.executeQuery(
            "SELECT member, number, hash FROM securestorage_sync_position ORDER BY member")
        defer { rows.close() }
        var positions: [BatchPosition] = []
        while try rows.next() {
            guard let member = MemberID(rows.data(forColumnIndex: 0) ?? Data()),
                let number = rows.uint64(forColumnIndex: 1),
                let hash = rows.data(forColumnIndex: 2)
            else { throw SyncError.damaged("securestorage_sync_position", "a row is not readable") }
            positions.append(BatchPosition(member: member, number: number, hash: hash))
        }
        return positions
    }

    /// Sets the last position of a log, and keeps the start of the hash, which others'
    /// acknowledgements of this batch must match.
    ///
    /// Timestamps in later batches of the log are above `lowerBound`; `size` is the batch's size in
    /// bytes.
    func setPosition(_ position: BatchPosition, time: UInt64, lowerBound: UInt64, size: Int) throws
    {
        // A lower bound never goes back.
        let lowerBound = max(
            lowerBound, try self.lowerBound(of: position.member, position.number, isReadHere: true))
        try setPosition(position)
        try db.executeUpdate(
            """
            INSERT OR REPLACE INTO securestorage_sync_log
              (member, number, hash, time, lower_bound, size) VALUES (?, ?, ?, ?, ?, ?)
            """,
            values: [
                position.member.bytes, Int64(position.number),
                position.hash.prefix(BatchPosition.shortHashCount),
                Int64(time), Int64(lowerBound), size,
            ])
    }

    func setPosition(_ position: BatchPosition) throws {
        try db.executeUpdate(
            """
            INSERT INTO securestorage_sync_position (member, number, hash) VALUES (?1, ?2, ?3)
            ON CONFLICT (member) DO UPDATE SET number = ?2, hash = ?3
            """, values: [position.member.bytes, Int64(position.number), position.hash])
    }

    /// When each member sealed its last applied batch, in milliseconds since 1970, by its own
    /// clock.
    func lastHeard() throws -> [MemberID: UInt64] { try ofEachPosition("heard") }

    /// Records when a member sealed its last batch, and the epoch of the key; 0 if unknown.
    func setHeard(_ member: MemberID, at time: UInt64, epoch: UInt64 = 0) throws {
        try db.executeUpdate(
            "UPDATE securestorage_sync_position SET heard = ?, epoch = ? WHERE member = ?",
            values: [Int64(time), Int64(epoch), member.bytes])
    }

    /// The epoch of the key that sealed each member's last batch; 0 if unknown.
    func lastEpochs() throws -> [MemberID: UInt64] { try ofEachPosition("epoch") }

    private func ofEachPosition(_ column: String) throws -> [MemberID: UInt64] {
        try numbers("SELECT member, \(column) FROM securestorage_sync_position")
    }

    private func numbers(
        _ query: String, _ values: [(any SQLiteDatatypeBridgeable)?] = []
    ) throws -> [MemberID: UInt64] {
        let rows = try db.executeQuery(query, values: values)
        defer { rows.close() }
        var numbers: [MemberID: UInt64] = [:]
        while try rows.next() {
            if let member = MemberID(rows.data(forColumnIndex: 0) ?? Data()) {
                numbers[member] = rows.uint64(forColumnIndex: 1)
            }
        }
        return numbers
    }

    /// The first 16 bytes of a batch's hash, if it was applied here.
    func shortHash(of member: MemberID, _ number: UInt64) throws -> Data? {
        try db.object(
            forQuery: """
                SELECT hash FROM securestorage_sync_log
                WHERE member = ? AND number = ? AND length(hash) = 16
                """, values: [member.bytes, Int64(number)])
    }

    /// The first 16 bytes of the hash of each batch of a log up to a number, since the stable
    /// point.
    func shortHashes(of member: MemberID, upTo number: UInt64) throws -> [UInt64: Data] {
        let rows = try db.executeQuery(
            """
            SELECT number, hash FROM securestorage_sync_log
            WHERE member = ? AND number <= ? AND length(hash) = 16
            """, values: [member.bytes, Int64(number)])
        defer { rows.close() }
        var hashes: [UInt64: Data] = [:]
        while try rows.next() {
            if let number = rows.uint64(forColumnIndex: 0) {
                hashes[number] = rows.data(forColumnIndex: 1)
            }
        }
        return hashes
    }

    /// Whether this file wrote or applied the batch with the hash, since the stable point; true for
    /// zeros, which mean no batch.
    func hasBatch(of member: MemberID, hash: Data) throws -> Bool {
        if hash.allSatisfy({ $0 == 0 }) { return true }
        return try db.int(
            forQuery: """
                SELECT EXISTS (
                  SELECT 1 FROM securestorage_sync_log WHERE member = ? AND hash = ?)
                """, values: [member.bytes, hash.prefix(BatchPosition.shortHashCount)]) == 1
    }

    // MARK: - Acknowledgements

    /// The last batch of `member` that `writer` has acknowledged; 0 if none.
    func acknowledgement(by writer: MemberID, of member: MemberID) throws -> UInt64 {
        try db.uint64(
            forQuery:
                "SELECT number FROM securestorage_sync_acknowledgement WHERE writer = ? AND member = ?",
            values: [writer.bytes, member.bytes]) ?? 0
    }

    /// The last batch of `member` that any of `writers` has acknowledged; 0 if none.
    func acknowledgement(by writers: some Sequence<MemberID>, of member: MemberID) throws -> UInt64
    {
        try writers.map { try acknowledgement(by: $0, of: member) }.max() ?? 0
    }

    /// The last batch of `member` that each other member has acknowledged, if any.
    func acknowledgements(of member: MemberID) throws -> [MemberID: UInt64] {
        try numbers(
            "SELECT writer, number FROM securestorage_sync_acknowledgement WHERE member = ?",
            [member.bytes])
    }

    func setAcknowledgement(by writer: MemberID, of member: MemberID, _ number: UInt64) throws {
        try db.executeUpdate(
            """
            INSERT INTO securestorage_sync_acknowledgement (writer, member, number) VALUES (?1, ?2, ?3)
            ON CONFLICT (writer, member) DO UPDATE SET number = max(number, ?3)
            """, values: [writer.bytes, member.bytes, Int64(number)])
    }

    // MARK: - Own batches

    /// A sealed batch of this member that is not known to be in the store.
    struct Outgoing: Sendable {
        var number: UInt64
        var bytes: Data
    }

    /// The sealed batches that the store may not have, in order: at least one, then more up to
    /// `most` bytes in total.
    func outgoing(limit: Int = .max, bytes most: Int = .max) throws -> [Outgoing] {
        let rows = try db.executeQuery(
            "SELECT number, bytes FROM securestorage_sync_out ORDER BY number LIMIT ?",
            values: [Int64(limit)])
        defer { rows.close() }
        var (batches, size) = ([Outgoing](), 0)
        while size < most, try rows.next() {
            guard let number = rows.uint64(forColumnIndex: 0),
                let bytes = rows.data(forColumnIndex: 1)
            else { throw SyncError.damaged("securestorage_sync_out", "a row is not readable") }
            batches.append(Outgoing(number: number, bytes: bytes))
            size += bytes.count
        }
        return batches
    }

    /// The changes in the sealed batches that the store may not have.
    func outgoingChanges(_ keys: GroupKeys) throws -> [RowChange] {
        try outgoing().flatMap { batch in
            let sealed = try SealedBatch(reading: batch.bytes)
            return try sealed.open(key: keys.key(ofEpoch: sealed.header.epoch)).changes
        }
    }

    /// How many own batches wait for the store, and their size in bytes.
    func outgoingSize() throws -> (batches: Int, bytes: Int) {
        let rows = try db.executeQuery(
            "SELECT count(*), total(length(bytes)) FROM securestorage_sync_out")
        defer { rows.close() }
        guard try rows.next() else { return (0, 0) }
        return (rows.int(forColumnIndex: 0) ?? 0, Int(rows.double(forColumnIndex: 1) ?? 0))
    }

    func addOutgoing(_ batch: Outgoing) throws {
        try db.executeUpdate(
            "INSERT INTO securestorage_sync_out (number, bytes) VALUES (?, ?)",
            values: [Int64(batch.number), batch.bytes])
    }

    func removeOutgoing(_ number: UInt64) throws {
        try db.executeUpdate(
            "DELETE FROM securestorage_sync_out WHERE number = ?", values: [Int64(number)])
    }

    func removeAllOutgoing() throws {
        try db.executeUpdate("DELETE FROM securestorage_sync_out")
    }
}
