import Foundation
import SecureStorage
import Testing
import TestSupport

struct DataStoringTests {
    struct Failure: Error {}

    /// A store that refuses one key.
    struct Picky: DataStoring {
        let inner = MemoryDataStorage()
        func put(data: Data, for key: String) throws {
            if key == "refused" { throw Failure() }
            inner.put(data: data, for: key)
        }
        func data(for key: String) throws -> Data? { inner.data(for: key) }
        func removeData(for key: String) throws { inner.removeData(for: key) }
        func keys() throws -> Set<String> { inner.keys() }
    }

    private func exercise(_ store: any DataStoring) throws {
        try check(store.data(for: "k") == nil)
        try store.put(data: Data([1]), for: "k")
        try store.put(data: Data([2]), for: "k")
        try store.put(data: Data(), for: "empty")
        try check(store.data(for: "k"), equals: Data([2]))
        try check(store.data(for: "empty"), equals: Data())
        try check(store.keys(), equals: ["k", "empty"])
        try store.removeData(for: "k")
        try store.removeData(for: "k")
        try check(store.keys(), equals: ["empty"])
    }

    @Test func `all three stores of bytes behave alike`() throws {
        let database = try TemporaryDatabase()
        let secure = SecureKeyValueStore(fullDatabasePath: database.path)
        try secure.open(with: TemporaryDatabase.key)
        try exercise(secure)
        try exercise(MemoryDataStorage())
        try exercise(CompositeStorage())
        let composite = CompositeStorage()
        try composite.setPersistentStore(MemoryDataStorage())
        try exercise(composite)
    }

    @Test func `data written before the persistent store is set moves into it`() throws {
        let persistent = MemoryDataStorage()
        persistent.put(data: Data([9]), for: "old")
        persistent.put(data: Data([9]), for: "kept")
        let composite = CompositeStorage()
        try composite.put(data: Data([1]), for: "new")
        try composite.removeData(for: "old")
        check(composite.persistentStore == nil)
        try composite.setPersistentStore(persistent)
        check(composite.persistentStore != nil)
        check(persistent.keys(), equals: ["new", "kept"])
        try composite.put(data: Data([2]), for: "later")
        check(persistent.data(for: "later"), equals: Data([2]))
        try check(composite.data(for: "kept"), equals: Data([9]))
    }

    @Test func `data that a persistent store refuses stays in memory`() throws {
        let composite = CompositeStorage()
        try composite.put(data: Data([1]), for: "refused")
        try composite.put(data: Data([2]), for: "taken")
        #expect(throws: Failure.self) { try composite.setPersistentStore(Picky()) }
        check(composite.persistentStore == nil)
        try check(composite.data(for: "refused"), equals: Data([1]))
        let memory = MemoryDataStorage()
        try composite.setPersistentStore(memory)
        check(memory.data(for: "refused"), equals: Data([1]))
    }

    @Test func `CodableStorage stores and reads Codable values`() throws {
        let storage = CodableStorage(store: MemoryDataStorage())
        try storage.put(["a": [1.5, 2]], for: "k")
        try storage.put(7, for: "number")
        try check(storage.get([String: [Double]].self, for: "k"), equals: ["a": [1.5, 2]])
        try check(storage.get(Int.self, for: "number"), equals: 7)
        try check(storage.get(Int.self, for: "absent") == nil)
        #expect(throws: (any Error).self) { try storage.get(String.self, for: "number") }
        try storage.remove(for: "k")
        try check(storage.get([String: [Double]].self, for: "k") == nil)
    }

    /// A tree that is as deep as its property list.
    private struct Tree: Codable {
        var branches: [Tree] = []

        init(depth: Int) { branches = depth > 0 ? [Tree(depth: depth - 1)] : [] }

        init(from decoder: any Decoder) throws {
            var elements = try decoder.unkeyedContainer()
            while !elements.isAtEnd { branches.append(try elements.decode(Tree.self)) }
        }

        func encode(to encoder: any Encoder) throws {
            var elements = encoder.unkeyedContainer()
            for branch in branches { try elements.encode(branch) }
        }
    }

    @Test func `a property list that contains itself is an error`() {
        let storage = MemoryDataStorage()
        // Object 0 is an array of object 0; the offset table and the trailer follow.
        let list = Data("bplist00".utf8) + [0xa1, 0, 8] + [0, 0, 0, 0, 0, 0, 1, 1]
        let numbers = [1, 0, 10].map { withUnsafeBytes(of: UInt64($0).bigEndian) { Data($0) } }
        storage.put(data: numbers.reduce(list, +), for: "k")
        #expect(throws: SecureStorageError.typeConversionFailed) {
            try CodableStorage(store: storage).get(Tree.self, for: "k")
        }
    }

    @Test func `a property list that is nested far too deeply is an error`() {
        let depth = 100_000
        let storage = MemoryDataStorage()
        let arrays = ["<array>", "</array>"].map { String(repeating: $0, count: depth) }
        storage.put(data: Data("<plist>\(arrays.joined())</plist>".utf8), for: "k")
        #expect(throws: SecureStorageError.typeConversionFailed) {
            try CodableStorage(store: storage).get(Tree.self, for: "k")
        }
    }

    @Test func `a value nested too deeply to be read is not stored`() throws {
        let storage = CodableStorage(store: MemoryDataStorage())
        try storage.put(Tree(depth: 63), for: "k")
        try check(storage.get(Tree.self, for: "k") != nil)
        #expect(throws: SecureStorageError.typeConversionFailed) {
            try storage.put(Tree(depth: 64), for: "k")
        }
    }
}
