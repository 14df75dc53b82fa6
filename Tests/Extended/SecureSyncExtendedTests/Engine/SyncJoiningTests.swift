import Foundation
import SecureStorage
import SecureStoragePlatform
import SecureSync
import TestSupport
import Testing

@testable import SyncSimulator
@testable import SecureSyncTests

/// What a device that joins has and brings, and what happens while its log begins.
struct SyncJoiningTests {
    private let objects = SimulatedObjects()

    @Test func `a device that joins contributes the rows that the group lacks`() async throws {
        let phone = try await SimulatedDevice.group(["d0"], in: objects)[0]
        try await phone.write("INSERT INTO parent VALUES ('a', 'group', NULL)")
        try await SimulatedDevice.writeSnapshots(phone)
        let laptop = try SimulatedDevice("d1", objects)
        try await laptop.write(
            """
            INSERT INTO parent VALUES ('a', 'own', NULL), ('b', 'own', NULL);
            INSERT INTO child VALUES (x'01', 'b', 'own', 1, 1);
            INSERT INTO link VALUES ('b', 'a');
            """)
        try await laptop.join(phone)
        try await phone.engine.syncOnce()
        try check(laptop.rows(), equals: phone.rows())
        try check(phone.rows().contains("link 'b' 'a'"))
        let names = try await phone.queue.read { db in
            try db.strings("SELECT id || ' ' || name FROM parent ORDER BY id")
        }
        check(names, equals: ["a group", "b own"])
        let conflict = try require(laptop.engine.conflicts(in: "parent").first)
        check(conflict.values["name"], equals: .text("own"))
        check(conflict.reason, equals: .replaced)
    }

    @Test func `a device that joins and discards has the group's rows only`() async throws {
        let phone = try await SimulatedDevice.group(["d0"], in: objects)[0]
        try await phone.write("INSERT INTO parent VALUES ('a', 'group', NULL)")
        try await phone.engine.syncOnce()
        let laptop = try SimulatedDevice("d1", objects)
        try await laptop.write("INSERT INTO parent VALUES ('b', 'own', NULL)")
        try await laptop.join(phone, .discard)
        try check(laptop.rows(), equals: phone.rows())
    }

    @Test func `what a file had before it joined is listed without a time`() async throws {
        let phone = try await SimulatedDevice.group(["d0"], in: objects)[0]
        try await phone.write("INSERT INTO parent (id, name) VALUES ('x', 'group')")
        try await phone.engine.syncOnce()
        let laptop = try SimulatedDevice("d1", objects)
        try await laptop.write("INSERT INTO parent (id, name) VALUES ('x', 'own')")
        try await laptop.join(phone, .keep)
        let conflicts = try laptop.engine.conflicts()
        check(conflicts.map { $0.values["name"] }, equals: [.text("own")])
        check(conflicts.map(\.writtenAt), equals: [nil])
    }

    @Test
    func `what is written while a device's log begins is sent, and held back everywhere alike`()
        async throws
    {
        let devices = try await SimulatedDevice.group(["d0", "d1"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        try await SimulatedDevice.writeSnapshots(phone, laptop)
        try await phone.write("INSERT INTO parent VALUES ('r', 1, 'x')")
        try await Task.sleep(for: .milliseconds(5))
        try await laptop.write("INSERT INTO parent VALUES ('p', 1, 'x')")
        for device in [phone, laptop, phone] { try await device.engine.syncOnce() }
        try await Task.sleep(for: .milliseconds(5))
        try await phone.write("INSERT INTO parent VALUES ('q', 1, 'w')")
        try await phone.engine.syncOnce()

        let tablet = try SimulatedDevice("d2", objects)
        let queue = tablet.queue
        tablet.store.watchCreations(
            .init(after: { name in
                guard name.contains("/s/") else { return }
                try await queue.write { db in
                    try db.executeStatements(
                        """
                        DELETE FROM parent WHERE id = 'r';
                        UPDATE parent SET code = 'x' WHERE id = 'q'
                        """)
                }
            }))
        try await tablet.join(phone)
        for device in devices + [tablet] + devices { try await device.engine.syncOnce() }
        for device in devices + [tablet] {
            let shown = try await device.queue.read { db in
                try db.strings("SELECT id || code FROM parent ORDER BY id")
            }
            check(shown, equals: ["px"])
            try check(device.engine.conflicts(in: "parent").map(\.key), equals: [[.text("q")]])
        }
    }

    @Test func `of two devices that join at once, both are in the group`() async throws {
        let phone = try await SimulatedDevice.group(["d0"], in: objects)[0]
        let (first, second) = (
            try SimulatedDevice("d1", objects), try SimulatedDevice("d2", objects)
        )
        let codes = [
            try await phone.engine.invite(.once, role: .admin),
            try await phone.engine.invite(.once, role: .admin),
        ]
        try await second.engine.join(codes[1], deviceName: "d2", localRows: .keep)
        let (engine, hasEntered) = (first.engine, Locked(false))
        // The other one comes when this one has read who is in the group.
        second.store.watchCreations(
            .init(before: { name in
                guard name.contains("/s/"), !hasEntered.withLock({ $0 }) else { return }
                hasEntered.withLock { $0 = true }
                try await engine.join(codes[0], deviceName: "d1", localRows: .keep)
                try await engine.syncOnce()
            }))
        try await second.engine.syncOnce()
        check(hasEntered.withLock { $0 })
        for device in [phone, first, second] {
            try await device.write("INSERT INTO parent VALUES ('\(device.name)', 1, NULL)")
        }
        for _ in 0..<2 {
            for device in [phone, first, second] { try await device.engine.syncOnce() }
        }
        for device in [phone, first, second] {
            try check(device.rows().filter { $0.hasPrefix("parent") }.count, equals: 3)
        }
    }

    @Test func `a transaction that its writer has not sent to its end keeps nobody from joining`()
        async throws
    {
        let devices = try await SimulatedDevice.group(["d0", "d1"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        try await laptop.write(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO setting SELECT 'large', i, i, i FROM n
            """)
        let before = Set(objects.names)
        try await laptop.engine.syncOnce()
        let batches = Set(objects.names).subtracting(before).filter { $0.contains("/d/") }.sorted()
        check(batches.count > 1)
        let (last, all) = (try require(batches.last), objects.all)
        objects.set(last, nil)
        let tablet = try SimulatedDevice("d2", objects)
        try await tablet.write("INSERT INTO parent VALUES ('tablet', 1, NULL)")
        try await tablet.join(phone)
        try await phone.engine.syncOnce()
        for device in [phone, tablet] {
            try check(device.rows(), equals: ["parent 'tablet' '1' NULL"])
        }
        objects.set(last, all[last])
        for device in [phone, tablet, laptop] { try await device.engine.syncOnce() }
        for device in [phone, tablet, laptop] { try check(device.rows().count, equals: 3001) }
    }
}
