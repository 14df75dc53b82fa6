import Foundation
import SecureStorage
import Testing
import TestSupport

@Suite struct AsyncKeyValueTests {
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
        #expect(try await store.getString("a") == "text")
        #expect(try await store.getInt8("b") == 7)
        #expect(try await store.get("c", as: Window.self) == Window(width: 3))
        let object: NSString? = try await store.get("d")
        #expect(object == "object")
        #expect(try await store.getData("e") == NSData(data: Data([1])))
        #expect(try await store.getString("f", defaultValue: "default") == "default")
        let (f, missing) = (
            try await store.get("f", default: "default"), try await store.get("x", default: 3)
        )
        #expect(f == "default" && missing + 1 == 4)
        #expect(try await store.get("a", default: "default") == "text")
        #expect(
            try await store.getAll(keys: ["c", "x"], as: Window.self) == ["c": Window(width: 3)])
        #expect(try await store.count() == 6)
        #expect(try await store.hasKey("f"))
        #expect(try await store.keys(withPrefix: "") == ["a", "b", "c", "d", "e", "f"])
        #expect(try await store.remove("f"))
        #expect(try await store.compareAndSet("b", expected: 7, new: 8))
        try await store.putAll(["g": NSNumber(value: 1), "h": nil])
        #expect(try await store.keys() == ["a", "b", "c", "d", "e", "g", "h"])
        try await store.removeAll()
        #expect(try await store.count() == 0)
    }

    @Test func `a wrong kind and a closed store are errors`() async throws {
        try await store.put("text", forKey: "a")
        await #expect(throws: SecureStorageError.typeConversionFailed) {
            _ = try await store.getInt("a")
        }
        await store.close()
        #expect(await !store.isOpen())
        await #expect(throws: SecureStorageError.closed) { _ = try await store.getString("a") }
        try await store.open(with: TemporaryDatabase.key)
        try await store.changeEncryptionKey(with: "another key")
        // A cancelled task can close the store too.
        let closing = Task { [store] in
            withUnsafeCurrentTask { $0?.cancel() }
            await store.close()
        }
        await closing.value
        #expect(await !store.isOpen())
        try await store.open(with: "another key")
        #expect(try await store.getString("a") == "text")
    }

    @Test func `a cancelled task stores nothing`() async throws {
        let task = Task { [store] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await store.put("text", forKey: "a")
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await !store.hasKey("a"))
    }
}
