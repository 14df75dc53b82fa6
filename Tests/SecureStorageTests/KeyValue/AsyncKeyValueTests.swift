import Foundation
import SecureStorage
import Testing
import TestSupport

struct AsyncKeyValueTests {
    let database: TemporaryDatabase
    let store: SecureKeyValueStore

    init() throws {
        database = try TemporaryDatabase()
        store = SecureKeyValueStore(fullDatabasePath: database.path)
        try store.open(with: TemporaryDatabase.key)
    }

    struct Window: Codable, Equatable, Sendable {
        var width = 800.0
    }

    @Test func `every kind of value round-trips`() async throws {
        try await store.put("text", forKey: "a")
        try await store.put(7, forKey: "b")
        try await store.put(Window(width: 3), forKey: "c")
        try await store.put(NSString(string: "object"), forKey: "d")
        try await store.put(Data([1]), forKey: "e")
        try await store.put(String?.none, forKey: "f")
        try await check(store.get("a"), equals: "text")
        try await check(store.get("b"), equals: Int8(7))
        try await check(store.get("c", as: Window.self), equals: Window(width: 3))
        let object: NSString? = try await store.get("d")
        check(object, equals: "object")
        try await check(store.get("e"), equals: Data([1]))
        try await check(store.get("f", defaultValue: "default"), equals: "default")
        let (f, missing) = (
            try await store.get("f", default: "default"), try await store.get("x", default: 3)
        )
        check(f == "default" && missing + 1 == 4)
        try await check(store.get("a", default: "default"), equals: "text")
        try await check(
            store.getAll(keys: ["c", "x"], as: Window.self), equals: ["c": Window(width: 3)])
        try await check(store.count(), equals: 6)
        try await check(store.hasKey("f"))
        try await check(store.keys(withPrefix: ""), equals: ["a", "b", "c", "d", "e", "f"])
        try await check(store.remove("f"))
        try await check(store.compareAndSet("b", expected: 7, new: 8))
        try await store.putAll(["g": NSNumber(value: 1), "h": nil])
        try await check(store.keys(), equals: ["a", "b", "c", "d", "e", "g", "h"])
        try await store.removeAll()
        try await check(store.count(), equals: 0)
    }

    @Test func `a wrong kind and a closed store are errors`() async throws {
        try await store.put("text", forKey: "a")
        await #expect(throws: SecureStorageError.typeConversionFailed) {
            let _: Int? = try await store.get("a")
        }
        await store.close()
        await check(!store.isOpen())
        await #expect(throws: SecureStorageError.closed) {
            let _: String? = try await store.get("a")
        }
        try await store.open(with: TemporaryDatabase.key)
        let another = Data(repeating: 7, count: 32)
        try await store.changeEncryptionKey(with: another)
        // A cancelled task can close the store too.
        let closing = Task { [store] in
            withUnsafeCurrentTask { $0?.cancel() }
            await store.close()
        }
        await closing.value
        await check(!store.isOpen())
        try await store.open(with: another)
        try await check(store.get("a"), equals: "text")
    }

    @Test func `a cancelled task stores nothing`() async throws {
        let task = Task { [store] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await store.put("text", forKey: "a")
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        try await check(!store.hasKey("a"))
    }
}
