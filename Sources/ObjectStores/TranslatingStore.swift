package import Foundation

/// A store that throws the errors of the module that uses it: callers of sync or of a mirror catch
/// one type.
package struct TranslatingStore: ObjectStore, PlacedStore {
    private let store: any ObjectStore
    private let translate: @Sendable (StoreError) -> any Error

    package init(
        _ store: any ObjectStore, _ translate: @escaping @Sendable (StoreError) -> any Error
    ) {
        self.store = store
        self.translate = translate
    }

    package var place: String { (store as? any PlacedStore)?.place ?? "the store" }

    package func create(_ name: String, _ bytes: Data) async throws -> Bool {
        try await translating { try await store.create(name, bytes) }
    }

    package func read(_ name: String) async throws -> Data? {
        try await translating { try await store.read(name) }
    }

    package func list(_ prefix: String, after: String?) async throws -> ObjectPage {
        try await translating { try await store.list(prefix, after: after) }
    }

    package func remove(_ names: [String]) async throws {
        try await translating { try await store.remove(names) }
    }

    package func mark(_ name: String, _ bytes: Data) async throws {
        try await translating { try await store.mark(name, bytes) }
    }

    package func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String? {
        try await translating { try await store.waitForMark(name, since: tag, atMost: limit) }
    }

    package func probe(under prefix: String) async throws {
        try await translating { try await store.probe(under: prefix) }
    }

    private func translating<T: Sendable>(_ call: () async throws -> T) async throws -> T {
        do {
            return try await call()
        } catch let error as StoreError {
            throw translate(error)
        }
    }
}
