import Foundation
@testable import ObjectStores
import SecureStorage
import SecureSync
import TestSupport
import Testing

@testable import SyncSimulator
@testable import SecureSyncTests

/// Devices that look at another store than the group's: a share that is not mounted, another path.
struct SyncSplitTests {
    private let objects = SimulatedObjects()

    private func settle(_ devices: [SimulatedDevice]) async throws {
        for _ in 0..<4 { for device in devices { try await device.engine.syncOnce() } }
    }

    private func engine(_ device: SimulatedDevice, in store: any ObjectStore) throws -> SyncEngine {
        try SyncEngine(
            device.queue, tables: SimulatedDevice.tables(.first), store: store,
            keyStore: device.keyStore)
    }

    private func group() async throws -> [SimulatedDevice] {
        let devices = try await SimulatedDevice.group(["a", "b", "c"], in: objects)
        try await settle(devices)
        return devices
    }

    /// Resets the group in a store of the device's own, and continues there.
    private func reset(_ device: SimulatedDevice) async throws -> SimulatedObjects {
        let own = SimulatedObjects()
        let elsewhere = try engine(device, in: SimulatedStore(own))
        try await elsewhere.reset(force: true)
        try await device.write("INSERT INTO parent VALUES ('\(device.name)', 1, NULL)")
        try await elsewhere.syncOnce()
        return own
    }

    private func expectAll(_ devices: [SimulatedDevice]) throws {
        for device in devices {
            let rows = try device.queue.read { try $0.strings("SELECT id FROM parent ORDER BY id") }
            check(rows, equals: ["a", "b", "c"], "\(device.name)")
            try check(device.engine.conflicts(in: "parent").count, equals: 0)
        }
    }

    @Test
    func `a store that shows nothing of the group is not there, and nobody resets it`()
        async throws
    {
        let devices = try await group()
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("store-\(UUID().uuidString)")
        let elsewhere = try engine(devices[0], in: DirectoryObjectStore(directory: folder))
        let calls: [() async throws -> Void] = [
            { _ = try await elsewhere.syncOnce() }, { try await elsewhere.reset() },
            { _ = try await elsewhere.verify() }, { _ = try await elsewhere.invite(.once) },
        ]
        for work in calls {
            let error = await #expect(throws: SyncError.self) { try await work() }
            check(error?.isTransient, equals: true)
            check(error?.description.contains(folder.path), equals: true)
        }
        check(!FileManager.default.fileExists(atPath: folder.path))
        try await devices[0].engine.syncOnce()
    }

    @Test func `devices that were reset apart come together in the group's store`() async throws {
        let devices = try await group()
        for device in devices[..<2] { _ = try await reset(device) }
        try await devices[2].write("INSERT INTO parent VALUES ('c', 1, NULL)")
        try await devices[2].engine.syncOnce()
        for device in devices[..<2] {
            let error = await #expect(throws: SyncError.self) {
                try await device.engine.syncOnce()
            }
            check(error?.isTransient, equals: false)
        }
        try await devices[0].engine.reset()
        try await settle(devices)
        try expectAll(devices)
    }

    @Test func `a reset in one half of a group continues in the half that was first`() async throws
    {
        let devices = try await group()
        let halves = [try await reset(devices[0]), try await reset(devices[1])]
        try await devices[2].write("INSERT INTO parent VALUES ('c', 1, NULL)")
        try await devices[0].engine.reset()
        // The store shows both halves.
        for (name, bytes) in halves[1].all { _ = objects.create(name, bytes) }
        try await settle(devices)
        let apart = try devices.map { device in
            try device.queue.read { try $0.strings("SELECT id FROM parent ORDER BY id") }
        }
        check(apart, equals: [["a", "c"], ["b"], ["a", "c"]])
        try await devices[1].engine.reset()
        try await settle(devices)
        try expectAll(devices)
    }
}
