import Foundation
import SecureStorage
import SecureStoragePlatform
import SecureSync
import TestSupport
import Testing

@testable import SyncSimulator

/// Snapshots in a group, and files that return or are copied after batches are gone: its devices
/// write one after five batches, and remove what it replaces.
struct SyncSnapshotTests {
    private let objects = SimulatedObjects()

    @Test func `a device that was away while batches went loads the snapshot and keeps its edits`()
        async throws
    {
        let devices = try await SimulatedDevice.group(["d0", "d1"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        try await phone.write("INSERT INTO parent VALUES ('a', 'x', NULL), ('b', 'x', NULL)")
        try await phone.engine.syncOnce()
        try await laptop.engine.syncOnce()

        try await laptop.write("UPDATE parent SET name = 'away' WHERE id = 'a'")
        try await laptop.write("INSERT INTO parent VALUES ('c', 'new', NULL)")
        try await phone.write("UPDATE parent SET code = 'meanwhile' WHERE id = 'a'")
        try await phone.write("DELETE FROM parent WHERE id = 'b'")
        try await SimulatedDevice.writeSnapshots(phone)

        let report = try await laptop.engine.syncOnce()
        check(report.hasLoadedSnapshot)
        check(!report.hasForked)
        // Before it was known that a snapshot is needed.
        check(report.sentBatches, equals: 1)
        try await phone.engine.syncOnce()
        try check(laptop.rows(), equals: phone.rows())
        let names = try await phone.queue.read { db in
            try db.strings("SELECT id || ' ' || name || ' ' || ifnull(code, '-') FROM parent")
        }
        check(Set(names), equals: ["a away meanwhile", "c new -"])
    }

    @Test func `what a device edited while others deleted the row is in its conflicts`()
        async throws
    {
        let devices = try await SimulatedDevice.group(["d0", "d1"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        try await phone.write("INSERT INTO parent VALUES ('a', 'x', NULL)")
        try await phone.engine.syncOnce()
        try await laptop.engine.syncOnce()
        try await laptop.write("UPDATE parent SET name = 'away' WHERE id = 'a'")
        try await phone.write("DELETE FROM parent WHERE id = 'a'")
        try await SimulatedDevice.writeSnapshots(phone)
        try await laptop.engine.syncOnce()
        let conflict = try require(laptop.engine.conflicts(in: "parent").first)
        check(conflict.reason, equals: .deleted)
        check(conflict.values["name"], equals: .text("away"))
        try check(laptop.rows(), equals: phone.rows())
    }

    @Test func `clocks are forgotten when all have applied what they are of`() async throws {
        let devices = try await SimulatedDevice.group(["d0", "d1", "d2"], in: objects)
        try await devices[1].write("INSERT INTO parent VALUES ('a', 'x', NULL), ('b', 1, NULL)")
        try await devices[1].write("DELETE FROM parent WHERE id = 'b'")
        try await SimulatedDevice.writeSnapshots(devices[0], devices[1], devices[2])
        for device in devices { try await device.engine.syncOnce() }
        for device in devices {
            try check(device.hasStablePoint())
            let clocks = try await device.queue.read { db in
                let number = try db.int(
                    forQuery: "SELECT number FROM securestorage_sync_table WHERE name = 'parent'")
                return try ["row", "recent"].map {
                    try db.int(
                        forQuery: "SELECT count(*) FROM securestorage_sync_\($0)_\(number ?? 0)")
                }
            }
            check(clocks, equals: [0, 0])
        }
    }

    @Test
    func `a file that is copied and joins late in its incarnation continues as another member`()
        async throws
    {
        let devices = try await SimulatedDevice.group(["d0", "d1"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        let copy = try SimulatedDevice(copyOf: laptop, "d2")
        try await copy.write("INSERT INTO parent VALUES ('copy', 1, NULL)")
        try await laptop.write("INSERT INTO parent VALUES ('laptop', 1, NULL)")
        try await SimulatedDevice.writeSnapshots(phone, laptop)
        let report = try await copy.engine.syncOnce()
        check(report.hasForked)
        for device in [phone, laptop, copy, phone, laptop] { try await device.engine.syncOnce() }
        try check(copy.rows(), equals: phone.rows())
        try check(laptop.rows(), equals: phone.rows())
        try check(copy.rows().contains { $0.contains("'copy'") })
        try check(copy.rows().contains { $0.contains("'laptop'") })
    }

    @Test func `a copy that dies in any call and gets a new schema keeps its writes`()
        async throws
    {
        let devices = try await SimulatedDevice.group(["d0", "d1"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        let file = try SimulatedDevice(copyOf: laptop, "copy")
        try await SimulatedDevice.writeSnapshots(phone, laptop)
        var hasEnded = false
        for calls in stride(from: 1, to: 400, by: SuddenDeath.step(35)) where !hasEnded {
            let copy = try SimulatedDevice(copyOf: file, "copy \(calls)")
            try await copy.write("INSERT INTO setting VALUES ('\(calls)', 1, 'first', NULL)")
            copy.store.setFaults { $0.callsUntilKill = calls }
            do {
                try await copy.engine.syncOnce()
                hasEnded = true
            } catch is SimulatedStore.Killed {}
            // The columns that win or lose together are three from now on.
            try copy.upgrade()
            try await copy.write("UPDATE setting SET more = 'later' WHERE name = '\(calls)'")
            for _ in 0..<3 { try await copy.engine.syncOnce() }
            try check(
                copy.rows().contains("setting '\(calls)' 1 'first' NULL 'later'"),
                "after \(calls) calls")
        }
        check(hasEnded)
    }

    @Test func `what a copy edits again while it waits for its log arrives everywhere`()
        async throws
    {
        let devices = try await SimulatedDevice.group(["d0", "d1"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        let all = Array(stride(from: 1, to: 40, by: SuddenDeath.step(9)))
        for calls in all {
            try await phone.write("INSERT INTO parent VALUES ('\(calls)', 'old', NULL)")
        }
        try await phone.engine.syncOnce()
        try await laptop.engine.syncOnce()
        let file = try SimulatedDevice(copyOf: laptop, "copy")
        try await SimulatedDevice.writeSnapshots(phone, laptop)
        for calls in all {
            let copy = try SimulatedDevice(copyOf: file, "copy \(calls)")
            try await copy.write("UPDATE parent SET name = 'first' WHERE id = '\(calls)'")
            copy.store.setFaults { $0.callsUntilKill = calls }
            do { try await copy.engine.syncOnce() } catch is SimulatedStore.Killed {}
            try copy.killAndReopen()
            try await copy.write("UPDATE parent SET name = 'second' WHERE id = '\(calls)'")
            for _ in 0..<3 { try await copy.engine.syncOnce() }
        }
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
        for calls in all {
            try check(phone.rows().contains("parent '\(calls)' 'second' NULL"), "\(calls) calls")
        }
    }
}
