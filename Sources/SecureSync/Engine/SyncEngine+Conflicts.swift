internal import SecureStorage

extension SyncEngine {
    /// What of others' writes or of this file's has lost, and rows that are held back; the oldest
    /// first.
    ///
    /// Up to 10,000 lost values are kept; the oldest go first.
    ///
    /// - Parameter table: One of the synced tables; nil for all.
    /// - Returns: The conflicts of this file; other members list their own.
    /// - Throws: The errors of the database.
    package func conflicts(in table: String? = nil) throws -> [RowConflict] {
        try database.read { [capture] in try capture.conflicts(in: $0, of: table) }
    }

    /// Removes a conflict from the list of this file; a row that is held back stays in it.
    ///
    /// - Parameter conflict: One of ``conflicts(in:)``.
    /// - Throws: The errors of the database.
    package func forget(_ conflict: RowConflict) throws {
        try database.write { [capture] in try capture.forget(conflict, in: $0) }
    }
}
