import SecureStorage
import SecureSync
import TestSupport
import Testing

@testable import SyncSimulator
@testable import SecureSyncTests

/// A row that cannot travel stops nothing but itself.
struct SyncUnsentTests {
    private func others(_ device: SimulatedDevice) throws -> [String?] {
        try device.queue.read {
            try $0.strings(
                "SELECT name || value FROM setting WHERE name <> 'x' ORDER BY name")
        }
    }

    @Test(arguments: [
        ("zeroblob(17 << 20)", SyncConflict.Reason.tooLarge),
        ("CAST(x'61ff' AS TEXT)", .notText),
    ])
    func `a row that cannot travel is listed, and all else continues in both directions`(
        value: String, reason: SyncConflict.Reason
    ) async throws {
        let objects = SimulatedObjects()
        let devices = try await SimulatedDevice.group(["phone", "laptop"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        try await phone.write("INSERT INTO setting VALUES ('x', 0, \(value), 1)")
        // More than it takes for snapshots.
        for round in 0..<8 {
            for device in devices {
                try await device.write(
                    "REPLACE INTO setting VALUES ('\(device.name)', 0, \(round), 0)")
                try await device.engine.syncOnce()
            }
        }
        try await phone.engine.syncOnce()
        for device in devices { try check(others(device), equals: ["laptop7", "phone7"]) }
        let unsent = try phone.engine.conflicts()
        check(unsent.map(\.reason), equals: [reason])
        check(unsent.first?.key, equals: [.text("x"), .integer(0)])
        check(unsent.first?.isUnsent, equals: true)
        check(unsent.first?.isHeldBack, equals: false)
        try check(SyncedFile(phone.queue).unsentCount, equals: 1)
        let error = await #expect(throws: SyncError.self) { try await phone.engine.reset() }
        check(error?.description.contains("'x', 0") == true)

        try await phone.write("UPDATE setting SET value = 1 WHERE name = 'x'")
        for _ in 0..<2 { for device in devices { try await device.engine.syncOnce() } }
        try check(laptop.rows(), equals: phone.rows())
        try check(phone.engine.conflicts().count, equals: 0)
    }

    @Test func `a row that cannot travel takes what others write into its other columns`()
        async throws
    {
        let devices = try await SimulatedDevice.group(["phone", "laptop"], in: SimulatedObjects())
        let (phone, laptop) = (devices[0], devices[1])
        try await phone.write("INSERT INTO parent (id, name, code) VALUES ('x', 1, 'a')")
        for device in devices { try await device.engine.syncOnce() }
        try await laptop.write("UPDATE parent SET name = CAST(x'61ff' AS TEXT)")
        try await phone.write("UPDATE parent SET code = 'b'")
        for device in [phone, laptop, phone] { try await device.engine.syncOnce() }
        let row = "SELECT hex(name) || ' ' || code FROM parent"
        try await check(laptop.queue.read { try $0.string(forQuery: row) }, equals: "61FF b")
        try await check(phone.queue.read { try $0.string(forQuery: row) }, equals: "31 b")
        check(try laptop.engine.conflicts().map(\.reason), equals: [.notText])

        try await laptop.write("UPDATE parent SET name = 2")
        for device in [laptop, phone] { try await device.engine.syncOnce() }
        try await check(phone.queue.read { try $0.string(forQuery: row) }, equals: "32 b")
    }

    @Test func `a row of which several writes make more than a snapshot may have is left out`()
        throws
    {
        let file = try CapturedFile(
            "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, a, b, c);", tables: "note")
        try file.run("INSERT INTO note (id) VALUES ('x')")
        _ = try file.timestamped()
        for (column, count) in [("a", 1), ("b", 1), ("c", 0)] {
            try file.run("UPDATE note SET \(column) = zeroblob(\((16 << 20) - 1000))")
            try check(file.timestamped().count, equals: count)
        }
        try check(file.capture.unsentRows(in: file.db).map(\.reason), equals: [.tooLarge])
        try file.run("UPDATE note SET a = NULL")
        try check(file.timestamped().first?.columnGroups.map(\.columns), equals: [["a"], ["c"]])
        try check(file.capture.unsentRows(in: file.db).isEmpty)
    }

    @Test func `a row that is longer than a batch is sent again when the store has lost it`()
        async throws
    {
        let objects = SimulatedObjects()
        let devices = try await SimulatedDevice.group(["phone", "laptop"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        for device in devices { try await device.engine.syncOnce() }
        let known = objects.names
        try await laptop.write("INSERT INTO parent (id) VALUES ('x')")
        for column in ["name", "code"] {
            try await laptop.write("UPDATE parent SET \(column) = zeroblob(15 << 20)")
            try await laptop.engine.syncOnce()
        }
        for name in objects.names where !known.contains(name) { objects.set(name, nil) }
        try await phone.engine.reset()
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
        try await laptop.write("INSERT INTO parent (id) VALUES ('later')")
        for _ in 0..<2 { for device in devices { try await device.engine.syncOnce() } }
        let sizes = try await phone.queue.read {
            try $0.strings("SELECT id || length(name) || ' ' || length(code) FROM parent")
        }
        check(sizes, equals: ["x15728640 15728640", nil])
        for device in devices { try check(device.engine.conflicts().count, equals: 0) }
    }
}
