import Foundation
import SecureMirror
import Synchronization

/// A store that cannot be reached while it is told so, and counts the tries.
final class FailingStore: ObjectStore {
    private let store: any ObjectStore
    private let state = Mutex((isFailing: false, tries: 0))

    init(_ store: any ObjectStore) { self.store = store }

    var isFailing: Bool {
        get { state.withLock { $0.isFailing } }
        set { state.withLock { $0.isFailing = newValue } }
    }

    /// The tries that have failed.
    var tries: Int { state.withLock { $0.tries } }

    private func reach() async throws {
        guard isFailing else { return }
        state.withLock { $0.tries += 1 }
        try await Task.sleep(for: .milliseconds(50))
        throw StoreError.failed(code: "ETEST", message: "out of reach", isTransient: true)
    }

    func create(_ name: String, _ bytes: Data) async throws -> Bool {
        try await reach()
        return try await store.create(name, bytes)
    }

    func read(_ name: String) async throws -> Data? {
        try await reach()
        return try await store.read(name)
    }

    func list(_ prefix: String, after: String?) async throws -> ObjectPage {
        try await reach()
        return try await store.list(prefix, after: after)
    }

    func remove(_ names: [String]) async throws {
        try await reach()
        try await store.remove(names)
    }

    func mark(_ name: String, _ bytes: Data) async throws {
        try await reach()
        try await store.mark(name, bytes)
    }

    func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String? {
        try await reach()
        return try await store.waitForMark(name, since: tag, atMost: limit)
    }
}
