internal import Foundation

/// A key together with the type of its value.
///
/// ```swift
/// extension KeyValueKey where Value == [String] {
///     static var recentFiles: KeyValueKey { KeyValueKey("recent files") }
/// }
/// ```
public struct KeyValueKey<Value: Codable & Sendable>: Sendable {
    /// The key as a string.
    public let name: String

    /// Creates a key.
    ///
    /// - Parameter name: Any string.
    public init(_ name: String) { self.name = name }
}

extension SecureKeyValueStore {
    // MARK: - One value

    /// Stores a `Codable` value.
    ///
    /// A type that is also a plain one, such as `String`, `Int` or `Date`, is stored as a plain
    /// value.
    ///
    /// - Parameters:
    ///   - value: The value, stored as JSON, in which arrays and objects nest at most 63 deep;
    ///     dates in it are seconds since 1970.
    ///   - key: Any string; its previous value is replaced, whatever its kind.
    ///   - lifetime: The time, by the wall clock, after which the key counts as absent; nil: never.
    /// - Throws: `.closed`; `.typeConversionFailed` when the value cannot be encoded or is nested
    ///   deeper; `.backingStoreError`.
    @_disfavoredOverload
    public func put<T: Codable & Sendable>(
        _ value: T, forKey key: String, expiresIn lifetime: Duration? = nil
    ) throws {
        try put(Self.entry(encoding: value), forKey: key, lifetime: lifetime)
    }

    /// Reads a value as a `Codable` type.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - type: The type that was stored.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.closed`; `.typeConversionFailed` when the value is of another kind or shape;
    ///   `.backingStoreError`.
    public func get<T: Codable & Sendable>(_ key: String, as type: T.Type) throws -> T? {
        guard let entry = try entry(key) else { return nil }
        return try Self.decode(entry)
    }

    /// Stores the value of a typed key.
    ///
    /// - Parameters:
    ///   - value: The value; nil removes the key.
    ///   - key: A typed key.
    /// - Throws: As `put(_:forKey:expiresIn:)`.
    public func put<T>(_ value: T?, for key: KeyValueKey<T>) throws {
        guard let value else {
            try remove(key.name)
            return
        }
        try put(Self.entry(encoding: value), forKey: key.name)
    }

    /// Reads the value of a typed key.
    ///
    /// - Parameter key: A typed key.
    /// - Returns: The value; nil for an absent key.
    /// - Throws: As `get(_:as:)`.
    public func get<T>(_ key: KeyValueKey<T>) throws -> T? {
        try get(key.name, as: T.self)
    }

    // MARK: - Several values

    /// Reads several values from one snapshot.
    ///
    /// - Parameters:
    ///   - keys: Any strings; the result omits those that are absent or hold an explicit nil.
    ///   - type: The type of all values.
    /// - Returns: The values by key. A dictionary treats two spellings of one word as one key; use
    ///   `get(_:as:)` for such keys.
    /// - Throws: As `get(_:as:)`.
    public func getAll<T: Codable & Sendable>(
        keys: [String], as type: T.Type
    ) throws -> [String: T] {
        var values: [String: T] = [:]
        guard !keys.isEmpty else { return values }
        // Outside of the snapshot, in which no table could be created.
        try read { _, _ in }
        try database.read { _ in
            for key in keys { values[key] = try get(key, as: type) }
        }
        return values
    }

    /// Atomically replaces a value if it equals the expected one.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - expected: The expected value; nil for an absent key or an explicit nil.
    ///   - new: The new value; nil removes the key.
    /// - Returns: Whether the value was `expected` and is `new` now.
    /// - Throws: As `get(_:as:)` and `put(_:forKey:expiresIn:)`.
    public func compareAndSet<T: Codable & Sendable & Equatable>(
        _ key: String, expected: T?, new: T?
    ) throws -> Bool {
        var isReplaced = false
        try write { db, table in
            let current: T? = try table.entry(key, in: db).flatMap { try Self.decode($0) }
            guard current == expected else { return }
            if let new {
                try table.put(Self.entry(encoding: new), forKey: key, lifetime: nil, in: db)
            } else {
                try table.remove(key, in: db)
            }
            isReplaced = true
        }
        return isReplaced
    }

    // MARK: - Coding

    static func entry<T: Codable>(encoding value: T) throws -> KeyValueTable.Entry {
        if let plain = value as? any SQLiteDatatypeBridgeable { return try entry(plain) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        encoder.dateEncodingStrategy =
            SecureDatabaseStore.DateEncodingStrategy.secondsSince1970.json
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        // In an array, because not every decoder accepts a top-level scalar.
        guard let json = try? StoredJSON.encode([value], with: encoder) else {
            throw SecureStorageError.typeConversionFailed
        }
        return KeyValueTable.Entry(kind: .json, value: .text(String(decoding: json, as: UTF8.self)))
    }

    static func decode<T: Codable>(_ entry: KeyValueTable.Entry) throws -> T? {
        switch (entry.kind, entry.value) {
        case (.null, _), (.plain, .null): return nil
        case (.json, .text(let json)):
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .secondsSince1970
            decoder.nonConformingFloatDecodingStrategy = .convertFromString(
                positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
            guard
                let values = try? StoredJSON.decode(
                    [T].self, from: Data(json.utf8), with: decoder),
                let value = values.first
            else { throw SecureStorageError.typeConversionFailed }
            return value
        case (.plain, _):
            guard let type = T.self as? any SQLiteDatatypeBridgeable.Type,
                let value = type.init(sqliteValue: entry.value) as? T
            else { throw SecureStorageError.typeConversionFailed }
            return value
        default: throw SecureStorageError.typeConversionFailed
        }
    }

    private static func entry(_ plain: any SQLiteDatatypeBridgeable) throws -> KeyValueTable.Entry {
        func open<T: SQLiteDatatypeBridgeable>(_ value: T) throws -> KeyValueTable.Entry {
            try entry(Optional(value))
        }
        return try open(plain)
    }
}
