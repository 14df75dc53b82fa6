internal import Logging

/// The functions, collations and limits that a caller has added, which SQLite discards with each
/// connection.
struct EngineExtensions {
    var functions: [SQLFunction.Signature: SQLFunction] = [:]
    var collations: [SQLName: SQLCollation] = [:]
    var limits: [SecureDatabaseLimit: Int] = [:]

    /// Installs the extensions on a new connection.
    ///
    /// Each was accepted once before, so only an out-of-memory condition can fail here. A statement
    /// that needs a missing extension then reports it.
    func install(on connection: Connection) {
        do {
            for function in functions.values { try connection.install(function) }
            for collation in collations.values { try connection.install(collation) }
            for (limit, value) in limits { _ = try connection.setLimit(limit, to: value) }
        } catch {
            connection.logger.error("a function, collation or limit was not installed: \(error)")
        }
    }
}
