internal import Logging

/// What a caller has added to the engine, which itself forgets it with each connection.
struct EngineExtensions {
    var functions: [SQLFunction.Signature: SQLFunction] = [:]
    var collations: [SQLName: SQLCollation] = [:]
    var limits: [SecureDatabaseLimit: Int] = [:]

    /// Each was accepted once already, so only memory can be missing here; a statement that needs
    /// what is missing then says so.
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
