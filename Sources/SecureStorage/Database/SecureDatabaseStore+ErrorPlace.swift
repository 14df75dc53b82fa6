extension SecureDatabaseStore {
    /// Returns where the last statement, which could not be prepared, has its error; nil if SQLite
    /// does not say so.
    package func errorPlace(in sql: String) -> SQLErrorPlace? {
        guard let connection = try? workingConnection() else { return nil }
        return SQLErrorPlace(in: sql, at: connection.errorOffset)
    }
}
