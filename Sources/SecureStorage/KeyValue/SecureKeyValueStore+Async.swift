public import Foundation
internal import SecureStoragePlatform

// Async versions of the same calls. They wait without blocking a thread of the cooperative pool. A
// cancelled task interrupts its own statement and throws `CancellationError`; nothing is stored
// then. The task itself encodes and decodes values, so they need not be Sendable.

extension SecureKeyValueStore {
    // MARK: - Plain values

    /// Stores a plain value.
    ///
    /// - Parameters:
    ///   - value: The value; nil stores an explicit nil.
    ///   - key: Any string; its previous value is replaced, whatever its kind.
    ///   - lifetime: The time, by the wall clock, after which the key counts as absent; nil: never.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func put<T: SQLiteDatatypeBridgeable>(
        _ value: T?, forKey key: String, expiresIn lifetime: Duration? = nil
    ) async throws {
        try await put(Self.entry(value), forKey: key, lifetime: lifetime)
    }

    /// Reads a plain value.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func get<T: SQLiteDatatypeBridgeable>(_ key: String) async throws -> T? {
        guard let entry = try await entry(key) else { return nil }
        return try Self.plain(entry)
    }

    /// Reads a plain value, or returns a default.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return for an absent key or an explicit nil.
    /// - Returns: The value.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func get<T: SQLiteDatatypeBridgeable>(
        _ key: String, defaultValue: T?
    ) async throws -> T? {
        try await get(key) ?? defaultValue
    }

    /// Reads a plain value of the default's type, or returns the default.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - value: The value to return for an absent key or an explicit nil.
    /// - Returns: The value.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func get<T: SQLiteDatatypeBridgeable>(
        _ key: String, default value: T
    ) async throws -> T {
        try await get(key) ?? value
    }

    // MARK: - Objects

    /// Stores an object as a keyed archive.
    ///
    /// - Parameters:
    ///   - value: The value; nil stores an explicit nil.
    ///   - key: Any string; its previous value is replaced, whatever its kind.
    ///   - lifetime: The time, by the wall clock, after which the key counts as absent; nil: never.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func put<T: NSCoding>(
        _ value: T?, forKey key: String, expiresIn lifetime: Duration? = nil
    ) async throws {
        try await put(Self.entry(archiving: value), forKey: key, lifetime: lifetime)
    }

    /// Stores several objects; if one fails, none is stored.
    ///
    /// - Parameter keyValueDict: The objects by key; nil stores an explicit nil.
    /// - Throws: As the synchronous call; `CancellationError`. The store is then unchanged.
    public func putAll(_ keyValueDict: [String: (any NSCoding)?]) async throws {
        let entries = try Self.entries(archiving: keyValueDict)
        try await performWrite { try $0.putAll(entries) }
    }

    /// Reads an object.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func get<T: NSCoding>(_ key: String) async throws -> T? {
        guard let entry = try await archive(key, isSecure: KeyedArchive.isSecure(T.self))
        else { return nil }
        return try Self.object(entry)
    }

    /// Reads an object, or returns a default.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return for an absent key or an explicit nil.
    /// - Returns: The object.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func get<T: NSCoding>(_ key: String, defaultValue: T?) async throws -> T? {
        try await get(key) ?? defaultValue
    }

    // MARK: - Codable values

    /// Stores a `Codable` value.
    ///
    /// - Parameters:
    ///   - value: The value, stored as JSON, or as a plain value if its type is a plain one.
    ///   - key: Any string; its previous value is replaced, whatever its kind.
    ///   - lifetime: The time, by the wall clock, after which the key counts as absent; nil: never.
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
    ///   - key: Any string.
    ///   - type: The type that was stored.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func get<T: Codable & Sendable>(_ key: String, as type: T.Type) async throws -> T? {
        guard let entry = try await entry(key) else { return nil }
        return try Self.decode(entry)
    }

    /// Stores the value of a typed key.
    ///
    /// - Parameters:
    ///   - value: The value; nil removes the key.
    ///   - key: A typed key.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func put<T>(_ value: T?, for key: KeyValueKey<T>) async throws {
        try await performWrite { try $0.put(value, for: key) }
    }

    /// Reads the value of a typed key.
    ///
    /// - Parameter key: A typed key.
    /// - Returns: The value; nil for an absent key.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func get<T>(_ key: KeyValueKey<T>) async throws -> T? {
        try await get(key.name, as: T.self)
    }

    /// Reads several values from one snapshot.
    ///
    /// - Parameters:
    ///   - keys: Any strings; the result omits those that are absent or hold an explicit nil.
    ///   - type: The type of all values.
    /// - Returns: The values by key.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func getAll<T: Codable & Sendable>(
        keys: [String], as type: T.Type
    ) async throws -> [String: T] {
        try await perform(.read) { try $0.getAll(keys: keys, as: T.self) }
    }

    /// Atomically replaces a value if it equals the expected one.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - expected: The expected value; nil for an absent key or an explicit nil.
    ///   - new: The new value; nil removes the key.
    /// - Returns: Whether the value was `expected` and is `new` now.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func compareAndSet<T: Codable & Sendable & Equatable>(
        _ key: String, expected: T?, new: T?
    ) async throws -> Bool {
        try await performWrite { try $0.compareAndSet(key, expected: expected, new: new) }
    }

    // MARK: - Keys

    /// Removes a key and its value.
    ///
    /// - Parameter key: Any string.
    /// - Returns: Whether the key existed.
    /// - Throws: As the synchronous call; `CancellationError`.
    @discardableResult
    public func remove(_ key: String) async throws -> Bool {
        try await performWrite { try $0.remove(key) }
    }

    /// Removes every key of this store; other stores in the file keep theirs.
    ///
    /// - Throws: As the synchronous call; `CancellationError`.
    public func removeAll() async throws {
        try await performWrite { try $0.removeAll() }
    }

    /// Returns every key.
    ///
    /// - Returns: The keys, all loaded into memory.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func keys() async throws -> Set<String> {
        try await perform(.read) { try $0.keys() }
    }

    /// Returns the keys that begin with `prefix`, compared byte by byte.
    ///
    /// - Parameter prefix: The prefix; empty for every key.
    /// - Returns: The keys in the order of their UTF-8 bytes.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func keys(withPrefix prefix: String) async throws -> [String] {
        try await perform(.read) { try $0.keys(withPrefix: prefix) }
    }

    /// Returns whether `key` holds a value or an explicit nil.
    ///
    /// - Parameter key: Any string.
    /// - Returns: Whether it does; false for a value that has expired.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func hasKey(_ key: String) async throws -> Bool {
        try await entry(key) != nil
    }

    /// Returns the number of keys.
    ///
    /// - Returns: The number, including explicit nils but not expired values.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func count() async throws -> Int {
        try await perform(.read) { try $0.count() }
    }

    // MARK: - Access

    /// Runs a synchronous call of this store in the turn of the queue or the pool, where it does
    /// not wait.
    func perform<T: Sendable>(
        _ kind: CallKind, groups: Bool = false,
        _ body: @escaping @Sendable (SecureKeyValueStore) throws -> T
    ) async throws -> T {
        if let queue {
            return try await queue.perform(kind, groups: groups) { [self] _ in try body(self) }
        }
        let point = database.access.point
        if kind == .read, !hasTable.withLock({ $0 }) {
            try? await point.perform(.access, groups: false) { [self] in
                _ = try table(in: $0)
                hasTable.withLock { $0 = true }
            }
        }
        return try await point.perform(kind, groups: groups) { [self] _ in try body(self) }
    }

    /// Runs a synchronous call that writes, as `perform(_:)` does; its commit may wait for the disk
    /// with those of other calls.
    private func performWrite<T: Sendable>(
        _ body: @escaping @Sendable (SecureKeyValueStore) throws -> T
    ) async throws -> T {
        try await perform(.write, groups: true, body)
    }

    func entry(_ key: String) async throws -> KeyValueTable.Entry? {
        try await perform(.read) { try $0.entry(key) }
    }

    private func archive(_ key: String, isSecure: Bool) async throws -> KeyValueTable.Entry? {
        try await perform(.read) { try $0.archive(key, isSecure: isSecure) }
    }

    private func put(
        _ entry: KeyValueTable.Entry, forKey key: String, lifetime: Duration?
    ) async throws {
        try await performWrite { try $0.put(entry, forKey: key, lifetime: lifetime) }
    }
}
