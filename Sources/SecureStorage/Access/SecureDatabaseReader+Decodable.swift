// Rows as `Decodable` types, and rows found by their key, each in a read of its own.

extension SecureDatabaseReader {
    /// Returns all rows of a query as a `Decodable` type.
    ///
    /// ```swift
    /// let notes = try pool.fetchAll(Note.self, "SELECT * FROM note WHERE folder = \(folder)")
    /// ```
    ///
    /// - Parameters:
    ///   - type: See ``SecureDatabaseResultSet/decode(_:dates:)``.
    ///   - sql: Exactly one statement that returns columns and writes nothing.
    ///   - values: One per `?` placeholder, in order, if the text has them instead of values.
    ///   - dates: The format in which dates are stored.
    /// - Returns: The rows, in the order of the query, all in memory.
    /// - Throws: As ``SecureDatabaseStore/fetchAll(_:_:values:dates:)`` and `read(_:)`.
    public func fetchAll<T: Decodable & Sendable>(
        _ type: T.Type = T.self, _ sql: SQL, values: [(any SQLiteDatatypeBridgeable)?] = [],
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970
    ) throws -> [T] {
        try read { db -> [T] in try db.fetchAll(type, sql, values: values, dates: dates) }
    }

    /// Returns the first row of a query as a `Decodable` type.
    ///
    /// Otherwise as ``SecureDatabaseStore/fetchOne(_:_:values:dates:)``, in a `read(_:)`.
    public func fetchOne<T: Decodable & Sendable>(
        _ type: T.Type = T.self, _ sql: SQL, values: [(any SQLiteDatatypeBridgeable)?] = [],
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970
    ) throws -> T? {
        try read { db -> T? in try db.fetchOne(type, sql, values: values, dates: dates) }
    }

    /// Returns the row that has a key.
    ///
    /// ```swift
    /// let note = try pool.find(Note.self, in: "note", key: ["id": id])
    /// ```
    ///
    /// Otherwise as ``SecureDatabaseStore/find(_:in:key:dates:)``, in a `read(_:)`.
    public func find<T: Decodable & Sendable>(
        _ type: T.Type = T.self, in table: String, key: SecureDatabaseStore.Columns,
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970
    ) throws -> T? {
        try read { db -> T? in try db.find(type, in: table, key: key, dates: dates) }
    }

    /// Returns whether a row has a key.
    ///
    /// Otherwise as ``SecureDatabaseStore/exists(in:key:)``, in a `read(_:)`.
    public func exists(in table: String, key: SecureDatabaseStore.Columns) throws -> Bool {
        try read { db -> Bool in try db.exists(in: table, key: key) }
    }

    /// Returns how many rows a table has, or how many of them have a key.
    ///
    /// Otherwise as ``SecureDatabaseStore/count(in:key:)``, in a `read(_:)`.
    public func count(in table: String, key: SecureDatabaseStore.Columns = [:]) throws -> Int {
        try read { db -> Int in try db.count(in: table, key: key) }
    }

    // MARK: - Asynchronous calls

    // The rows are decoded on a separate thread: a type's conformance must not belong to an actor.

    /// Returns all rows of a query as a `Decodable` type.
    ///
    /// Otherwise as the synchronous call; `CancellationError`.
    public func fetchAll<T: Decodable & Sendable>(
        _ type: T.Type = T.self, _ sql: SQL, values: [(any SQLiteDatatypeBridgeable)?] = [],
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970
    ) async throws -> [T] {
        let values = try Self.sendable(values)
        return try await read { try $0.fetchAll(type, sql, values: values, dates: dates) }
    }

    /// Returns the first row of a query as a `Decodable` type.
    ///
    /// Otherwise as the synchronous call; `CancellationError`.
    public func fetchOne<T: Decodable & Sendable>(
        _ type: T.Type = T.self, _ sql: SQL, values: [(any SQLiteDatatypeBridgeable)?] = [],
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970
    ) async throws -> T? {
        let values = try Self.sendable(values)
        return try await read { try $0.fetchOne(type, sql, values: values, dates: dates) }
    }

    /// Returns the row that has a key.
    ///
    /// Otherwise as the synchronous call; `CancellationError`.
    public func find<T: Decodable & Sendable>(
        _ type: T.Type = T.self, in table: String, key: SecureDatabaseStore.Columns,
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970
    ) async throws -> T? {
        let condition = try SecureDatabaseStore.Condition(requiring: key)
        return try await read { try $0.find(type, in: table, condition, dates) }
    }

    /// Returns whether a row has a key.
    ///
    /// Otherwise as the synchronous call; `CancellationError`.
    public func exists(in table: String, key: SecureDatabaseStore.Columns) async throws -> Bool {
        let condition = try SecureDatabaseStore.Condition(requiring: key)
        return try await read { try $0.exists(in: table, condition) }
    }

    /// Returns how many rows a table has, or how many of them have a key.
    ///
    /// Otherwise as the synchronous call; `CancellationError`.
    public func count(
        in table: String, key: SecureDatabaseStore.Columns = [:]
    ) async throws -> Int {
        let condition = try SecureDatabaseStore.Condition(key)
        return try await read { try $0.count(in: table, condition) }
    }
}
