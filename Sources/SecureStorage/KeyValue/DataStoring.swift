public import Foundation

/// A store of bytes under string keys: the common ground of ``SecureKeyValueStore``,
/// ``MemoryDataStorage`` and ``CompositeStorage``.
public protocol DataStoring {
    /// Stores bytes and replaces what the key held.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - key: Any text.
    /// - Throws: What the store throws when it cannot.
    func put(data: Data, for key: String) throws

    /// Reads bytes.
    ///
    /// - Parameter key: Any text.
    /// - Returns: nil for an absent key.
    /// - Throws: What the store throws when it cannot.
    func data(for key: String) throws -> Data?

    /// Removes a key; an absent one is no error.
    ///
    /// - Parameter key: Any text.
    /// - Throws: What the store throws when it cannot.
    func removeData(for key: String) throws

    /// Every key.
    ///
    /// - Returns: The keys.
    /// - Throws: What the store throws when it cannot.
    func keys() throws -> Set<String>
}

extension SecureKeyValueStore: DataStoring {
    /// Stores bytes as a plain value.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - key: Any text.
    /// - Throws: As `put(_:forKey:)`.
    public func put(data: Data, for key: String) throws {
        try put(data, forKey: key)
    }

    /// Reads bytes that were put as a plain value.
    ///
    /// - Parameter key: Any text.
    /// - Returns: nil for an absent key and for an explicit nil.
    /// - Throws: As `get(_:)`.
    public func data(for key: String) throws -> Data? {
        try get(key)
    }

    /// Removes a key, whatever its value's kind.
    ///
    /// - Parameter key: Any text.
    /// - Throws: As `remove(_:)`.
    public func removeData(for key: String) throws {
        try remove(key)
    }
}

/// Bytes under string keys, in memory only.
///
/// Thread-safe.
public final class MemoryDataStorage: DataStoring, @unchecked Sendable {
    // @unchecked: `values` is only touched under `lock`.
    private let lock = NSLock()
    private var values: [Data: Data] = [:]

    /// An empty store.
    public init() {}

    /// Stores bytes.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - key: Any text.
    public func put(data: Data, for key: String) {
        lock.withLock { values[Data(key.utf8)] = data }
    }

    /// Reads bytes.
    ///
    /// - Parameter key: Any text.
    /// - Returns: nil for an absent key.
    public func data(for key: String) -> Data? {
        lock.withLock { values[Data(key.utf8)] }
    }

    /// Removes a key.
    ///
    /// - Parameter key: Any text.
    public func removeData(for key: String) {
        lock.withLock { values[Data(key.utf8)] = nil }
    }

    /// Every key.
    public func keys() -> Set<String> {
        lock.withLock { Set(values.keys.map { String(decoding: $0, as: UTF8.self) }) }
    }
}
