import Foundation
import ObjectStores
import SecureStorage
import SecureStoragePlatform
import SecureSync

/// What a group of many members costs: to join it, to remove one, and to sync when nothing is new.
enum MemberFigures {
    /// Fills a group with codes, for each of which keys are wrapped as for a device.
    static func run(_ count: Int, in folder: URL) async throws {
        let directory = DirectoryObjectStore(directory: folder.appendingPathComponent("store"))
        let store = CountingStore(directory)
        let (_, founder) = try JoinFigures.open("founder", in: folder, store)
        try await founder.createGroup(deviceName: "founder")
        try await store.measure("\(count - 3) codes") {
            for _ in 0..<(count - 3) { _ = try await founder.invite(.recovery, role: .writer) }
        }
        let code = try await founder.invite(.once, role: .writer)
        let (_, joiner) = try JoinFigures.open("joiner", in: folder, store)
        try await store.measure("join") {
            try await joiner.join(code, deviceName: "joiner", localRows: .discard)
            try await joiner.syncOnce()
        }
        try await founder.syncOnce()
        if let gone = try await founder.members().last(where: { $0.kind == .recovery }) {
            try await store.measure("remove") { try await founder.remove(gone) }
        }
        for engine in [founder, joiner, founder, joiner] { try await engine.syncOnce() }
        try await store.measure("idle sync") { try await joiner.syncOnce() }
    }
}

/// Counts the requests to a store.
private final class CountingStore: ObjectStore {
    private let store: any ObjectStore
    private let requests = Locked(0)

    init(_ store: any ObjectStore) { self.store = store }

    /// Prints how long something takes, and the requests that it makes.
    func measure(_ name: String, _ body: () async throws -> Void) async throws {
        requests.withLock { $0 = 0 }
        let start = ContinuousClock.now
        try await body()
        print("\(name): \(ContinuousClock.now - start), \(requests.withLock { $0 }) requests")
    }

    private func count() { requests.withLock { $0 += 1 } }

    func create(_ name: String, _ bytes: Data) async throws -> Bool {
        count()
        return try await store.create(name, bytes)
    }

    func read(_ name: String) async throws -> Data? {
        count()
        return try await store.read(name)
    }

    func list(_ prefix: String, after: String?) async throws -> ObjectPage {
        count()
        return try await store.list(prefix, after: after)
    }

    func remove(_ names: [String]) async throws {
        count()
        try await store.remove(names)
    }

    func mark(_ name: String, _ bytes: Data) async throws {
        count()
        try await store.mark(name, bytes)
    }

    func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String? {
        count()
        return try await store.waitForMark(name, since: tag, atMost: limit)
    }
}
