internal import Foundation

extension SecureKeyValueStore {
    // MARK: - Plain values

    /// Stores a string, a number, a date, bytes, or a type of your own that bridges to one of them.
    ///
    /// - Parameters:
    ///   - value: The value, a `Date` to the microsecond; nil stores an explicit nil: `hasKey(_:)`
    ///     is then true, and reading returns nil.
    ///   - key: Any string; its previous value is replaced, whatever its kind.
    /// - Throws: `.closed`; `.typeConversionFailed` for a `UInt64` above `Int64.max`;
    ///   `.backingStoreError`.
    public func put<T: SQLiteDatatypeBridgeable>(_ value: T?, forKey key: String) throws {
        try put(Self.entry(value), forKey: key)
    }

    /// Stores a plain value that expires.
    ///
    /// - Parameters:
    ///   - value: As for `put(_:forKey:)`.
    ///   - key: Any string.
    ///   - lifetime: The time, by the wall clock, after which the key counts as absent; the row is
    ///     removed when it is next read by a connection that may write.
    /// - Throws: As `put(_:forKey:)`.
    public func put<T: SQLiteDatatypeBridgeable>(
        _ value: T?, forKey key: String, expiresIn lifetime: Duration
    ) throws {
        try put(Self.entry(value), forKey: key, lifetime: lifetime)
    }

    /// Reads a plain value.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.closed`; `.typeConversionFailed` when the value is of another kind (a `Codable`
    ///   value, an object) or `T` cannot represent it without loss; `.backingStoreError`.
    public func get<T: SQLiteDatatypeBridgeable>(_ key: String) throws -> T? {
        guard let entry = try entry(key) else { return nil }
        return try Self.plain(entry)
    }

    /// Reads a plain value, or returns a default.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return for an absent key or an explicit nil.
    /// - Returns: The value.
    /// - Throws: As `get(_:)`.
    public func get<T: SQLiteDatatypeBridgeable>(_ key: String, defaultValue: T?) throws -> T? {
        try get(key) ?? defaultValue
    }

    /// Reads a plain value of the default's type, or returns the default.
    ///
    /// ```swift
    /// let launches = try settings.get("launches", default: 0)
    /// ```
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - value: The value to return for an absent key or an explicit nil.
    /// - Returns: The value.
    /// - Throws: As `get(_:)`.
    public func get<T: SQLiteDatatypeBridgeable>(_ key: String, default value: T) throws -> T {
        try get(key) ?? value
    }

    // MARK: - Keys

    /// Removes a key and its value.
    ///
    /// - Parameter key: Any string.
    /// - Returns: Whether the key existed.
    /// - Throws: `.closed`; `.backingStoreError`.
    @discardableResult
    public func remove(_ key: String) throws -> Bool {
        try change { db, table in
            let isThere = try table.entry(key, in: db) != nil
            try table.remove(key, in: db)
            return isThere
        }
    }

    /// Removes every key of this store; other stores in the file keep theirs.
    ///
    /// - Throws: `.closed`; `.backingStoreError`.
    public func removeAll() throws {
        try change { db, table in try table.removeAll(in: db) }
    }

    /// Returns every key.
    ///
    /// Two spellings of one word, such as `é` with one code point or with two, are two keys, but a
    /// set treats them as one element; `keys(withPrefix:)` lists both.
    ///
    /// - Returns: The keys, all loaded into memory.
    /// - Throws: `.closed`; `.backingStoreError`, with code `.mismatch` for a key that is
    ///   not UTF-8 text, which another program can have written: the message names it.
    public func keys() throws -> Set<String> {
        try read { db, table in
            var keys: Set<String> = []
            try table.forEachKey(in: db) { keys.insert($0) }
            return keys
        }
    }

    /// Returns the keys that begin with `prefix`, compared byte by byte.
    ///
    /// - Parameter prefix: The prefix; empty for every key.
    /// - Returns: The keys in the order of their UTF-8 bytes.
    /// - Throws: As `keys()`.
    public func keys(withPrefix prefix: String) throws -> [String] {
        try read { db, table in
            var keys: [String] = []
            try table.forEachKey(withPrefix: prefix, in: db) { keys.append($0) }
            return keys
        }
    }

    /// Returns whether `key` holds a value or an explicit nil.
    ///
    /// - Parameter key: Any string.
    /// - Returns: Whether it does; false for a value that has expired.
    /// - Throws: `.closed`; `.backingStoreError`.
    public func hasKey(_ key: String) throws -> Bool {
        try entry(key) != nil
    }

    /// Returns the number of keys.
    ///
    /// - Returns: The number, including explicit nils but not expired values.
    /// - Throws: `.closed`; `.backingStoreError`.
    public func count() throws -> Int {
        try read { db, table in try table.count(in: db) }
    }

    // MARK: - Entries

    func entry(_ key: String) throws -> KeyValueTable.Entry? {
        try read { db, table in try table.entry(key, in: db) }
    }

    func put(
        _ entry: KeyValueTable.Entry, forKey key: String, lifetime: Duration? = nil
    ) throws {
        try change { db, table in try table.put(entry, forKey: key, lifetime: lifetime, in: db) }
    }

    static func entry<T: SQLiteDatatypeBridgeable>(_ value: T?) throws -> KeyValueTable.Entry {
        if T.self == Date.self, let date = value as? Date {
            let seconds = try SecureDatabaseStore.DateEncodingStrategy.secondsSince1970.value(
                of: date)
            return KeyValueTable.Entry(kind: .plain, value: seconds)
        }
        guard let value = try value?.sqliteValue, value != .null else {
            return KeyValueTable.Entry(kind: .null, value: .null)
        }
        // SQLite stores a NaN as NULL.
        if case .real(let number) = value, number.isNaN {
            return KeyValueTable.Entry(kind: .null, value: .null)
        }
        return KeyValueTable.Entry(kind: .plain, value: value)
    }

    static func plain<T: SQLiteDatatypeBridgeable>(_ entry: KeyValueTable.Entry) throws -> T? {
        switch entry.kind {
        case .null: return nil
        case .plain:
            // SQLite stored a NaN as NULL.
            guard entry.value != .null else { return nil }
            guard let value = T(sqliteValue: entry.value) else {
                throw SecureStorageError.typeConversionFailed
            }
            return value
        case .archive, .json: throw SecureStorageError.typeConversionFailed
        }
    }
}
