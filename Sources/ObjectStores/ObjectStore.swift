public import Foundation

/// A place for named objects outside this machine: the interface that sync and the mirror need.
///
/// An object never changes: it is created once, under an unused name, and removed. All content is
/// already ciphertext. Marks are the exception: small, overwritten, and only a hint that there are
/// new objects.
///
/// This package's stores are ``DirectoryObjectStore`` and, in separate products, `S3ObjectStore`
/// and `PostgreSQLObjectStore`. `SyncTestKit` has the checks that an app's own store must pass.
///
/// Thread-safe. A call fails with ``StoreError``, or `CancellationError` when its task is cancelled.
/// A failed or cancelled `create`, `remove` or `mark` may have taken effect. Stores retry
/// repeatable requests automatically, for the time given in their documentation.
public protocol ObjectStore: Sendable {
    /// Creates an object, if its name is unused.
    ///
    /// A store may refuse the name of an object that was removed, as if it existed.
    ///
    /// When the call returns, the object is durable, and every later `read` and `list`, by anyone,
    /// finds it. Of several calls with one name exactly one creates it.
    ///
    /// - Parameters:
    ///   - name: A name that ``ObjectName`` allows.
    ///   - bytes: The content, at most 64 MiB; may be empty.
    /// - Returns: false if the name exists, even with the same bytes: the answer to an earlier
    ///   attempt may have been lost.
    /// - Throws: ``StoreError``; `CancellationError`.
    func create(_ name: String, _ bytes: Data) async throws -> Bool

    /// Returns the content of an object or a mark; nil if the name does not exist.
    ///
    /// - Parameter name: A name that ``ObjectName`` allows.
    /// - Returns: The whole content.
    /// - Throws: ``StoreError``; `CancellationError`.
    func read(_ name: String) async throws -> Data?

    /// Returns the next objects whose names begin with `prefix`, in the order of the names' bytes.
    ///
    /// Marks may be among them. Objects created or removed meanwhile may or may not be included.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of the names; need not end at a `/`, may be empty.
    ///   - after: Only greater names are returned; the last name of the previous page, or nil.
    /// - Returns: One page of objects, with as many as the store returns at a time.
    /// - Throws: ``StoreError``; `CancellationError`.
    func list(_ prefix: String, after: String?) async throws -> ObjectPage

    /// Removes objects; names that do not exist are ignored.
    ///
    /// - Parameter names: Any number of names.
    /// - Throws: ``StoreError``; `CancellationError`.
    func remove(_ names: [String]) async throws

    /// Sets a mark, whether it exists or not.
    ///
    /// - Parameters:
    ///   - name: A name that no object has.
    ///   - bytes: At most 1 KiB.
    /// - Throws: ``StoreError``; `CancellationError`.
    func mark(_ name: String, _ bytes: Data) async throws

    /// Waits until a mark is set.
    ///
    /// May return too early, and miss a mark that was set twice.
    ///
    /// - Parameters:
    ///   - name: The mark's name.
    ///   - tag: The result of the previous call; nil for a mark not seen yet.
    ///   - limit: The longest time to wait.
    /// - Returns: A different tag if the mark has changed; nil after the time limit.
    /// - Throws: ``StoreError``; `CancellationError`.
    func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String?

    /// Checks the store's main guarantee: that a second `create` of a name fails.
    ///
    /// Some engines ignore the condition, and would let two machines overwrite each other's
    /// objects. Call it once for a store that is new to an app; the mirror does so automatically.
    ///
    /// - Parameter prefix: Where a small object is created and removed.
    /// - Throws: ``StoreError/cannotCreateOnly(_:)``; the errors of the store.
    func probe(under prefix: String) async throws
}

/// An object in a list.
public struct StoredObject: Sendable, Hashable {
    /// Its name.
    public var name: String
    /// Its size in bytes.
    public var size: Int

    /// Creates an entry.
    ///
    /// - Parameters:
    ///   - name: The object's name.
    ///   - size: Its size in bytes.
    public init(name: String, size: Int) {
        self.name = name
        self.size = size
    }
}

/// A page of a list.
public struct ObjectPage: Sendable, Hashable {
    /// The objects, in the order of the names' bytes; none only if there are no more.
    public var objects: [StoredObject]
    /// Whether to ask for another page, which may be empty.
    public var isTruncated: Bool

    /// Creates a page.
    ///
    /// - Parameters:
    ///   - objects: The objects, in the order of the names' bytes.
    ///   - isTruncated: Whether more may follow.
    public init(_ objects: [StoredObject], isTruncated: Bool) {
        self.objects = objects
        self.isTruncated = isTruncated && !objects.isEmpty
    }
}

extension ObjectStore {
    /// Returns all objects whose names begin with `prefix`, in the order of the names' bytes.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of the names.
    ///   - after: Only greater names are returned.
    /// - Returns: The objects.
    /// - Throws: As ``list(_:after:)``.
    public func listAll(_ prefix: String, after: String? = nil) async throws -> [StoredObject] {
        var all: [StoredObject] = []
        while true {
            let page = try await list(prefix, after: all.last?.name ?? after)
            all += page.objects
            guard page.isTruncated else { return all }
        }
    }

    /// Creates an object twice, reads it, lists it, and removes it.
    public func probe(under prefix: String) async throws {
        let name = "\(prefix)probe-\(UUID().uuidString.lowercased())"
        // false if the answer to a first try was lost.
        _ = try await create(name, Data("1".utf8))
        let isNewAgain = try await create(name, Data("2".utf8))
        let content = try await read(name)
        let listed = try await list(name, after: nil).objects
        try await remove([name])
        guard !isNewAgain, content == Data("1".utf8), listed.map(\.name) == [name] else {
            throw StoreError.cannotCreateOnly(
                isNewAgain || content == Data("2".utf8)
                    ? "it overwrites an object that exists"
                    : "an object that was just created is not found as it was created")
        }
    }
}
