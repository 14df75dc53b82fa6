internal import Foundation
internal import SecureStorage

// The file's knowledge of the group's snapshots, and of each log besides its position.
extension SyncJournal {
    func adopted() throws -> AdoptedSnapshot? {
        let rows = try db.executeQuery(
            "SELECT number, writer, hash, content, epoch FROM securestorage_sync_snapshot")
        defer { rows.close() }
        guard try rows.next() else { return nil }
        guard let number = rows.uint64(forColumnIndex: 0),
            let writer = MemberID(rows.data(forColumnIndex: 1) ?? Data()),
            let hash = rows.data(forColumnIndex: 2), let content = rows.data(forColumnIndex: 3),
            let epoch = rows.uint64(forColumnIndex: 4),
            let manifest = try? SnapshotManifest(decoding: Array(content), number: number)
        else { throw SyncError.damaged("securestorage_sync_snapshot", "its row is not readable") }
        return AdoptedSnapshot(writer: writer, hash: hash, epoch: epoch, manifest: manifest)
    }

    func setAdopted(_ snapshot: AdoptedSnapshot) throws {
        try db.executeUpdate(
            """
            INSERT INTO securestorage_sync_snapshot (id, number, writer, hash, content, epoch)
            VALUES (1, ?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE
            SET number = ?1, writer = ?2, hash = ?3, content = ?4, epoch = ?5
            """,
            values: [
                Int64(snapshot.number), snapshot.writer.bytes, snapshot.hash,
                snapshot.manifest.encoded().asData, Int64(snapshot.epoch),
            ])
        // Other members' batches name the snapshot like a batch of no member.
        try db.executeUpdate(
            """
            INSERT OR REPLACE INTO securestorage_sync_log
              (member, number, hash, time, lower_bound) VALUES (?, ?, ?, 0, 0)
            """,
            values: [
                MemberID.none.bytes, Int64(snapshot.number),
                snapshot.hash.prefix(BatchPosition.shortHashCount),
            ])
        try db.executeUpdate(
            "DELETE FROM securestorage_sync_log WHERE member = ? AND number < ?",
            values: [MemberID.none.bytes, Int64(snapshot.number) - 100])
        // Times before the stable point no longer matter.
        for (member, number) in snapshot.manifest.declaration.stablePoint.positions {
            try db.executeUpdate(
                "DELETE FROM securestorage_sync_log WHERE member = ? AND number < ?",
                values: [member.bytes, Int64(number)])
        }
    }

    /// Replaces the positions of all logs with a snapshot's.
    func setLogs(of manifest: SnapshotManifest) throws {
        for table in ["position", "acknowledgement", "log"] {
            try db.executeUpdate("DELETE FROM securestorage_sync_\(table)")
        }
        try joinLogs(of: manifest)
    }

    /// Takes a snapshot's positions where they are after this file's.
    func joinLogs(of manifest: SnapshotManifest) throws {
        let heard = try lastHeard()
        for (member, log) in manifest.logs {
            let number = manifest.declaration.positions[member, default: 0]
            if number > (try position(of: member).number) {
                try setPosition(BatchPosition(member: member, number: number, hash: log.hash))
                try setHeard(member, at: log.heard)
            } else if number == 0, log.heard > 0, heard[member] == nil {
                // Its log begins in this group, but it was active in the former one.
                try setPosition(.beginning(of: member))
                try setHeard(member, at: log.heard)
            }
            try addLowerBounds(log.lowerBounds, of: member)
            for (other, number) in log.published {
                try setAcknowledgement(by: member, of: other, number)
            }
        }
    }

    /// Checks that a snapshot's last batch of each log is the one that this file has applied, if it
    /// still knows that.
    func requireBatches(of manifest: SnapshotManifest, _ name: String) throws {
        for position in try positions() {
            guard let number = manifest.declaration.positions[position.member],
                let hash = manifest.logs[position.member]?.hash
            else { continue }
            let isSame = number == position.number
            let own = isSame ? position.hash : try shortHash(of: position.member, number)
            if let own, !hash.starts(with: own) {
                throw SyncError.damaged(name, "it has seen another batch than the store shows")
            }
        }
    }

    private func addLowerBounds(
        _ lowerBounds: [SnapshotManifest.LowerBound], of member: MemberID
    ) throws {
        for lowerBound in lowerBounds {
            try db.executeUpdate(
                """
                INSERT INTO securestorage_sync_log (member, number, hash, time, lower_bound)
                VALUES (?1, ?2, x'', ?3, ?3)
                ON CONFLICT (member, number) DO UPDATE SET time = ?3, lower_bound = ?3
                WHERE length(hash) = 0
                """, values: [member.bytes, Int64(lowerBound.number), Int64(lowerBound.time)])
        }
    }

    /// The log entries of a manifest with this declaration, from this file's knowledge.
    func logs(for declaration: Declaration) throws -> [MemberID: SnapshotManifest.Log] {
        let members = Set(declaration.positions.keys).union(declaration.logs.keys)
            .union(declaration.closed.keys)
        let heard = try lastHeard()
        let published = try published()
        let adopted = try adopted()
        return Dictionary(
            uniqueKeysWithValues: try members.map { member in
                let last = declaration.positions[member, default: 0]
                let stablePoint = declaration.stablePoint.positions[member, default: 0]
                var numbers: Set<UInt64> = [stablePoint, last]
                for (other, said) in published where declaration.logs[other] != nil {
                    numbers.insert(min(last, said.positions[member, default: 0]))
                }
                let lowerBounds = try numbers.filter { $0 > 0 && $0 >= stablePoint }.sorted().map {
                    SnapshotManifest.LowerBound(number: $0, time: try lowerBound(of: member, $0))
                }
                var said = published[member]?.positions ?? [:]
                said[member] = nil
                if let adopted = published[member]?.adopted, adopted > 0 { said[.none] = adopted }
                return (
                    member,
                    SnapshotManifest.Log(
                        hash: try lastHash(of: member, adopted), heard: heard[member] ?? 0,
                        lowerBounds: lowerBounds, published: said)
                )
            })
    }

    /// The positions that each member's last batch here acknowledges.
    func published() throws -> [MemberID: Declaration.Published] {
        var published: [MemberID: Declaration.Published] = [:]
        // A member that has sent nothing has published nothing: it knows what its log began with.
        for position in try positions() where position.number > 0 {
            published[position.member] = .init(
                positions: [position.member: position.number], adopted: 0)
        }
        try db.eachRow(
            "SELECT writer, member, number FROM securestorage_sync_acknowledgement", columns: 3
        ) { row in
            guard let writer = row[0].blobBytes.flatMap({ MemberID($0) }),
                let member = row[1].blobBytes.flatMap({ MemberID($0) }), let number = row[2].number,
                published[writer] != nil
            else { return }
            if member == .none {
                published[writer]?.adopted = UInt64(number)
            } else if member != writer {
                published[writer]?.positions[member] = UInt64(number)
            }
        }
        return published
    }

    /// The lower bound of the last known batch of a log up to `number`.
    ///
    /// It is also a lower bound for later batches. A snapshot may be wrong: with `isReadHere`, only
    /// batches that this file read from the log count.
    func lowerBound(
        of member: MemberID, _ number: UInt64, isReadHere: Bool = false
    ) throws -> UInt64 {
        try db.uint64(
            forQuery: """
                SELECT max(lower_bound) FROM securestorage_sync_log
                WHERE member = ? AND number <= ? AND length(hash) >= ?
                """, values: [member.bytes, Int64(number), isReadHere ? 1 : 0]) ?? 0
    }

    /// The greatest possible ``lowerBound(of:_:isReadHere:)`` of a batch that this file has not
    /// read.
    ///
    /// A loaded snapshot names the lower bounds of some batches only, and they never decrease.
    func greatestLowerBound(of member: MemberID, _ number: UInt64) throws -> UInt64 {
        let next = try db.uint64(
            forQuery: """
                SELECT lower_bound FROM securestorage_sync_log WHERE member = ? AND number >= ?
                ORDER BY number LIMIT 1
                """, values: [member.bytes, Int64(number)])
        return max(try lowerBound(of: member, number), next ?? 0)
    }

    /// The number and total size of batches in the logs after a snapshot.
    func size(after positions: VersionVector) throws -> (batches: UInt64, bytes: UInt64) {
        var size: (batches: UInt64, bytes: UInt64) = (0, 0)
        for position in try self.positions() {
            let start = positions[position.member, default: 0]
            size.batches += position.number > start ? position.number - start : 0
            size.bytes +=
                try db.uint64(
                    forQuery: """
                        SELECT total(size) FROM securestorage_sync_log
                        WHERE member = ? AND number > ?
                        """, values: [position.member.bytes, Int64(start)]) ?? 0
        }
        return size
    }

    /// The last batch of a log up to `number` that is older than a time.
    func last(of member: MemberID, upTo number: UInt64, before time: UInt64) throws -> UInt64 {
        try db.uint64(
            forQuery: """
                SELECT max(number) FROM securestorage_sync_log
                WHERE member = ? AND number <= ? AND time < ?
                """, values: [member.bytes, Int64(number), Int64(time)]) ?? 0
    }
}

// MARK: - Pending own changes

// Changes that only this file has when it starts a new log. They are reapplied to a snapshot's rows
// once the logs are read, since they may change rows from the logs.
extension SyncJournal {
    func hasPending() throws -> Bool {
        try db.int(forQuery: "SELECT EXISTS (SELECT 1 FROM securestorage_sync_pending)") == 1
    }

    func addPending(_ changes: [RowChange]) throws {
        guard !changes.isEmpty else { return }
        for part in try TransactionParts.split(
            changes, longestRow: TransactionParts.longestWholeRow)
        {
            let body = BatchBody(
                time: 0, schema: 0, positions: [], changes: Array(part), isLast: true)
            try db.executeUpdate(
                "INSERT INTO securestorage_sync_pending (content) VALUES (?)",
                values: [body.encoded().asData])
        }
    }

    /// Removes the pending changes, and returns them in order.
    func takePending() throws -> [RowChange] {
        let contents = try db.allRows(
            "SELECT content FROM securestorage_sync_pending ORDER BY id", columns: 1)
        try db.executeUpdate("DELETE FROM securestorage_sync_pending")
        return try contents.flatMap { row in
            do {
                return try BatchBody(decoding: row[0].blobBytes ?? []).changes
            } catch is CBORError {
                throw SyncError.damaged("securestorage_sync_pending", "a row is not readable")
            }
        }
    }
}
