internal import Foundation
internal import ObjectStores
internal import SecureStoragePlatform
internal import SecureSync

/// One device's way to the simulation's store: there is no network, or the process ends.
final class DeviceStore: ObjectStore {
    /// What every call throws after the one at which the process ended.
    struct Killed: Error {}

    private struct State {
        var isOffline = false
        /// The calls until the one at which the process ends, that one included.
        var callsUntilKill: Int?
        var hasEffect = false
        var isKilled = false
    }

    private let store: any ObjectStore
    private let state = Locked(State())

    init(_ store: any ObjectStore) { self.store = store }

    var isOffline: Bool {
        get { state.withLock { $0.isOffline } }
        set { state.withLock { $0.isOffline = newValue } }
    }

    var isKilled: Bool { state.withLock { $0.isKilled } }

    func killAtCall(_ number: Int, hasEffect: Bool) {
        state.withLock { ($0.callsUntilKill, $0.hasEffect) = (max(number, 1), hasEffect) }
    }

    /// The process begins again.
    func revive() { state.withLock { ($0.callsUntilKill, $0.isKilled) = (nil, false) } }

    private func call<T: Sendable>(_ work: () async throws -> T) async throws -> T {
        let (isOffline, isLast, hasEffect) = try state.withLock { state -> (Bool, Bool, Bool) in
            guard !state.isKilled else { throw Killed() }
            if let calls = state.callsUntilKill { state.callsUntilKill = calls - 1 }
            state.isKilled = state.callsUntilKill == 0
            return (state.isOffline, state.isKilled, state.hasEffect)
        }
        if isLast {
            if hasEffect, !isOffline { _ = try await work() }
            throw Killed()
        }
        guard !isOffline else {
            throw StoreError.failed(code: "offline", message: "no network", isTransient: true)
        }
        return try await work()
    }

    func create(_ name: String, _ bytes: Data) async throws -> Bool {
        try await call { try await store.create(name, bytes) }
    }

    func read(_ name: String) async throws -> Data? {
        try await call { try await store.read(name) }
    }

    func list(_ prefix: String, after: String?) async throws -> ObjectPage {
        try await call { try await store.list(prefix, after: after) }
    }

    func remove(_ names: [String]) async throws {
        try await call { try await store.remove(names) }
    }

    func mark(_ name: String, _ bytes: Data) async throws {
        try await call { try await store.mark(name, bytes) }
    }

    func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String? {
        try await call { try await store.waitForMark(name, since: tag, atMost: limit) }
    }
}
