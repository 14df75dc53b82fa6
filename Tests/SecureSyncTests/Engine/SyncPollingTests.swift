import Foundation
import ObjectStores
import SecureKeys
import SecureStorage
import SecureStoragePlatform
import SecureSync
import SyncTestKit
import TestSupport
import Testing

/// How often an engine asks its store.
struct SyncPollingTests {
    /// A store that counts calls, and whose waits end at once.
    private final class CountingStore: ObjectStore {
        private let store: InMemoryObjectStore
        private let counts = Locked((lists: 0, waits: 0))

        init(_ store: InMemoryObjectStore) { self.store = store }

        var lists: Int { counts.withLock { $0.lists } }
        var waits: Int { counts.withLock { $0.waits } }

        func create(_ name: String, _ bytes: Data) async throws -> Bool {
            try await store.create(name, bytes)
        }

        func read(_ name: String) async throws -> Data? { try await store.read(name) }

        func list(_ prefix: String, after: String?) async throws -> ObjectPage {
            counts.withLock { $0.lists += 1 }
            return try await store.list(prefix, after: after)
        }

        func remove(_ names: [String]) async throws { try await store.remove(names) }

        func mark(_ name: String, _ bytes: Data) async throws {
            try await store.mark(name, bytes)
        }

        func waitForMark(
            _ name: String, since tag: String?, atMost limit: Duration
        ) async throws -> String? {
            counts.withLock { $0.waits += 1 }
            return try await store.waitForMark(name, since: tag, atMost: .zero)
        }
    }

    private struct Device {
        let file: TemporaryDatabase
        let queue: SecureDatabaseQueue
        let store: CountingStore
        let engine: SyncEngine

        init(_ objects: InMemoryObjectStore) throws {
            file = try TemporaryDatabase()
            queue = SecureDatabaseQueue(url: file.url)
            try queue.open(with: .raw(TemporaryDatabase.key))
            try queue.write {
                try $0.executeStatements("CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, text)")
            }
            var tables = SyncedTables()
            tables.add("note")
            store = CountingStore(objects)
            engine = try SyncEngine(
                queue, tables: tables, store: store, keyStore: InMemoryKeyStore())
        }
    }

    private func group(of count: Int) async throws -> [Device] {
        let objects = InMemoryObjectStore()
        let devices = try (0..<count).map { _ in try Device(objects) }
        try await devices[0].engine.createGroup(deviceName: "0")
        for device in devices.dropFirst() {
            try await device.engine.join(
                devices[0].engine.invite(.once, role: .admin), deviceName: "n", localRows: .discard)
            try await device.engine.syncOnce()
        }
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
        return devices
    }

    @Test func `a sync without news lists each log once`() async throws {
        var lists: [Int: Int] = [:]
        for count in [2, 5] {
            let device = try await group(of: count)[0]
            let before = device.store.lists
            try await device.engine.syncOnce()
            lists[count] = device.store.lists - before
        }
        // Of every other member one; the chain, the snapshots and the own log are looked at twice.
        try check(require(lists[5]) - require(lists[2]), equals: 3)
        try check(require(lists[2]) <= 7, "\(lists)")
    }

    @Test func `an engine that runs asks for nothing but its mark until that is set`() async throws
    {
        let devices = try await group(of: 2)
        let (phone, laptop) = (devices[0], devices[1])
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await phone.engine.run() }
            defer { tasks.cancelAll() }
            // The mark that was set before it began to look is news, and a machine may be slow.
            var isQuiet = false
            for _ in 0..<20 where !isQuiet {
                let (lists, waits) = (phone.store.lists, phone.store.waits)
                while phone.store.waits < waits + 2 {
                    try await Task.sleep(for: .milliseconds(20))
                }
                isQuiet = phone.store.lists == lists && lists > 0
            }
            check(isQuiet)

            try await laptop.queue.write {
                try $0.executeStatements("INSERT INTO note VALUES ('a', 'milk')")
            }
            try await laptop.engine.syncOnce()
            while try await phone.queue.read({ try $0.int(forQuery: "SELECT count(*) FROM note") })
                != 1
            {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}
