import Foundation
import SecureStorage
import Testing
import TestSupport

struct KeyValueObservationTests {
    let database: TemporaryDatabase
    let store: SecureKeyValueStore

    init() throws {
        database = try TemporaryDatabase()
        store = try SecureKeyValueStore(databaseStore: database.openStore(), name: "settings")
    }

    private func put(_ value: String, forKey key: String) throws {
        try store.put(value, forKey: key)
    }

    private func remove(_ key: String) throws { try store.remove(key) }

    @Test func `the values of a key arrive when it is put and removed`() async throws {
        var values = store.values(forKey: "theme", as: String.self).makeAsyncIterator()
        try await check(values.next()?.get(), equals: .some(nil))
        try put("dark", forKey: "theme")
        try await check(values.next()?.get(), equals: "dark")
        try put("large", forKey: "size")
        try put("dark", forKey: "theme")
        try remove("theme")
        try await check(values.next()?.get(), equals: .some(nil))
    }

    @Test func `a value of another type is a failure, and the next value arrives`() async throws {
        struct Theme: Codable, Equatable { var isDark: Bool }
        var values = store.values(forKey: "theme", as: Theme.self).makeAsyncIterator()
        try await check(values.next()?.get(), equals: .some(nil))
        try put("dark", forKey: "theme")
        let wrong = await values.next()
        #expect(throws: SecureStorageError.self) { try wrong?.get() }
        try await store.put(Theme(isDark: true), forKey: "theme")
        try await check(values.next()?.get(), equals: Theme(isDark: true))
    }

    @Test func `changes are reported for one key, and only when its value changes`() async throws {
        try put("light", forKey: "theme")
        let (stream, received) = AsyncStream.makeStream(of: KeyValueChange.self)
        let changes = store.changes(forKey: "theme")
        let task = Task { for await change in changes { received.yield(change) } }
        var iterator = stream.makeAsyncIterator()
        // The observation begins a moment later.
        try await Task.sleep(for: .milliseconds(200))
        try put("large", forKey: "size")
        try put("light", forKey: "theme")
        try put("dark", forKey: "theme")
        let first = await iterator.next()
        check(first?.key, equals: "theme")
        check(first?.isPresent, equals: true)
        try remove("theme")
        await check(iterator.next()?.isPresent, equals: false)
        task.cancel()
        await task.value
    }

    @Test func `another store's values arrive`() async throws {
        var values = store.values(forKey: "theme", as: String.self).makeAsyncIterator()
        try await check(values.next()?.get(), equals: .some(nil))
        // After this write the observation has begun.
        try put("medium", forKey: "size")
        let other = try SecureKeyValueStore(databaseStore: database.openStore(), name: "settings")
        try await other.put("dark", forKey: "theme")
        try await check(values.next()?.get(), equals: "dark")
    }
}
