import Foundation
import TestSupport
import Testing

@testable import ObjectStores
@testable import SecureMirror
@testable import SecureSync

struct StoreErrorTests {
    private struct FailingStore: ObjectStore {
        let error: StoreError

        func create(_ name: String, _ bytes: Data) throws -> Bool { throw error }
        func read(_ name: String) throws -> Data? { throw error }
        func list(_ prefix: String, after: String?) throws -> ObjectPage { throw error }
        func remove(_ names: [String]) throws { throw error }
        func mark(_ name: String, _ bytes: Data) throws { throw error }
        func waitForMark(
            _ name: String, since tag: String?, atMost limit: Duration
        ) throws -> String? { throw error }
    }

    private static let away = StoreError.failed(
        code: "503", message: "too busy", isTransient: true)

    private static let calls: [@Sendable (any ObjectStore) async throws -> Void] = [
        { _ = try await $0.create("a", Data()) },
        { _ = try await $0.read("a") },
        { _ = try await $0.list("a", after: nil) },
        { _ = try await $0.listAll("a") },
        { try await $0.remove(["a"]) },
        { try await $0.mark("a", Data()) },
        { _ = try await $0.waitForMark("a", since: nil, atMost: .zero) },
        { try await $0.probe(under: "a") },
    ]

    @Test func `what a store throws, in any call, is an error of sync for sync`() async throws {
        let store = SyncError.translating(FailingStore(error: Self.away))
        for call in Self.calls {
            await #expect(throws: SyncError.store(Self.away)) { try await call(store) }
        }
        check(SyncError.store(Self.away).isTransient)
        check("\(SyncError.store(Self.away))", equals: "\(Self.away)")
    }

    @Test func `what a store throws, in any call, is an error of a mirror for a mirror`()
        async throws
    {
        let store = MirrorPlace(
            names: try MirrorNames("notes"), store: FailingStore(error: Self.away)
        ).store
        for call in Self.calls {
            await #expect(throws: MirrorError.store(Self.away)) { try await call(store) }
        }
        check(MirrorError.store(Self.away).isTransient)
    }

    @Test func `an object that is too large is a damaged one, which stops only its log`() {
        let sync = SyncError(.objectTooLarge("a"))
        let mirror = MirrorError(.objectTooLarge("a"))
        check(sync, equals: .damaged("a", "it is larger than an object can be"))
        check(sync.isOfALog)
        check(mirror, equals: .damaged("a", "it is larger than an object can be"))
        check(mirror.isFinding)
    }

    @Test func `each error says what to do where it is met`() {
        check("\(SyncError.damaged("a", "it is cut"))".contains("reset the group"))
        check("\(MirrorError.damaged("a", "it is cut"))".contains("earlier point in time"))
        check("\(SyncError.groupNotFound(in: "the share"))".contains("the share shows nothing"))
        for error in [SyncError.tryAgain("x"), .groupNotFound(in: "x"), .notAddedYet] {
            check(error.isTransient, "\(error)")
        }
        check(!SyncError.lockFailed("x").isTransient)
    }
}
