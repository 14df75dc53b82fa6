// The same for those who share a store.

extension SecureDatabaseQueue {
    /// Runs the migrations that the file has not been through.
    ///
    /// Other calls of this queue wait meanwhile.
    ///
    /// - Parameter migrations: All of them, from the first.
    /// - Returns: The names of those that this call has run.
    /// - Throws: As ``SchemaMigrations/apply(to:)``.
    @discardableResult
    public func migrate(_ migrations: SchemaMigrations) throws -> [String] {
        try inDatabase { try migrations.apply(to: $0) }
    }

    /// Runs the migrations that the file has not been through, on a thread of its own.
    ///
    /// - Parameter migrations: All of them, from the first.
    /// - Returns: The names of those that this call has run.
    /// - Throws: As ``SchemaMigrations/apply(to:)``; `CancellationError`, after taking back the
    ///   step that was running.
    @discardableResult
    public func migrate(_ migrations: SchemaMigrations) async throws -> [String] {
        try await inDatabase { try migrations.apply(to: $0) }
    }
}

extension SecureDatabasePool {
    /// Runs the migrations that the file has not been through.
    ///
    /// Other writers of this pool wait meanwhile; readers go on, and see the file as it was before
    /// a step or after it.
    ///
    /// - Parameter migrations: All of them, from the first.
    /// - Returns: The names of those that this call has run.
    /// - Throws: As ``SchemaMigrations/apply(to:)``, and code 21 inside a `read` of this pool.
    @discardableResult
    public func migrate(_ migrations: SchemaMigrations) throws -> [String] {
        try writeWithoutTransaction { try migrations.apply(to: $0) }
    }

    /// Runs the migrations that the file has not been through, on a thread of its own.
    ///
    /// - Parameter migrations: All of them, from the first.
    /// - Returns: The names of those that this call has run.
    /// - Throws: As the synchronous call; `CancellationError`, after taking back the step that was
    ///   running.
    @discardableResult
    public func migrate(_ migrations: SchemaMigrations) async throws -> [String] {
        try await writeWithoutTransaction { try migrations.apply(to: $0) }
    }
}
