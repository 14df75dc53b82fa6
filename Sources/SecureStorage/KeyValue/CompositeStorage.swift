public import Foundation

/// A store that keeps values in memory until it has a persistent store, and then moves them there.
///
/// Use it while the encryption key is not yet known: write settings immediately, and call
/// ``setPersistentStore(_:)`` when the encrypted store is open. Thread-safe if the persistent store
/// is.
public final class CompositeStorage: DataStoring, @unchecked Sendable {
    // @unchecked: all properties below are only accessed under `lock`.
    private let lock = NSRecursiveLock()
    private var persistent: (any DataStoring)?
    private var memory: [Data: Data?] = [:]

    /// Creates a store without a persistent store.
    public init() {}

    /// The persistent store; nil before ``setPersistentStore(_:)``.
    public var persistentStore: (any DataStoring)? { lock.withLock { persistent } }

    /// Applies all earlier writes and removals to `store`, and uses it from now on.
    ///
    /// - Parameter store: A store that is open.
    /// - Throws: The errors of the store. Values it did not accept stay in memory; nothing is lost.
    public func setPersistentStore(_ store: any DataStoring) throws {
        try lock.withLock {
            for (key, data) in memory {
                let name = String(decoding: key, as: UTF8.self)
                if let data {
                    try store.put(data: data, for: name)
                } else {
                    try store.removeData(for: name)
                }
                memory[key] = nil
            }
            persistent = store
        }
    }

    /// Stores bytes, in memory as long as no persistent store is set.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - key: Any string.
    /// - Throws: The errors of the persistent store.
    public func put(data: Data, for key: String) throws {
        try lock.withLock {
            guard let persistent else {
                memory[Data(key.utf8)] = .some(data)
                return
            }
            try persistent.put(data: data, for: key)
        }
    }

    /// Reads bytes.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The bytes; nil for an absent key.
    /// - Throws: The errors of the persistent store.
    public func data(for key: String) throws -> Data? {
        try lock.withLock {
            guard let persistent else { return memory[Data(key.utf8)] ?? nil }
            return try persistent.data(for: key)
        }
    }

    /// Removes a key, also from a persistent store that is set later.
    ///
    /// - Parameter key: Any string.
    /// - Throws: The errors of the persistent store.
    public func removeData(for key: String) throws {
        try lock.withLock {
            guard let persistent else {
                memory[Data(key.utf8)] = .some(nil)
                return
            }
            try persistent.removeData(for: key)
        }
    }

    /// Returns every key.
    ///
    /// - Returns: The keys; before ``setPersistentStore(_:)``, those in memory.
    /// - Throws: The errors of the persistent store.
    public func keys() throws -> Set<String> {
        try lock.withLock {
            guard let persistent else {
                return Set(
                    memory.filter { $0.value != nil }.keys.map {
                        String(decoding: $0, as: UTF8.self)
                    })
            }
            return try persistent.keys()
        }
    }
}
