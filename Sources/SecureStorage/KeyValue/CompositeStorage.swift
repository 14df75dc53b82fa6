public import Foundation

/// A store that takes values before its persistent store can: in memory first, and moved into the
/// persistent store as soon as that is there.
///
/// For the time before the key is known: write settings at once, and call
/// ``setPersistentStore(_:)`` when the encrypted store is open. Thread-safe, if the persistent
/// store is.
public final class CompositeStorage: DataStoring, @unchecked Sendable {
    // @unchecked: everything below is only touched under `lock`.
    private let lock = NSRecursiveLock()
    private var persistent: (any DataStoring)?
    private var memory: [Data: Data?] = [:]

    /// A store that has no persistent store yet.
    public init() {}

    /// The store in which values end up; nil before ``setPersistentStore(_:)``.
    public var persistentStore: (any DataStoring)? { lock.withLock { persistent } }

    /// Moves what was written and removed so far into `store`, which is used from now on.
    ///
    /// - Parameter store: Open already.
    /// - Throws: What the store throws; what it did not take stays in memory, and nothing is lost.
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

    /// Stores bytes, in memory while there is no persistent store.
    ///
    /// - Parameters:
    ///   - data: Any number of bytes.
    ///   - key: Any text.
    /// - Throws: What the persistent store throws.
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
    /// - Parameter key: Any text.
    /// - Returns: nil for an absent key.
    /// - Throws: What the persistent store throws.
    public func data(for key: String) throws -> Data? {
        try lock.withLock {
            guard let persistent else { return memory[Data(key.utf8)] ?? nil }
            return try persistent.data(for: key)
        }
    }

    /// Removes a key, from the persistent store too once there is one.
    ///
    /// - Parameter key: Any text.
    /// - Throws: What the persistent store throws.
    public func removeData(for key: String) throws {
        try lock.withLock {
            guard let persistent else {
                memory[Data(key.utf8)] = .some(nil)
                return
            }
            try persistent.removeData(for: key)
        }
    }

    /// Every key.
    ///
    /// - Returns: Before ``setPersistentStore(_:)``, those written since.
    /// - Throws: What the persistent store throws.
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
