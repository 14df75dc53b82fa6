package import Foundation
package import SecureStorage

/// A file's sync state, read without a store and without keys.
package struct SyncedFile: Sendable {
    /// The tables, as declared by the last engine on the file.
    package var tables = SyncedTables()
    /// The group's 32 hexadecimal digits; nil for a file that is not in a group.
    package var group: String?
    /// This file's ``SyncMember/id``.
    package var member: String?
    /// The newest snapshot that was adopted; 0 before the first.
    package var snapshot: UInt64 = 0
    /// How many writes are not sealed yet.
    package var unsealedWrites: Int64 = 0
    /// The sealed batches that the store may not have, and their size in bytes.
    package var waiting: (batches: Int, bytes: Int) = (0, 0)
    /// How many lost values are listed as conflicts.
    package var lostCount = 0
    /// How many rows are held back.
    package var heldBackCount = 0
    /// How many rows cannot be sent as they are.
    package var unsentCount = 0
    /// When each member sealed its last applied batch, by its own clock.
    package var lastHeard: [String: Date] = [:]
    /// Why changes may be lost; nil if the triggers are correct.
    package var captureProblem: SyncError?

    /// Reads everything in one transaction.
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

    /// The file's conflicts, as listed by ``SyncEngine/conflicts(in:)``.
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

    /// Removes conflicts from the list.
    package static func forget(
        _ conflicts: [SyncConflict], in database: any SecureDatabaseWriter
    ) throws {
        try database.write { db in
            let capture = Capture(try SyncedTables(in: db))
            for entry in conflicts.compactMap(\.entry) { try capture.forget(entry, in: db) }
        }
    }
}
