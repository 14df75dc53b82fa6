package import Foundation
package import ObjectStores

/// A store that tells a test of its calls, which may fail them.
package struct HookedStore: ObjectStore {
    /// A moment of a call.
    package enum Step: Sendable { case list, create, created }

    private let store: any ObjectStore
    private let hook: @Sendable (Step, String) async throws -> Void

    package init(
        _ store: any ObjectStore,
        _ hook: @escaping @Sendable (Step, String) async throws -> Void
    ) {
        self.store = store
        self.hook = hook
    }

    package func create(_ name: String, _ bytes: Data) async throws -> Bool {
        try await hook(.create, name)
        let isNew = try await store.create(name, bytes)
        try await hook(.created, name)
        return isNew
    }

    package func read(_ name: String) async throws -> Data? { try await store.read(name) }

    package func list(_ prefix: String, after: String?) async throws -> ObjectPage {
        try await hook(.list, prefix)
        return try await store.list(prefix, after: after)
    }

    package func remove(_ names: [String]) async throws { try await store.remove(names) }

    package func mark(_ name: String, _ bytes: Data) async throws {
        try await store.mark(name, bytes)
    }

    package func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String? {
        try await store.waitForMark(name, since: tag, atMost: limit)
    }
}

/// A store whose every `create` is repeated after a lost answer.
package struct ForgetfulStore: ObjectStore {
    private let store: any ObjectStore

    package init(store: any ObjectStore) { self.store = store }

    package func create(_ name: String, _ bytes: Data) async throws -> Bool {
        _ = try await store.create(name, bytes)
        return try await store.create(name, bytes)
    }

    package func read(_ name: String) async throws -> Data? { try await store.read(name) }

    package func list(_ prefix: String, after: String?) async throws -> ObjectPage {
        try await store.list(prefix, after: after)
    }

    package func remove(_ names: [String]) async throws { try await store.remove(names) }

    package func mark(_ name: String, _ bytes: Data) async throws {
        try await store.mark(name, bytes)
    }

    package func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String? {
        try await store.waitForMark(name, since: tag, atMost: limit)
    }
}
