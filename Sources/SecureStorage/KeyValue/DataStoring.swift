public import Foundation
internal import SecureStoragePlatform

/// A store of bytes under string keys: the common protocol of ``SecureKeyValueStore``,
/// ``MemoryDataStorage`` and ``CompositeStorage``.
public protocol DataStoring {
    /// Stores bytes, replacing the key's previous value.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - key: Any string.
    /// - Throws: The errors of the store.
    func put(data: Data, for key: String) throws

    /// Reads bytes.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The bytes; nil for an absent key.
    /// - Throws: The errors of the store.
    func data(for key: String) throws -> Data?

    /// Removes a key; an absent key is not an error.
    ///
    /// - Parameter key: Any string.
    /// - Throws: The errors of the store.
    func removeData(for key: String) throws

    /// Returns every key.
    ///
    /// - Returns: The keys.
    /// - Throws: The errors of the store.
    func keys() throws -> Set<String>
}

extension SecureKeyValueStore: DataStoring {
    /// Stores bytes as a plain value.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - key: Any string.
    /// - Throws: As `put(_:forKey:)`.
    public func put(data: Data, for key: String) throws {
        try put(data, forKey: key)
    }

    /// Reads bytes that were stored as a plain value.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The bytes; nil for an absent key or an explicit nil.
    /// - Throws: As `get(_:)`.
    public func data(for key: String) throws -> Data? {
        try get(key)
    }

    /// Removes a key, whatever the kind of its value.
    ///
    /// - Parameter key: Any string.
    /// - Throws: As `remove(_:)`.
    public func removeData(for key: String) throws {
        try remove(key)
    }
}

/// A store of bytes under string keys, in memory only.
///
/// Thread-safe.
public final class MemoryDataStorage: DataStoring {
    private let values = Locked([Data: Data]())

    /// Creates an empty store.
    public init() {}

    /// Stores bytes.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - key: Any string.
    public func put(data: Data, for key: String) {
        values.withLock { $0[Data(key.utf8)] = data }
    }

    /// Reads bytes.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The bytes; nil for an absent key.
    public func data(for key: String) -> Data? {
        values.withLock { $0[Data(key.utf8)] }
    }

    /// Removes a key.
    ///
    /// - Parameter key: Any string.
    public func removeData(for key: String) {
        values.withLock { $0[Data(key.utf8)] = nil }
    }

    /// Returns every key.
    public func keys() -> Set<String> {
        values.withLock { Set($0.keys.map { String(decoding: $0, as: UTF8.self) }) }
    }
}
