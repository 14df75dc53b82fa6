package import Foundation
package import SecureStorage

/// What a file says of its sync by itself: without a store, and without keys.
package struct SyncedFile: Sendable {
    /// The tables as the last engine on the file has declared them.
    package var tables = SyncedTables()
    /// The group's 32 hexadecimal digits; nil for a file in no group.
    package var group: String?
    /// This file's ``SyncMember/id``.
    package var member: String?
    /// The newest snapshot that was adopted; 0 before the first.
    package var snapshot: UInt64 = 0
    /// How many writes wait for being sealed.
    package var unsealedWrites: Int64 = 0
    /// The sealed batches that the store may not have, and their bytes.
    package var waiting: (batches: Int, bytes: Int) = (0, 0)
    /// How many values have lost.
    package var lostCount = 0
    /// How many rows are held back.
    package var heldBackCount = 0
    /// How many rows cannot travel as they are.
    package var unsentCount = 0
    /// When each member sealed its last batch that was applied, by its clock.
    package var lastHeard: [String: Date] = [:]
    /// Why changes may be lost; nil if the triggers are what they should be.
    package var captureProblem: SyncError?

    /// Reads all of it in one transaction.
    package init(_ database: any SecureDatabaseReader) throws {
        self = try database.read { try SyncedFile($0) }
    }

    private init(_ db: SecureDatabaseStore) throws {
        tables = try SyncedTables(in: db)
        guard try db.tableExists("securestorage_sync_group") else { return }
        let (journal, capture) = (SyncJournal(db), Capture(tables))
        if let place = try journal.place() {
            group = place.group.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            member = place.member.description
        }
        snapshot = try journal.adopted()?.number ?? 0
        waiting = try journal.outgoingSize()
        for (member, heard) in try journal.lastHeard() where heard > 0 {
            lastHeard[member.description] = Date(timeIntervalSince1970: Double(heard) / 1000)
        }
        do {
            try capture.verify(in: db)
            for shape in try capture.shapes(in: db) {
                unsealedWrites +=
                    try db.int64(forQuery: "SELECT count(*) FROM \(shape.markTable)") ?? 0
            }
            lostCount = try capture.conflicts(in: db).count
            heldBackCount = try capture.heldBackRows(in: db).count
            unsentCount = try capture.unsentRows(in: db).count
        } catch let error as SyncError {
            captureProblem = error
        }
    }

    /// What was written and is not seen, as ``SyncEngine/conflicts(in:)`` lists it.
    package static func conflicts(
        in table: String?, keyValueStore store: String? = nil,
        of database: any SecureDatabaseReader
    ) throws -> [SyncConflict] {
        try database.read { db in
            let capture = Capture(try SyncedTables(in: db))
            guard !capture.tables.declarations.isEmpty else { return [] }
            let table = table ?? store.map(KeyValueStoreName.table(ofStore:))
            return try capture.allConflicts(in: table, of: db)
        }
    }

    /// Removes what has lost from the list.
    package static func forget(
        _ conflicts: [SyncConflict], in database: any SecureDatabaseWriter
    ) throws {
        try database.write { db in
            let capture = Capture(try SyncedTables(in: db))
            for entry in conflicts.compactMap(\.entry) { try capture.forget(entry, in: db) }
        }
    }
}
