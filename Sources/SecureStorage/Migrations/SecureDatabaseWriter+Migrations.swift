extension SecureDatabaseWriter {
    /// Runs the migrations that the file has not been through.
    ///
    /// Other writers wait. The readers of a pool continue, and see the file as it was before a step
    /// or after it.
    ///
    /// - Parameter migrations: All of them, from the first.
    /// - Returns: The names of those that this call has run.
    /// - Throws: As ``SchemaMigrations/apply(to:)``; code 21 inside a `read`.
    @discardableResult
    public func migrate(_ migrations: SchemaMigrations) throws -> [String] {
        try writeWithoutTransaction { try migrations.apply(to: $0) }
    }

    /// Runs the migrations that the file has not been through, on a separate thread.
    ///
    /// - Parameter migrations: All of them, from the first.
    /// - Returns: The names of those that this call has run.
    /// - Throws: As the synchronous call; `CancellationError`, after rolling back the step that was
    ///   running.
    @discardableResult
    public func migrate(_ migrations: SchemaMigrations) async throws -> [String] {
        try await writeWithoutTransaction { try migrations.apply(to: $0) }
    }
}
