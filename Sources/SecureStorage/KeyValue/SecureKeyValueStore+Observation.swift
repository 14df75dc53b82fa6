/// A change of the value under a key.
public struct KeyValueChange: Sendable, Equatable {
    /// The observed key.
    public let key: String

    /// Whether the key exists after the change; nil when that could not be read.
    public let isPresent: Bool?
}

/// An asynchronous sequence of the changes of one key.
///
/// Behaves like ``DatabaseChanges``: it includes changes made by other processes, merges changes
/// that occur in quick succession, and ends when the task is cancelled.
public struct KeyValueChanges: AsyncSequence, Sendable {
    /// The type of the sequence's elements.
    public typealias Element = KeyValueChange

    fileprivate let key: String
    fileprivate let entries: DatabaseValues<KeyValueTable.Entry?>

    /// Starts observing.
    ///
    /// - Returns: An iterator that observes until its last copy is destroyed.
    public func makeAsyncIterator() -> Iterator {
        Iterator(key: key, entries: entries.makeAsyncIterator())
    }

    /// An iterator that waits for the changes of one key.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let key: String
        fileprivate var entries: DatabaseValues<KeyValueTable.Entry?>.Iterator
        private var hasBegun = false

        fileprivate init(key: String, entries: DatabaseValues<KeyValueTable.Entry?>.Iterator) {
            self.key = key
            self.entries = entries
        }

        /// Waits for the next change of the value.
        ///
        /// The first call reads the value that it compares with.
        ///
        /// - Returns: The change; nil when the task is cancelled, and from then on.
        public mutating func next() async -> KeyValueChange? {
            if !hasBegun {
                hasBegun = true
                guard await entries.next() != nil else { return nil }
            }
            guard let entry = await entries.next() else { return nil }
            switch entry {
            case .success(let entry): return KeyValueChange(key: key, isPresent: entry != nil)
            case .failure: return KeyValueChange(key: key, isPresent: nil)
            }
        }
    }
}

extension SecureKeyValueStore {
    /// Returns the changes of the value under a key.
    ///
    /// An expiry is reported at the next commit.
    ///
    /// - Parameter key: Any string.
    /// - Returns: An endless sequence; see ``KeyValueChanges``.
    public func changes(forKey key: String) -> KeyValueChanges {
        KeyValueChanges(key: key, entries: entries(forKey: key) { $0 })
    }

    /// Returns the value under a key, now and after each change.
    ///
    /// An expiry is reported at the next commit.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - type: The type that was stored.
    /// - Returns: An endless sequence of the values that `get(_:as:)` returns, nil for an absent
    ///   key, or the errors that it throws.
    public func values<T: Codable & Equatable & Sendable>(
        forKey key: String, as type: T.Type
    ) -> DatabaseValues<T?> {
        entries(forKey: key) { entry in try entry.flatMap { try Self.decode($0) } }
    }

    private func entries<T: Equatable & Sendable>(
        forKey key: String, _ transform: @escaping @Sendable (KeyValueTable.Entry?) throws -> T
    ) -> DatabaseValues<T> {
        database.values { [self] db in
            try transform(table(in: db).entry(key, in: db))
        }
    }
}
