import Foundation
import SecureStorage
import SecureSync
import TestSupport
import Testing

@testable import SyncSimulator
@testable import SecureSyncTests

/// What `verify()` says of stores that have lost objects or show others.
struct SyncVerifyingTests {
    private let objects = SimulatedObjects()

    private func settle(_ devices: [SimulatedDevice]) async throws {
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
    }

    /// A phone and a laptop, each with two batches, and an old state of the store.
    private func group() async throws -> (devices: [SimulatedDevice], old: [String: Data]) {
        let devices = [
            try SimulatedDevice("phone", objects), try SimulatedDevice("laptop", objects),
        ]
        try await devices[0].write("INSERT INTO parent VALUES ('a', 1, NULL)")
        try await devices[0].engine.createGroup(deviceName: "phone")
        try await devices[1].join(devices[0])
        var old: [String: Data] = [:]
        for name in ["a", "b"] {
            old = objects.all
            for device in devices {
                try await device.write(
                    "INSERT INTO setting VALUES ('\(device.name)', '\(name)', 1, 1)")
            }
            try await settle(devices)
        }
        return (devices, old)
    }

    /// What the store has to have: not the snapshots before the newest one.
    private func needed() throws -> [String] {
        let manifests = objects.names.filter { $0.contains("/s/") }
        let newest = try require(manifests.last)
        return objects.names.filter { !$0.contains("/s/") || $0 == newest }
    }

    @Test func `each object that the store has to have is missed, and each change of one is found`()
        async throws
    {
        let (devices, _) = try await group()
        let all = objects.all
        let needed = try needed()
        check(
            ["/m/", "/d/", "/s/", "/p/"].allSatisfy { part in
                needed.contains { $0.contains(part) }
            })
        for device in devices {
            let sound = try await device.engine.verify()
            check(sound.problems, equals: [])
            check(sound.objectCount, equals: needed.count)
            check(sound.byteCount, equals: needed.reduce(0) { $0 + (all[$1]?.count ?? 0) })
            for name in needed {
                objects.set(name, nil)
                try await check(!device.engine.verify().isSound, "\(device.name) without \(name)")
                var bytes = try require(all[name])
                bytes[bytes.count / 2] ^= 1
                objects.set(name, bytes)
                try await check(!device.engine.verify().isSound, "\(device.name) with \(name)")
                objects.putBack(all)
            }
        }
    }

    @Test func `a store that was put back to an older state is not sound`() async throws {
        let (devices, old) = try await group()
        objects.putBack(old)
        for device in devices {
            let names = try await device.engine.verify().problems.map {
                if case .storeHasForgotten = $0 { return true }
                return false
            }
            check(names.contains(true))
        }
    }

    @Test func `what another member has applied is missed by one that has not`() async throws {
        let (devices, _) = try await group()
        let desk = try SimulatedDevice("desk", objects)
        try await desk.join(devices[0])
        try await settle(devices + [desk])
        let before = Set(objects.names)
        try await devices[0].write("INSERT INTO setting VALUES ('phone', 'c', 1, 1)")
        try await devices[0].engine.syncOnce()
        let batch = try require(Set(objects.names).subtracting(before).first)
        try await devices[1].write("INSERT INTO setting VALUES ('laptop', 'c', 1, 1)")
        for _ in 0..<2 { try await devices[1].engine.syncOnce() }
        try await devices[1].write("INSERT INTO setting VALUES ('laptop', 'd', 1, 1)")
        try await devices[1].engine.syncOnce()
        try await check(desk.engine.verify().problems, equals: [])
        objects.set(batch, nil)
        let problems = try await desk.engine.verify().problems
        guard case .withheld = problems.first, problems.count == 1 else {
            Issue.record("\(problems)")
            return
        }
    }

    @Test func `writes that are sealed and not sent are not missed`() async throws {
        let (devices, _) = try await group()
        devices[0].store.watchCreations(
            .init(before: { name in if name.contains("/d/") { throw SimulatedStore.Killed() } }))
        try await devices[0].write("INSERT INTO setting VALUES ('phone', 'c', 1, 1)")
        await #expect(throws: SimulatedStore.Killed.self) { try await devices[0].engine.syncOnce() }
        try await check(devices[0].engine.verify().problems, equals: [])
    }
}
