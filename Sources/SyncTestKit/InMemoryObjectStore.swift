public import Foundation
public import ObjectStores
internal import SecureStoragePlatform

/// Objects in memory, for the tests of an app.
///
/// It keeps all promises of a store except that objects survive the process. Thread-safe.
public final class InMemoryObjectStore: ObjectStore {
    private struct Mark {
        var bytes: Data
        var count: Int
    }

    private let state = Locked((objects: [String: Data](), marks: [String: Mark]()))

    /// Creates an empty store.
    public init() {}

    /// The names of all objects, in the order of their bytes; without marks.
    public var names: [String] { state.withLock { $0.objects.keys.sorted() } }

    /// Creates an object, if nothing has its name.
    ///
    /// - Parameters:
    ///   - name: A name that `ObjectName` allows.
    ///   - bytes: The content.
    /// - Returns: false if the name exists.
    /// - Throws: `StoreError.invalidName`; `CancellationError`.
    public func create(_ name: String, _ bytes: Data) async throws -> Bool {
        try check(name)
        return state.withLock {
            guard $0.objects[name] == nil else { return false }
            $0.objects[name] = bytes
            return true
        }
    }

    /// Returns the content of an object or a mark; nil if the name does not exist.
    ///
    /// - Parameter name: A name that `ObjectName` allows.
    /// - Returns: The whole content.
    /// - Throws: `StoreError.invalidName`; `CancellationError`.
    public func read(_ name: String) async throws -> Data? {
        try check(name)
        return state.withLock { $0.objects[name] ?? $0.marks[name]?.bytes }
    }

    /// Returns the next objects whose names begin with `prefix`, at most 100.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of the names; may be empty.
    ///   - after: Only greater names are returned.
    /// - Returns: The objects in the order of their names' bytes, and whether there are more.
    /// - Throws: `StoreError.invalidName`; `CancellationError`.
    public func list(_ prefix: String, after: String?) async throws -> ObjectPage {
        try Task.checkCancellation()
        try ObjectName.check(prefix: prefix)
        return state.withLock { state in
            let all = state.objects.filter { $0.key.hasPrefix(prefix) && $0.key > after ?? "" }
                .map { StoredObject(name: $0.key, size: $0.value.count) }
                .sorted { $0.name < $1.name }
            return ObjectPage(Array(all.prefix(100)), isTruncated: all.count > 100)
        }
    }

    /// Removes objects; names that do not exist are ignored.
    ///
    /// - Parameter names: Any number of names.
    /// - Throws: `StoreError.invalidName`; `CancellationError`.
    public func remove(_ names: [String]) async throws {
        for name in names { try check(name) }
        state.withLock { for name in names { $0.objects[name] = nil } }
    }

    /// Sets a mark, whether it exists or not.
    ///
    /// - Parameters:
    ///   - name: A name that no object has.
    ///   - bytes: The content.
    /// - Throws: `StoreError.invalidName`; `CancellationError`.
    public func mark(_ name: String, _ bytes: Data) async throws {
        try check(name)
        state.withLock {
            $0.marks[name] = Mark(bytes: bytes, count: ($0.marks[name]?.count ?? 0) + 1)
        }
    }

    /// Waits until a mark is set; it looks every few milliseconds.
    ///
    /// - Parameters:
    ///   - name: The mark's name.
    ///   - tag: What the call before returned; nil for a mark that was not seen.
    ///   - limit: The longest time to wait.
    /// - Returns: Another tag than `tag` if the mark has changed; nil when the time is over.
    /// - Throws: `StoreError.invalidName`; `CancellationError`.
    public func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String? {
        try check(name)
        let end = ContinuousClock.now + limit
        while true {
            let now = state.withLock { $0.marks[name].map { String($0.count) } }
            if let now, now != tag { return now }
            let rest = end - ContinuousClock.now
            guard rest > .zero else { return nil }
            try await Task.sleep(for: min(rest, .milliseconds(5)))
        }
    }

    private func check(_ name: String) throws {
        try Task.checkCancellation()
        try ObjectName.check(name)
    }
}
