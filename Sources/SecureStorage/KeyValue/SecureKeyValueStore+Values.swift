extension SecureKeyValueStore {
    // MARK: - Plain values

    /// Stores a text, a number, a date, bytes, or a type of your own that bridges to one of them.
    ///
    /// - Parameters:
    ///   - value: nil stores an explicit nil: `hasKey(_:)` is true then, and reading gives nil.
    ///   - key: Any text; what it held before is replaced, whatever its kind.
    /// - Throws: `.closed`; `.typeConversionFailed` for a `UInt64` above `Int64.max`;
    ///   `.backingStoreError`.
    public func put<T: SQLiteDatatypeBridgeable>(_ value: T?, forKey key: String) throws {
        try put(Self.entry(value), forKey: key)
    }

    /// Stores a plain value that expires.
    ///
    /// - Parameters:
    ///   - value: As for `put(_:forKey:)`.
    ///   - key: Any text.
    ///   - lifetime: After this time, by the wall clock, the key counts as absent; the row is
    ///     removed when it is next read.
    /// - Throws: As `put(_:forKey:)`.
    public func put<T: SQLiteDatatypeBridgeable>(
        _ value: T?, forKey key: String, expiresIn lifetime: Duration
    ) throws {
        try put(Self.entry(value), forKey: key, lifetime: lifetime)
    }

    /// Reads a plain value.
    ///
    /// - Parameter key: Any text.
    /// - Returns: nil for an absent key and for an explicit nil.
    /// - Throws: `.closed`; `.typeConversionFailed` when the value is of another kind (a `Codable`
    ///   value, an object) or `T` cannot represent it without loss; `.backingStoreError`.
    public func get<T: SQLiteDatatypeBridgeable>(_ key: String) throws -> T? {
        guard let entry = try entry(key) else { return nil }
        return try Self.plain(entry)
    }

    /// Reads a plain value, or gives another one.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: Returned for an absent key and for an explicit nil.
    /// - Returns: The value.
    /// - Throws: As `get(_:)`.
    public func get<T: SQLiteDatatypeBridgeable>(_ key: String, defaultValue: T?) throws -> T? {
        try get(key) ?? defaultValue
    }

    // MARK: - Keys

    /// Removes a key with its value.
    ///
    /// - Parameter key: Any text.
    /// - Returns: Whether the key was there.
    /// - Throws: `.closed`; `.backingStoreError`.
    @discardableResult
    public func remove(_ key: String) throws -> Bool {
        try read { db, table in
            let isThere = try table.entry(key, in: db) != nil
            _ = try table.remove(key, in: db)
            return isThere
        }
    }

    /// Removes every key of this store; other stores of the file keep theirs.
    ///
    /// - Throws: `.closed`; `.backingStoreError`.
    public func removeAll() throws {
        try read { db, table in try table.removeAll(in: db) }
    }

    /// Every key.
    ///
    /// A set knows two spellings of one word, such as `é` with one code point or with two, as one
    /// element, while they are two keys here; `keys(withPrefix:)` lists both.
    ///
    /// - Returns: The keys, in memory all at once.
    /// - Throws: `.closed`; `.backingStoreError`, code 20 (SQLITE_MISMATCH) for a key that is not
    ///   UTF-8 text, as another program can write it: the message names it.
    public func keys() throws -> Set<String> {
        try read { db, table in
            var keys: Set<String> = []
            try table.forEachKey(in: db) { keys.insert($0) }
            return keys
        }
    }

    /// The keys that begin with `prefix`, byte by byte.
    ///
    /// - Parameter prefix: Empty for every key.
    /// - Returns: The keys in the order of their UTF-8 bytes.
    /// - Throws: as `keys()`.
    public func keys(withPrefix prefix: String) throws -> [String] {
        try read { db, table in
            var keys: [String] = []
            try table.forEachKey(withPrefix: prefix, in: db) { keys.append($0) }
            return keys
        }
    }

    /// Whether there is a value, or an explicit nil, under `key`.
    ///
    /// - Parameter key: Any text.
    /// - Returns: false for a value that has expired.
    /// - Throws: `.closed`; `.backingStoreError`.
    public func hasKey(_ key: String) throws -> Bool {
        try entry(key) != nil
    }

    /// The number of keys.
    ///
    /// - Returns: Explicit nils count, expired values do not.
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
        try read { db, table in try table.put(entry, forKey: key, lifetime: lifetime, in: db) }
    }

    static func entry<T: SQLiteDatatypeBridgeable>(_ value: T?) throws -> KeyValueTable.Entry {
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
            // SQLite has stored a NaN as NULL.
            guard entry.value != .null else { return nil }
            guard let value = T(sqliteValue: entry.value) else {
                throw SecureStorageError.typeConversionFailed
            }
            return value
        case .archive, .json: throw SecureStorageError.typeConversionFailed
        }
    }
}
