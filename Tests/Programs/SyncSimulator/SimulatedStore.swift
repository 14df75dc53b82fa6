import Foundation
import ObjectStores
import SecureStoragePlatform
import SecureSync
import TestSupport

/// The objects of a simulation: a store that keeps its promises, and fails as stores do.
final class SimulatedObjects: Sendable {
    private let state: Locked<(objects: [String: Data], marks: [String: (Data, Int)])>
    private let created = Locked([String]())

    init(_ objects: [String: Data] = [:]) { state = Locked((objects, [:])) }

    /// The names in the order in which they were created; also of objects that are gone.
    var history: [String] { created.withLock { $0 } }

    /// Puts the store back to what it had.
    func putBack(_ objects: [String: Data]) { state.withLock { $0.objects = objects } }

    var names: [String] { state.withLock { $0.objects.keys.sorted() } }
    var all: [String: Data] { state.withLock { $0.objects } }

    func create(_ name: String, _ bytes: Data) -> Bool {
        let isNew = state.withLock {
            guard $0.objects[name] == nil else { return false }
            $0.objects[name] = bytes
            return true
        }
        if isNew { created.withLock { $0.append(name) } }
        return isNew
    }

    func read(_ name: String) -> Data? { state.withLock { $0.objects[name] } }
    func set(_ name: String, _ bytes: Data?) { state.withLock { $0.objects[name] = bytes } }
    func replaceAll(_ objects: [String: Data]) { state.withLock { $0.objects = objects } }

    func mark(_ name: String, _ bytes: Data) {
        state.withLock { $0.marks[name] = (bytes, ($0.marks[name]?.1 ?? 0) + 1) }
    }

    func tag(_ name: String) -> String? {
        state.withLock { $0.marks[name].map { String($0.1) } }
    }
}

/// One device's way to the objects: with faults that a seed chooses.
final class SimulatedStore: ObjectStore {
    /// The device's process ends at this call; what the call did may have taken effect.
    struct Killed: Error {}

    /// The group's, also while they are not shown.
    let all: SimulatedObjects
    private let nothing = SimulatedObjects()
    private let faults = Locked(Faults())
    private let lies = Locked([String: Data?]())
    private let watcher = Locked<Watcher?>(nil)

    struct Faults {
        var random = SplitMix64(seed: 0)
        /// Of 100 calls, that many are a failure of the network, before or after they took effect.
        var failures: UInt64 = 0
        /// The process ends after that many calls.
        var callsUntilKill: Int?
        var isOffline = false
        /// Another place is shown, in which there is nothing: the share is not mounted.
        var isVanished = false
    }

    init(_ objects: SimulatedObjects) { all = objects }

    /// What the device reaches now.
    var objects: SimulatedObjects { faults.withLock { $0.isVanished } ? nothing : all }

    func setFaults(_ change: (inout Faults) -> Void) { faults.withLock { change(&$0) } }

    /// Shows this device other bytes under some names, or none; what is there stays there.
    func show(_ objects: [String: Data?]) { lies.withLock { $0 = objects } }

    /// What runs before and after each creation of an object.
    struct Watcher: Sendable {
        typealias Body = @Sendable (_ name: String) async throws -> Void
        var before: Body = { _ in }
        var after: Body = { _ in }
    }

    func watchCreations(_ new: Watcher) { watcher.withLock { $0 = new } }

    private func shown(_ name: String) -> Data? {
        lies.withLock { $0[name] } ?? objects.read(name)
    }

    private var shown: [String: Data] {
        objects.all.merging(lies.withLock { $0 }.compactMapValues { $0 }) { $1 }
            .filter { shown($0.key) != nil }
    }

    private static let failure = StoreError.failed(
        code: "lost", message: "no answer", isTransient: true)

    private func call<T>(_ work: () -> T) throws -> T {
        let (before, after, kill) = faults.withLock { faults -> (Bool, Bool, Int?) in
            var kill: Int?
            if let calls = faults.callsUntilKill {
                faults.callsUntilKill = calls > 0 ? calls - 1 : nil
                if calls == 0 { kill = Int(faults.random.next() % 2) }
            }
            let before = faults.random.next() % 100 < faults.failures
            let after = faults.random.next() % 100 < faults.failures
            return (before || faults.isOffline, after, kill)
        }
        if kill == 0 { throw Killed() }
        if before { throw Self.failure }
        let result = work()
        if kill == 1 { throw Killed() }
        if after { throw Self.failure }
        return result
    }

    func create(_ name: String, _ bytes: Data) async throws -> Bool {
        let watcher = watcher.withLock { $0 }
        try await watcher?.before(name)
        let isNew = try call { objects.create(name, bytes) }
        try await watcher?.after(name)
        return isNew
    }

    func read(_ name: String) async throws -> Data? { try call { shown(name) } }

    func list(_ prefix: String, after: String?) async throws -> ObjectPage {
        try call {
            let all = shown.filter { $0.key.hasPrefix(prefix) && $0.key > after ?? "" }
                .map { StoredObject(name: $0.key, size: $0.value.count) }
                .sorted { $0.name < $1.name }
            return ObjectPage(Array(all.prefix(7)), isTruncated: all.count > 7)
        }
    }

    func remove(_ names: [String]) async throws {
        try call { for name in names { objects.set(name, nil) } }
    }

    func mark(_ name: String, _ bytes: Data) async throws { try call { objects.mark(name, bytes) } }

    func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String? {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            if let now = objects.tag(name), now != tag { return now }
            try await Task.sleep(for: .milliseconds(10))
        }
        return nil
    }
}
