public import Foundation

// The same calls for tasks. They wait without blocking a thread of the cooperative pool; a
// cancelled task interrupts its own statement and gets `CancellationError`, and nothing is stored
// then. Values are encoded and decoded by the task itself, so they need not be Sendable.

extension SecureKeyValueStore {
    // MARK: - Plain values

    /// Stores a plain value.
    ///
    /// - Parameters:
    ///   - value: nil stores an explicit nil.
    ///   - key: Any text; what it held before is replaced, whatever its kind.
    ///   - lifetime: After this time, by the wall clock, the key counts as absent. nil: never.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func put<T: SQLiteDatatypeBridgeable>(
        _ value: T?, forKey key: String, expiresIn lifetime: Duration? = nil
    ) async throws {
        try await put(Self.entry(value), forKey: key, lifetime: lifetime)
    }

    /// Reads a plain value.
    ///
    /// - Parameter key: Any text.
    /// - Returns: nil for an absent key and for an explicit nil.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func get<T: SQLiteDatatypeBridgeable>(_ key: String) async throws -> T? {
        guard let entry = try await entry(key) else { return nil }
        return try Self.plain(entry)
    }

    /// Reads a plain value, or gives another one.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: Returned for an absent key and for an explicit nil.
    /// - Returns: The value.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func get<T: SQLiteDatatypeBridgeable>(
        _ key: String, defaultValue: T?
    ) async throws -> T? {
        try await get(key) ?? defaultValue
    }

    // MARK: - Objects

    /// Stores an object as a keyed archive.
    ///
    /// - Parameters:
    ///   - value: nil stores an explicit nil.
    ///   - key: Any text; what it held before is replaced, whatever its kind.
    ///   - lifetime: After this time, by the wall clock, the key counts as absent. nil: never.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func put<T: NSCoding>(
        _ value: T?, forKey key: String, expiresIn lifetime: Duration? = nil
    ) async throws {
        try await put(Self.entry(archiving: value), forKey: key, lifetime: lifetime)
    }

    /// Stores several objects, all of them or, when one fails, none.
    ///
    /// - Parameter keyValueDict: The objects by key; nil stores an explicit nil.
    /// - Throws: As the synchronous call; `CancellationError`, and the store is then as before.
    public func putAll(_ keyValueDict: [String: (any NSCoding)?]) async throws {
        let entries = try Self.entries(archiving: keyValueDict)
        try await perform { try $0.putAll(entries) }
    }

    /// Reads an object.
    ///
    /// - Parameter key: Any text.
    /// - Returns: nil for an absent key and for an explicit nil.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func get<T: NSCoding>(_ key: String) async throws -> T? {
        guard let entry = try await entry(key) else { return nil }
        return try Self.object(entry)
    }

    /// Reads an object, or gives another one.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: Returned for an absent key and for an explicit nil.
    /// - Returns: The object.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func get<T: NSCoding>(_ key: String, defaultValue: T?) async throws -> T? {
        try await get(key) ?? defaultValue
    }

    // MARK: - Codable values

    /// Stores a `Codable` value.
    ///
    /// - Parameters:
    ///   - value: Stored as JSON, or plain where its type is a plain one.
    ///   - key: Any text; what it held before is replaced, whatever its kind.
    ///   - lifetime: After this time, by the wall clock, the key counts as absent. nil: never.
    /// - Throws: As the synchronous call; `CancellationError`.
    @_disfavoredOverload
    public func put<T: Codable & Sendable>(
        _ value: T, forKey key: String, expiresIn lifetime: Duration? = nil
    ) async throws {
        try await put(Self.entry(encoding: value), forKey: key, lifetime: lifetime)
    }

    /// Reads a value as a `Codable` type.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - type: The type that was put.
    /// - Returns: nil for an absent key and for an explicit nil.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func get<T: Codable & Sendable>(_ key: String, as type: T.Type) async throws -> T? {
        guard let entry = try await entry(key) else { return nil }
        return try Self.decode(entry)
    }

    /// Stores the value of a typed key.
    ///
    /// - Parameters:
    ///   - value: nil removes the key.
    ///   - key: A typed key.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func put<T>(_ value: T?, for key: KeyValueKey<T>) async throws {
        try await perform { try $0.put(value, for: key) }
    }

    /// Reads the value of a typed key.
    ///
    /// - Parameter key: A typed key.
    /// - Returns: nil for an absent key.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func get<T>(_ key: KeyValueKey<T>) async throws -> T? {
        try await get(key.name, as: T.self)
    }

    /// Reads several values, as of one moment.
    ///
    /// - Parameters:
    ///   - keys: Any texts; one that is absent or holds an explicit nil is left out of the result.
    ///   - type: The type of all of them.
    /// - Returns: The values by their keys.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func getAll<T: Codable & Sendable>(
        keys: [String], as type: T.Type
    ) async throws -> [String: T] {
        try await perform { try $0.getAll(keys: keys, as: T.self) }
    }

    /// Replaces a value if it is what the caller believes it to be, in one step.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - expected: nil for an absent key or an explicit nil.
    ///   - new: nil removes the key.
    /// - Returns: Whether the value was `expected` and is `new` now.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func compareAndSet<T: Codable & Sendable & Equatable>(
        _ key: String, expected: T?, new: T?
    ) async throws -> Bool {
        try await perform { try $0.compareAndSet(key, expected: expected, new: new) }
    }

    // MARK: - Keys

    /// Removes a key with its value.
    ///
    /// - Parameter key: Any text.
    /// - Returns: Whether the key was there.
    /// - Throws: As the synchronous call; `CancellationError`.
    @discardableResult
    public func remove(_ key: String) async throws -> Bool {
        try await perform { try $0.remove(key) }
    }

    /// Removes every key of this store; other stores of the file keep theirs.
    ///
    /// - Throws: As the synchronous call; `CancellationError`.
    public func removeAll() async throws {
        try await perform { try $0.removeAll() }
    }

    /// Every key.
    ///
    /// - Returns: The keys, in memory all at once.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func keys() async throws -> Set<String> {
        try await perform { try $0.keys() }
    }

    /// The keys that begin with `prefix`, byte by byte.
    ///
    /// - Parameter prefix: Empty for every key.
    /// - Returns: The keys in the order of their UTF-8 bytes.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func keys(withPrefix prefix: String) async throws -> [String] {
        try await perform { try $0.keys(withPrefix: prefix) }
    }

    /// Whether there is a value, or an explicit nil, under `key`.
    ///
    /// - Parameter key: Any text.
    /// - Returns: false for a value that has expired.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func hasKey(_ key: String) async throws -> Bool {
        try await entry(key) != nil
    }

    /// The number of keys.
    ///
    /// - Returns: Explicit nils count, expired values do not.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func count() async throws -> Int {
        try await perform { try $0.count() }
    }

    // MARK: - Access

    /// Runs a synchronous call of this store in the queue's turn, inside of which it does not wait.
    func perform<T: Sendable>(
        _ body: @escaping @Sendable (SecureKeyValueStore) throws -> T
    ) async throws -> T {
        try await queue.inDatabase { [self] _ in try body(self) }
    }

    func entry(_ key: String) async throws -> KeyValueTable.Entry? {
        try await perform { try $0.entry(key) }
    }

    private func put(
        _ entry: KeyValueTable.Entry, forKey key: String, lifetime: Duration?
    ) async throws {
        try await perform { try $0.put(entry, forKey: key, lifetime: lifetime) }
    }
}
