import Foundation
import SecureStorage
import SecureStoragePlatform
import SecureSync
import TestSupport
import Testing

@testable import SyncWorlds

/// Snapshots in a group: its devices write one after five batches, and remove what it replaces.
@Suite struct SyncSnapshotTests {
    private let objects = WorldObjects()

    private func group(_ count: Int) async throws -> [WorldDevice] {
        let devices = try (0..<count).map { try WorldDevice("d\($0)", objects) }
        try await devices[0].engine.createGroup(deviceName: "d0")
        for device in devices.dropFirst() { try await join(device, devices[0]) }
        return devices
    }

    private func join(
        _ device: WorldDevice, _ host: WorldDevice, _ rows: SyncLocalRows = .keep
    ) async throws {
        try await device.engine.join(
            try await host.engine.invite(.once), deviceName: device.name, localRows: rows)
        try await device.engine.syncOnce()
    }

    private func write(_ device: WorldDevice, _ sql: String) async throws {
        try await device.queue.write { try $0.executeStatements(sql) }
    }

    /// Batches of a device and its friends, until older ones are gone.
    private func work(_ devices: WorldDevice...) async throws {
        var hasWritten = 0
        for number in 0..<60 where hasWritten < 3 {
            for device in devices {
                try await write(
                    device, "REPLACE INTO setting VALUES ('\(device.name)', 0, \(number), 0)")
                if try await device.engine.syncOnce().hasWrittenSnapshot { hasWritten += 1 }
            }
        }
        #expect(hasWritten == 3)
    }

    @Test func `who was away while batches went loads the snapshot and keeps its edits`()
        async throws
    {
        let devices = try await group(2)
        let (phone, laptop) = (devices[0], devices[1])
        try await write(phone, "INSERT INTO parent VALUES ('a', 'x', NULL), ('b', 'x', NULL)")
        try await phone.engine.syncOnce()
        try await laptop.engine.syncOnce()

        try await write(laptop, "UPDATE parent SET name = 'away' WHERE id = 'a'")
        try await write(laptop, "INSERT INTO parent VALUES ('c', 'new', NULL)")
        try await write(phone, "UPDATE parent SET code = 'meanwhile' WHERE id = 'a'")
        try await write(phone, "DELETE FROM parent WHERE id = 'b'")
        try await work(phone)

        let report = try await laptop.engine.syncOnce()
        #expect(report.hasLoadedSnapshot)
        #expect(!report.hasForked)
        // Before it was known that a snapshot is needed.
        #expect(report.sentBatches == 1)
        try await phone.engine.syncOnce()
        #expect(try laptop.rows() == phone.rows())
        let names = try await phone.queue.read { db in
            try db.strings("SELECT id || ' ' || name || ' ' || ifnull(code, '-') FROM parent")
        }
        #expect(Set(names) == ["a away meanwhile", "c new -"])
    }

    @Test func `what a device edited while others deleted the row is in its conflicts`()
        async throws
    {
        let devices = try await group(2)
        let (phone, laptop) = (devices[0], devices[1])
        try await write(phone, "INSERT INTO parent VALUES ('a', 'x', NULL)")
        try await phone.engine.syncOnce()
        try await laptop.engine.syncOnce()
        try await write(laptop, "UPDATE parent SET name = 'away' WHERE id = 'a'")
        try await write(phone, "DELETE FROM parent WHERE id = 'a'")
        try await work(phone)
        try await laptop.engine.syncOnce()
        let conflict = try #require(try laptop.engine.conflicts(in: "parent").first)
        #expect(conflict.reason == .deleted)
        #expect(conflict.values["name"] == .text("away"))
        #expect(try laptop.rows() == phone.rows())
    }

    @Test func `who joins contributes the rows that the group lacks`() async throws {
        let phone = try await group(1)[0]
        try await write(phone, "INSERT INTO parent VALUES ('a', 'group', NULL)")
        try await work(phone)
        let laptop = try WorldDevice("d1", objects)
        try await write(
            laptop,
            """
            INSERT INTO parent VALUES ('a', 'own', NULL), ('b', 'own', NULL);
            INSERT INTO child VALUES (x'01', 'b', 'own', 1, 1);
            INSERT INTO link VALUES ('b', 'a');
            """)
        try await join(laptop, phone)
        try await phone.engine.syncOnce()
        #expect(try laptop.rows() == phone.rows())
        #expect(try phone.rows().contains("link 'b' 'a'"))
        let names = try await phone.queue.read { db in
            try db.strings("SELECT id || ' ' || name FROM parent ORDER BY id")
        }
        #expect(names == ["a group", "b own"])
        let conflict = try #require(try laptop.engine.conflicts(in: "parent").first)
        #expect(conflict.values["name"] == .text("own"))
        #expect(conflict.reason == .replaced)
    }

    @Test func `who joins and discards has the group's rows only`() async throws {
        let phone = try await group(1)[0]
        try await write(phone, "INSERT INTO parent VALUES ('a', 'group', NULL)")
        try await phone.engine.syncOnce()
        let laptop = try WorldDevice("d1", objects)
        try await write(laptop, "INSERT INTO parent VALUES ('b', 'own', NULL)")
        try await join(laptop, phone, .discard)
        #expect(try laptop.rows() == phone.rows())
    }

    @Test
    func `what is written while a device's log begins is sent, and held back everywhere alike`()
        async throws
    {
        let devices = try await group(2)
        let (phone, laptop) = (devices[0], devices[1])
        try await work(phone, laptop)
        try await write(phone, "INSERT INTO parent VALUES ('r', 1, 'x')")
        try await Task.sleep(for: .milliseconds(5))
        try await write(laptop, "INSERT INTO parent VALUES ('p', 1, 'x')")
        for device in [phone, laptop, phone] { try await device.engine.syncOnce() }
        try await Task.sleep(for: .milliseconds(5))
        try await write(phone, "INSERT INTO parent VALUES ('q', 1, 'w')")
        try await phone.engine.syncOnce()

        let tablet = try WorldDevice("d2", objects)
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
        try await join(tablet, phone)
        for device in devices + [tablet] + devices { try await device.engine.syncOnce() }
        for device in devices + [tablet] {
            let shown = try await device.queue.read { db in
                try db.strings("SELECT id || code FROM parent ORDER BY id")
            }
            #expect(shown == ["px"])
            #expect(try device.engine.conflicts(in: "parent").map(\.key) == [[.text("q")]])
        }
    }

    @Test func `clocks are forgotten when all have applied what they are of`() async throws {
        let devices = try await group(3)
        try await write(devices[1], "INSERT INTO parent VALUES ('a', 'x', NULL), ('b', 1, NULL)")
        try await write(devices[1], "DELETE FROM parent WHERE id = 'b'")
        try await work(devices[0], devices[1], devices[2])
        for device in devices { try await device.engine.syncOnce() }
        for device in devices {
            #expect(try device.hasFloor())
            let clocks = try await device.queue.read { db in
                let number = try db.int(
                    forQuery: "SELECT number FROM securestorage_sync_table WHERE name = 'parent'")
                return try ["row", "recent"].map {
                    try db.int(
                        forQuery: "SELECT count(*) FROM securestorage_sync_\($0)_\(number ?? 0)")
                }
            }
            #expect(clocks == [0, 0])
        }
    }

    @Test func `a file that is copied and joins late in its life goes on as another member`()
        async throws
    {
        let devices = try await group(2)
        let (phone, laptop) = (devices[0], devices[1])
        let copy = try WorldDevice(copyOf: laptop, "d2")
        try await write(copy, "INSERT INTO parent VALUES ('copy', 1, NULL)")
        try await write(laptop, "INSERT INTO parent VALUES ('laptop', 1, NULL)")
        try await work(phone, laptop)
        let report = try await copy.engine.syncOnce()
        #expect(report.hasForked)
        for device in [phone, laptop, copy, phone, laptop] { try await device.engine.syncOnce() }
        #expect(try copy.rows() == phone.rows())
        #expect(try laptop.rows() == phone.rows())
        #expect(try copy.rows().contains { $0.contains("'copy'") })
        #expect(try copy.rows().contains { $0.contains("'laptop'") })
    }

    @Test func `a copy that dies in any call and gets a new schema keeps what it has written`()
        async throws
    {
        let devices = try await group(2)
        let (phone, laptop) = (devices[0], devices[1])
        let file = try WorldDevice(copyOf: laptop, "copy")
        try await work(phone, laptop)
        var hasEnded = false
        for calls in stride(from: 1, to: 400, by: 9) where !hasEnded {
            let copy = try WorldDevice(copyOf: file, "copy \(calls)")
            try await write(copy, "INSERT INTO setting VALUES ('\(calls)', 1, 'first', NULL)")
            copy.store.setFaults { $0.callsUntilKill = calls }
            do {
                try await copy.engine.syncOnce()
                hasEnded = true
            } catch is WorldStore.Killed {}
            // The columns that win or lose together are three from now on.
            try copy.upgrade()
            try await write(copy, "UPDATE setting SET more = 'later' WHERE name = '\(calls)'")
            for _ in 0..<3 { try await copy.engine.syncOnce() }
            #expect(
                try copy.rows().contains("setting '\(calls)' 1 'first' NULL 'later'"),
                "after \(calls) calls")
        }
        #expect(hasEnded)
    }

    @Test func `what a copy edits again while it waits for its log arrives everywhere`()
        async throws
    {
        let devices = try await group(2)
        let (phone, laptop) = (devices[0], devices[1])
        let all = Array(stride(from: 1, to: 40, by: 3))
        for calls in all {
            try await write(phone, "INSERT INTO parent VALUES ('\(calls)', 'old', NULL)")
        }
        try await phone.engine.syncOnce()
        try await laptop.engine.syncOnce()
        let file = try WorldDevice(copyOf: laptop, "copy")
        try await work(phone, laptop)
        for calls in all {
            let copy = try WorldDevice(copyOf: file, "copy \(calls)")
            try await write(copy, "UPDATE parent SET name = 'first' WHERE id = '\(calls)'")
            copy.store.setFaults { $0.callsUntilKill = calls }
            do { try await copy.engine.syncOnce() } catch is WorldStore.Killed {}
            try copy.killAndReopen()
            try await write(copy, "UPDATE parent SET name = 'second' WHERE id = '\(calls)'")
            for _ in 0..<3 { try await copy.engine.syncOnce() }
        }
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
        for calls in all {
            #expect(try phone.rows().contains("parent '\(calls)' 'second' NULL"), "\(calls) calls")
        }
    }

    @Test func `of two devices that enter at once, both are in the group`() async throws {
        let phone = try await group(1)[0]
        let (first, second) = (try WorldDevice("d1", objects), try WorldDevice("d2", objects))
        let codes = [try await phone.engine.invite(.once), try await phone.engine.invite(.once)]
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
        #expect(hasEntered.withLock { $0 })
        for device in [phone, first, second] {
            try await write(device, "INSERT INTO parent VALUES ('\(device.name)', 1, NULL)")
        }
        for _ in 0..<2 {
            for device in [phone, first, second] { try await device.engine.syncOnce() }
        }
        for device in [phone, first, second] {
            #expect(try device.rows().filter { $0.hasPrefix("parent") }.count == 3)
        }
    }

    @Test func `a transaction that its writer has not sent to its end keeps nobody from joining`()
        async throws
    {
        let devices = try await group(2)
        let (phone, laptop) = (devices[0], devices[1])
        try await write(
            laptop,
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO setting SELECT 'large', i, i, i FROM n
            """)
        let before = Set(objects.names)
        try await laptop.engine.syncOnce()
        let batches = Set(objects.names).subtracting(before).filter { $0.contains("/d/") }.sorted()
        #expect(batches.count > 1)
        let (last, all) = (try #require(batches.last), objects.all)
        objects.set(last, nil)
        let tablet = try WorldDevice("d2", objects)
        try await write(tablet, "INSERT INTO parent VALUES ('tablet', 1, NULL)")
        try await join(tablet, phone)
        try await phone.engine.syncOnce()
        for device in [phone, tablet] { #expect(try device.rows() == ["parent 'tablet' '1' NULL"]) }
        objects.set(last, all[last])
        for device in [phone, tablet, laptop] { try await device.engine.syncOnce() }
        for device in [phone, tablet, laptop] { #expect(try device.rows().count == 3001) }
    }
}
