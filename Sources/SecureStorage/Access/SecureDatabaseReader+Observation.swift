extension SecureDatabaseReader {
    /// Returns the changes that are committed through this queue or pool and by others.
    ///
    /// Observing begins with `makeAsyncIterator()`, which a `for await` calls when its task runs,
    /// perhaps after the next write. To miss none, call it before the first write:
    ///
    /// ```swift
    /// var changes = queue.changes(in: ["note"]).makeAsyncIterator()
    /// while let change = await changes.next() { print(change.tables) }
    /// ```
    ///
    /// - Parameters:
    ///   - tables: Names, in any case, of tables of the main database; `sqlite_schema` for the
    ///     schema. nil or an empty array for all tables.
    ///   - rowIDs: Whether to report which rows have changed, which costs some time and memory.
    /// - Returns: An endless sequence; see ``DatabaseChanges``.
    public func changes(in tables: [String]? = nil, rowIDs: Bool = false) -> DatabaseChanges {
        DatabaseChanges(
            store: access.point.observed, tables: ObservedTables(tables), wantsRowIDs: rowIDs)
    }

    /// Returns the value of a query, now and after each change.
    ///
    /// - Parameter read: Runs as a `read`, on a separate thread.
    /// - Returns: An endless sequence; see ``DatabaseValues``.
    public func values<Value: Equatable & Sendable>(
        of read: @escaping @Sendable (SecureDatabaseStore) throws -> Value
    ) -> DatabaseValues<Value> {
        DatabaseValues(store: access.point.observed) { [self] in
            try await self.read { try $0.notingTables(read) }
        }
    }
}

extension SecureDatabaseStore {
    /// Runs `body` and returns its result with the tables that its statements read.
    fileprivate func notingTables<T>(
        _ body: (SecureDatabaseStore) throws -> T
    ) throws -> (T, ObservedTables) {
        let connection = try openConnection()
        try connection.beginNotingTables()
        defer { connection.authorizer.readTables = nil }
        let value = try body(self)
        // `body` reopened the store: reads on the new connection were not tracked.
        guard self.connection === connection, let names = connection.authorizer.readTables else {
            return (value, .all)
        }
        return (value, .only(names.union(["sqlite_schema"])))
    }
}
