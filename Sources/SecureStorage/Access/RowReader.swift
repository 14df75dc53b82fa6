/// The connection of an iteration, in its snapshot.
struct RowReader {
    let store: SecureDatabaseStore
    /// Runs a part of the iteration.
    let run: (() throws -> Void) throws -> Void
    /// Called once, while no part runs.
    let close: () -> Void
}

extension SecureDatabaseStore {
    /// Creates a read-only store on a file whose derived key is known.
    convenience init(reading source: Reopening, configuration: SecureDatabaseConfiguration) {
        var readOnly = configuration
        readOnly.isReadOnly = true
        self.init(fullDatabasePath: source.path, configuration: readOnly)
        session.reopening = source
    }
}
