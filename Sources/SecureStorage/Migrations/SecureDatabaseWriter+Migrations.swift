extension SecureDatabaseWriter {
    /// Runs the migrations not yet applied to the file.
    ///
    /// Other writers wait. The readers of a pool continue, and see the file as it was before a step
    /// or after it.
    ///
    /// - Parameter migrations: The whole list, from the first step.
    /// - Returns: The names of the steps that this call ran.
    /// - Throws: As ``SchemaMigrations/apply(to:)``; code `.misuse` inside a `read`.
    @discardableResult
    public func migrate(_ migrations: SchemaMigrations) throws -> [String] {
        try writeWithoutTransaction { try migrations.apply(to: $0) }
    }

    /// Runs the migrations not yet applied to the file, on a separate thread.
    ///
    /// - Parameter migrations: The whole list, from the first step.
    /// - Returns: The names of the steps that this call ran.
    /// - Throws: As the synchronous call; `CancellationError`, after rolling back the step that was
    ///   running.
    @discardableResult
    public func migrate(_ migrations: SchemaMigrations) async throws -> [String] {
        try await writeWithoutTransaction { try migrations.apply(to: $0) }
    }
}
