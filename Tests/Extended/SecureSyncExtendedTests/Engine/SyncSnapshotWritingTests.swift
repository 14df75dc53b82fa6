import Foundation
@testable import ObjectStores
import SecureStorage
import SecureStoragePlatform
import SecureSync
import TestSupport
import Testing

@testable import SyncSimulator
@testable import SecureSyncTests

/// How snapshots come about: while the app writes, while members go, and while the store answers
/// late.
struct SyncSnapshotWritingTests {
    private let objects = SimulatedObjects()

    private func write(_ device: SimulatedDevice, _ number: Int) async throws {
        let name = device.name
        try await device.queue.write { db in
            try db.executeUpdate("REPLACE INTO setting VALUES (?, 0, ?, 0)", name, number)
        }
    }

    /// Writes and syncs until the device has written a snapshot.
    private func untilSnapshot(_ device: SimulatedDevice) async throws {
        for number in 0..<20 {
            try await write(device, number)
            if try await device.engine.syncOnce().hasWrittenSnapshot { return }
        }
        Issue.record("no snapshot")
    }

    private func isManifest(_ name: String) -> Bool { name.contains("/s/") }

    @Test func `an app that writes whenever something is sent has snapshots all the same`()
        async throws
    {
        let device = try await SimulatedDevice.group(["d0"], in: objects)[0]
        let queue = device.queue
        let count = Locked(0)
        device.store.watchCreations(
            .init(after: { name in
                guard name.contains("/d/") else { return }
                let number = count.withLock {
                    $0 += 1; return $0
                }
                try await queue.write { db in
                    try db.executeUpdate("REPLACE INTO setting VALUES ('late', 0, ?, 0)", number)
                }
            }))
        try await untilSnapshot(device)
        let other = try SimulatedDevice("other", objects)
        try await other.engine.join(
            try await device.engine.invite(.once, role: .admin), deviceName: "other",
            localRows: .keep)
        device.store.watchCreations(.init())
        for _ in 0..<2 { for device in [device, other] { try await device.engine.syncOnce() } }
        try check(other.rows(), equals: device.rows())
    }

    @Test func `a device that has adopted a snapshot that no longer counts continues`()
        async throws
    {
        let devices = try await SimulatedDevice.group(["d0", "d1", "d2", "d3"], in: objects)
        let (phone, laptop, ruth) = (devices[0], devices[1], devices[2])
        let member = try await require(
            phone.engine.members().first { $0.name == ruth.name })
        // The removal says which of her snapshots count, and another one comes before it is there.
        let (ruths, queue, laptops) = (ruth.engine, ruth.queue, laptop.engine)
        let hasWritten = Locked(false)
        phone.store.watchCreations(
            .init(before: { name in
                guard name.contains("/m/"), !hasWritten.withLock({ $0 }) else { return }
                hasWritten.withLock { $0 = true }
                var count = 0
                repeat {
                    count += 1
                    let value = count
                    try await queue.write { db in
                        try db.executeUpdate("REPLACE INTO setting VALUES ('d2', 0, ?, 0)", value)
                    }
                } while try await !ruths.syncOnce().hasWrittenSnapshot && count < 20
                check(count < 20)
                try await laptops.syncOnce()
            }))
        try await phone.engine.remove(member)
        check(hasWritten.withLock { $0 })
        let others = [phone, laptop, devices[3]]
        for round in 0..<3 {
            for device in others {
                try await write(device, round)
                try await device.engine.syncOnce()
            }
        }
        for _ in 0..<2 { for device in others { try await device.engine.syncOnce() } }
        for device in others { try check(device.rows(), equals: phone.rows()) }
    }

    @Test func `the rows of a manifest that the store creates late are there`() async throws {
        let phone = try await SimulatedDevice.group(["d0"], in: objects)[0]
        let (objects, isManifest) = (objects, isManifest)
        let late = Locked<(name: String, bytes: Data)?>(nil)
        phone.store.watchCreations(
            .init(
                before: { name in
                    guard isManifest(name), let made = late.withLock({ $0 }) else { return }
                    _ = objects.create(made.name, made.bytes)
                },
                after: { name in
                    guard isManifest(name), late.withLock({ $0 }) == nil,
                        let bytes = objects.read(name)
                    else { return }
                    // It has not arrived yet.
                    objects.set(name, nil)
                    late.withLock { $0 = (name, bytes) }
                    throw StoreError.failed(code: "late", message: "no answer", isTransient: true)
                }))
        await #expect(throws: SyncError.self) { try await untilSnapshot(phone) }
        try await phone.engine.syncOnce()
        let made = try require(late.withLock { $0 })
        check(objects.read(made.name), equals: made.bytes)
        let laptop = try SimulatedDevice("laptop", objects)
        try await laptop.engine.join(
            try await phone.engine.invite(.once, role: .admin), deviceName: "laptop",
            localRows: .keep)
        try await laptop.engine.syncOnce()
        try check(laptop.rows(), equals: phone.rows())
        // What has not come about leaves nothing.
        try await untilSnapshot(phone)
        try await untilSnapshot(phone)
        let names = try await phone.queue.read { db in
            try db.strings("SELECT hex(name) FROM securestorage_sync_draft")
        }
        check(names, equals: [])
    }

    @Test func `a row that grows beyond what one transaction may write is in snapshots`()
        async throws
    {
        let devices = try await SimulatedDevice.group(["d0", "d1"], in: objects)
        for column in ["name", "code"] {
            try await devices[0].queue.write { db in
                try db.executeUpdate("INSERT OR IGNORE INTO parent (id) VALUES ('a')")
                try db.executeUpdate(
                    "UPDATE parent SET \(column) = ? WHERE id = 'a'",
                    String(repeating: "\(column) ", count: 2 << 20))
            }
            try await devices[0].engine.syncOnce()
        }
        try await untilSnapshot(devices[0])
        let tablet = try SimulatedDevice("tablet", objects)
        try await tablet.engine.join(
            try await devices[0].engine.invite(.once, role: .admin), deviceName: "tablet",
            localRows: .discard)
        try await tablet.engine.syncOnce()
        try check(tablet.rows(), equals: devices[0].rows())
    }

    @Test func `a member whose clock is far behind keeps its log while it writes`() async throws {
        let (phone, tablet, laptop) = try await SimulatedDevice.groupWithClockBehind(in: objects)
        let devices = [phone, tablet, laptop]
        for round in 0..<20 {
            for device in devices {
                try await write(device, round)
                let report = try await device.engine.syncOnce()
                check(!report.hasForked && !report.hasLoadedSnapshot || round == 0)
            }
        }
        try check(phone.hasStablePoint())
        try await check(phone.engine.members().count, equals: 3)
    }

    @Test func `what a clock that was ahead has written does not keep a member from being heard`()
        async throws
    {
        let phone = try SimulatedDevice("d0", objects, clockOffset: SimulatedDevice.year)
        try await phone.engine.createGroup(deviceName: "d0")
        let laptop = try SimulatedDevice("d1", objects)
        try await laptop.engine.join(
            try await phone.engine.invite(.once, role: .admin), deviceName: "d1", localRows: .keep)
        try await write(phone, 1)
        for device in [phone, laptop, phone] { try await device.engine.syncOnce() }
        // The same file, with the clock set right.
        let engine = try SyncEngine(
            phone.queue, capture: Capture(SimulatedDevice.tables(.first)), store: phone.store,
            keyStore: phone.keyStore)
        try await check(engine.syncOnce().sentBatches, equals: 1)
        try await check(engine.syncOnce().sentBatches, equals: 0)
    }

    @Test func `a deletion that comes too late is in the conflicts of who made it`() async throws {
        let (phone, tablet, laptop) = try await SimulatedDevice.groupWithClockBehind(in: objects)
        try await phone.queue.write { db in
            try db.executeUpdate("INSERT INTO parent VALUES ('a', 'x', NULL), ('b', 'x', NULL)")
        }
        for _ in 0..<3 {
            for device in [phone, tablet, laptop] {
                try await write(device, 0)
                try await device.engine.syncOnce()
            }
        }
        try await laptop.queue.write { db in
            try db.executeUpdate("DELETE FROM parent WHERE id = 'a'")
        }
        for round in 0..<40 {
            for device in [phone, tablet] {
                try await write(device, round)
                try await device.engine.syncOnce()
            }
        }
        try await check(laptop.engine.syncOnce().hasLoadedSnapshot)
        for device in [phone, laptop] { try await device.engine.syncOnce() }
        try check(laptop.rows(), equals: phone.rows())
        let conflict = try require(laptop.engine.conflicts(in: "parent").first)
        check(conflict.reason, equals: .deletionLost)
        check(conflict.key, equals: [.text("a")])
        check(conflict.values.isEmpty)
    }
}
