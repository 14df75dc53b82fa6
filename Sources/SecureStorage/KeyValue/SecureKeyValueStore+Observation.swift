/// That the value under a key has become another one.
public struct KeyValueChange: Sendable, Equatable {
    /// The key that is observed.
    public let key: String

    /// Whether there is a value now; nil when that could not be read.
    public let isPresent: Bool?
}

/// The changes of one key, for `for await`.
///
/// Otherwise as ``DatabaseChanges``: also those of other processes, until the task is cancelled;
/// several that come in a short time are one.
public struct KeyValueChanges: AsyncSequence, Sendable {
    /// What a loop gets.
    public typealias Element = KeyValueChange

    fileprivate let key: String
    fileprivate let entries: DatabaseValues<KeyValueTable.Entry?>

    /// Begins to observe.
    ///
    /// - Returns: An iterator that is an observer until its last copy goes.
    public func makeAsyncIterator() -> Iterator {
        Iterator(key: key, entries: entries.makeAsyncIterator())
    }

    /// Waits for the changes of one iteration.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let key: String
        fileprivate var entries: DatabaseValues<KeyValueTable.Entry?>.Iterator
        private var hasBegun = false

        fileprivate init(key: String, entries: DatabaseValues<KeyValueTable.Entry?>.Iterator) {
            self.key = key
            self.entries = entries
        }

        /// The next change of the value, as against the first call.
        ///
        /// - Returns: nil when the task is cancelled, and ever after.
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
    /// When the value under a key becomes another one.
    ///
    /// A value that expires is noticed at the next commit.
    ///
    /// - Parameter key: Any text.
    /// - Returns: A sequence without end; see ``KeyValueChanges``.
    public func changes(forKey key: String) -> KeyValueChanges {
        KeyValueChanges(key: key, entries: entries(forKey: key) { $0 })
    }

    /// The value under a key, now and whenever it has changed.
    ///
    /// A value that expires is noticed at the next commit.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - type: The type that was put.
    /// - Returns: A sequence without end of what `get(_:as:)` returns, nil for an absent key, or
    ///   throws.
    public func values<T: Codable & Equatable & Sendable>(
        forKey key: String, as type: T.Type
    ) -> DatabaseValues<T?> {
        entries(forKey: key) { entry in try entry.flatMap { try Self.decode($0) } }
    }

    private func entries<T: Equatable & Sendable>(
        forKey key: String, _ transform: @escaping @Sendable (KeyValueTable.Entry?) throws -> T
    ) -> DatabaseValues<T> {
        queue.values { [self] db in
            try transform(table(in: db).entry(key, in: db))
        }
    }
}
