internal import Foundation
internal import SecureStorage

/// The engine's state in the database file: its place in a group, the chain of members, the batches
/// that the store may not have yet, and the applied position of each member's log.
///
/// It is written in the same transactions as the rows, so it matches them after a crash, a copy or
/// a restore. Not thread-safe, like the database that it uses.
struct SyncJournal {
    let db: SecureDatabaseStore

    init(_ db: SecureDatabaseStore) { self.db = db }

    /// Creates missing tables.
    func install() throws {
        try db.executeStatements(
            """
            CREATE TABLE IF NOT EXISTS securestorage_sync_group (
              id INTEGER PRIMARY KEY CHECK (id = 1), name BLOB NOT NULL, member BLOB NOT NULL,
              former BLOB, copied INTEGER NOT NULL, began INTEGER NOT NULL, keeps INTEGER NOT NULL,
              published INTEGER NOT NULL);
            CREATE TABLE IF NOT EXISTS securestorage_sync_snapshot (
              id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL, writer BLOB NOT NULL,
              hash BLOB NOT NULL, content BLOB NOT NULL, epoch INTEGER NOT NULL);
            CREATE TABLE IF NOT EXISTS securestorage_sync_pending (
              id INTEGER PRIMARY KEY, content BLOB NOT NULL);
            CREATE TABLE IF NOT EXISTS securestorage_sync_draft (
              name BLOB PRIMARY KEY, parts INTEGER NOT NULL, number INTEGER NOT NULL)
              WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS securestorage_sync_chain (
              number INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
            CREATE TABLE IF NOT EXISTS securestorage_sync_former (
              name BLOB, number INTEGER, bytes BLOB NOT NULL, PRIMARY KEY (name, number))
              WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS securestorage_sync_known (
              member BLOB PRIMARY KEY, is_new INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS securestorage_sync_out (
              number INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
            CREATE TABLE IF NOT EXISTS securestorage_sync_position (
              member BLOB PRIMARY KEY, number INTEGER NOT NULL, hash BLOB NOT NULL,
              heard INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS securestorage_sync_acknowledgement (
              writer BLOB, member BLOB, number INTEGER NOT NULL,
              PRIMARY KEY (writer, member)) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS securestorage_sync_log (
              member BLOB, number INTEGER, hash BLOB NOT NULL, time INTEGER NOT NULL,
              lower_bound INTEGER NOT NULL, size INTEGER NOT NULL DEFAULT 0,
              PRIMARY KEY (member, number)) WITHOUT ROWID;
            """)
    }

    // MARK: - The group

    /// The file's group and member.
    struct Place: Equatable, Sendable {
        /// The group's 16 bytes.
        var group: Data
        /// This file's member.
        var member: MemberID
        /// Its former member, until a snapshot is loaded for the present one.
        var former: MemberID?
        /// Whether another file may have sent its unsent writes, until a snapshot is loaded.
        var mayBeCopy = false
        /// The snapshot with which the member's log begins.
        ///
        /// Until the log has begun, this is 0 and nothing is sent.
        var began: UInt64 = 0
        /// Whether its earlier rows lose to the group's rows with the same keys.
        var keepsRows: Bool
        /// When this member last sealed a batch, by the machine's clock: milliseconds since 1970.
        var published: UInt64 = 0
    }

    /// Returns nil for a file that is not in a group.
    func place() throws -> Place? {
        let rows = try db.executeQuery(
            """
            SELECT name, member, published, began, keeps, copied, former
            FROM securestorage_sync_group
            """)
        defer { rows.close() }
        guard try rows.next() else { return nil }
        guard let group = rows.data(forColumnIndex: 0),
            let member = MemberID(rows.data(forColumnIndex: 1) ?? Data()),
            let published = rows.uint64(forColumnIndex: 2),
            let began = rows.uint64(forColumnIndex: 3), let keeps = rows.bool(forColumnIndex: 4),
            let mayBeCopy = rows.bool(forColumnIndex: 5)
        else { throw SyncError.damaged("securestorage_sync_group", "its row is not readable") }
        return Place(
            group: group, member: member,
            former: rows.data(forColumnIndex: 6).flatMap { MemberID($0) }, mayBeCopy: mayBeCopy,
            began: began, keepsRows: keeps, published: published)
    }

    func setPlace(_ place: Place) throws {
        try db.executeUpdate(
            """
            INSERT INTO securestorage_sync_group
              (id, name, member, published, began, keeps, copied, former)
            VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO UPDATE
            SET name = ?1, member = ?2, published = ?3, began = ?4, keeps = ?5, copied = ?6,
              former = ?7
            """,
            values: [
                place.group, place.member.bytes, Int64(place.published),
                Int64(place.began), place.keepsRows, place.mayBeCopy, place.former?.bytes,
            ])
    }

    /// Forgets the group and the former ones, but not the rows.
    func leave() throws {
        try forgetPlace()
        for table in ["former", "known"] {
            try db.executeUpdate("DELETE FROM securestorage_sync_\(table)")
        }
    }

    /// Leaves the group for its successor, and keeps its chain.
    func archiveGroup() throws {
        try db.executeUpdate(
            """
            INSERT OR REPLACE INTO securestorage_sync_former (name, number, bytes)
            SELECT g.name, c.number, c.bytes
            FROM securestorage_sync_group AS g, securestorage_sync_chain AS c
            """)
        try forgetPlace()
    }

    private func forgetPlace() throws {
        for table in [
            "group", "chain", "out", "position", "acknowledgement", "log", "snapshot", "pending",
            "draft",
        ] {
            try db.executeUpdate("DELETE FROM securestorage_sync_\(table)")
        }
    }

    // MARK: - The chain

    /// The entries of the chain of members, from the first one.
    func chain() throws -> [Data] {
        let rows = try db.executeQuery(
            "SELECT bytes FROM securestorage_sync_chain ORDER BY number")
        defer { rows.close() }
        var entries: [Data] = []
        while try rows.next() { entries.append(rows.data(forColumnIndex: 0) ?? Data()) }
        return entries
    }

    /// Replaces the saved chain with a longer one, or with one whose last entries differ: a store
    /// may have shown damaged ones.
    ///
    /// - Returns: Whether it has changed.
    @discardableResult
    func setChain(_ entries: [Data]) throws -> Bool {
        let known = try chain()
        let same = zip(known, entries).prefix { $0 == $1 }.count
        // Another process may have read further.
        guard same < entries.count else { return false }
        if same < known.count {
            try db.executeUpdate(
                "DELETE FROM securestorage_sync_chain WHERE number > ?", values: [same])
        }
        for (number, entry) in entries.enumerated().dropFirst(same) {
            try db.executeUpdate(
                "INSERT INTO securestorage_sync_chain (number, bytes) VALUES (?, ?)",
                values: [number + 1, entry])
        }
        return true
    }

    /// Keeps chains of groups of which the file never was a member, like those of former groups.
    func keepFormerChains(_ chains: [Data: [Data]]) throws {
        for (group, chain) in chains {
            for (index, entry) in chain.enumerated() {
                try db.executeUpdate(
                    """
                    INSERT OR REPLACE INTO securestorage_sync_former (name, number, bytes)
                    VALUES (?, ?, ?)
                    """, values: [group, index + 1, entry])
            }
        }
    }

    /// The chains of the former groups, by group name.
    func formerChains() throws -> [Data: [Data]] {
        let rows = try db.executeQuery(
            "SELECT name, bytes FROM securestorage_sync_former ORDER BY name, number")
        defer { rows.close() }
        var chains: [Data: [Data]] = [:]
        while try rows.next() {
            chains[rows.data(forColumnIndex: 0) ?? Data(), default: []]
                .append(rows.data(forColumnIndex: 1) ?? Data())
        }
        return chains
    }

    // MARK: - The file

    /// The number of this library's migrations that have been applied to the file.
    func schemaNumber() throws -> UInt64 {
        try db.uint64(forQuery: "PRAGMA user_version") ?? 0
    }
}
