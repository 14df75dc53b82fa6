internal import SecureStorage

extension SyncEngine {
    /// The values that lost, others' and this file's, oldest first; then the rows that are held
    /// back, and those that cannot be sent.
    ///
    /// Up to 10,000 lost values, of at most 16 MiB, are kept; the oldest are removed first.
    ///
    /// - Parameter table: One of the synced tables; nil for all.
    /// - Returns: The conflicts of this file; other members list their own.
    /// - Throws: The errors of the database.
    public func conflicts(in table: String? = nil) throws -> [SyncConflict] {
        try database.read { [capture] in try capture.allConflicts(in: table, of: $0) }
    }

    /// The conflicts of a key-value store.
    ///
    /// - Parameter name: The store's.
    /// - Returns: As ``conflicts(in:)``.
    /// - Throws: The errors of the database.
    public func conflicts(inKeyValueStore name: String) throws -> [SyncConflict] {
        try conflicts(in: KeyValueStoreName.table(ofStore: name))
    }

    /// Removes a conflict from this file's list; a row that is held back stays listed until it
    /// returns or is deleted.
    ///
    /// - Parameter conflict: One of ``conflicts(in:)``.
    /// - Throws: The errors of the database.
    public func forget(_ conflict: SyncConflict) throws {
        guard let entry = conflict.entry else { return }
        try database.write { [capture] in try capture.forget(entry, in: $0) }
    }
}

extension Capture {
    func allConflicts(in table: String?, of db: SecureDatabaseStore) throws -> [SyncConflict] {
        let lost = try conflicts(in: db, of: table).map { SyncConflict($0) }
        let heldBack = try heldBackRows(in: db).filter { table.map($0.table.isSameName) ?? true }
        let unsent = try unsentRows(in: db).filter { table.map($0.table.isSameName) ?? true }
        return lost + heldBack.map { SyncConflict($0) } + unsent.map { SyncConflict($0) }
    }
}
