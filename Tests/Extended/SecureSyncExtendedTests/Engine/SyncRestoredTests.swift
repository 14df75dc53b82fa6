import SecureStorage
import SecureSync
import TestSupport
import Testing

@testable import SyncSimulator

/// A file that is put back to a time at which it had not sent all.
struct SyncRestoredTests {
    @Test(
        arguments: [
            "INSERT INTO parent (id, name) VALUES ('x', 'old')",
            "INSERT INTO setting VALUES ('x', 0, 'old', 1)",
        ], [0, 8])
    func `an insertion that was sent since does not outdo the edits of those who knew it`(
        insertion: String, rounds: Int
    ) async throws {
        let objects = SimulatedObjects()
        let devices = try await SimulatedDevice.group(["phone", "laptop"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        try await phone.write(insertion)
        let backup = try phone.database.copiedFiles()
        try await phone.engine.syncOnce()
        try await laptop.engine.syncOnce()
        try await laptop.write("UPDATE parent SET name = 'new' WHERE id = 'x'")
        try await laptop.write("UPDATE setting SET value = 'new' WHERE name = 'x'")
        try await laptop.engine.syncOnce()
        // With enough rounds, the stable point passes the insertion.
        for round in 0..<rounds {
            for device in devices {
                try await device.write(
                    "REPLACE INTO setting VALUES ('\(device.name)', 0, \(round), 0)")
                try await device.engine.syncOnce()
            }
        }
        try check(laptop.hasStablePoint(), equals: rounds > 0)

        try phone.restore(backup)
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
        try check(phone.rows(), equals: laptop.rows())
        for device in devices {
            let rows = try device.rows().filter { $0.contains("'x'") }
            check(rows.count, equals: 1)
            check(rows.allSatisfy { $0.contains("'new'") }, "\(rows)")
        }
        try check(phone.engine.conflicts().map(\.reason), equals: [])
    }

    @Test(arguments: [0, 8])
    func `an edit that was sent since does not outdo the edits of those who knew it`(
        rounds: Int
    ) async throws {
        let objects = SimulatedObjects()
        let devices = try await SimulatedDevice.group(["phone", "laptop"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        try await phone.write("INSERT INTO parent (id, name) VALUES ('x', 'first')")
        for device in devices { try await device.engine.syncOnce() }
        try await phone.write("UPDATE parent SET name = 'old' WHERE id = 'x'")
        let backup = try phone.database.copiedFiles()
        for device in devices { try await device.engine.syncOnce() }
        try await laptop.write("UPDATE parent SET name = 'new' WHERE id = 'x'")
        for round in 0..<rounds {
            for device in devices {
                try await device.write(
                    "REPLACE INTO setting VALUES ('\(device.name)', 0, \(round), 0)")
                try await device.engine.syncOnce()
            }
        }
        try phone.restore(backup)
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
        for device in devices {
            let rows = try device.rows().filter { $0.contains("'x'") }
            check(rows, equals: ["parent 'x' 'new' NULL"])
        }
    }

    @Test func `what is written after the file was put back wins column by column`() async throws {
        let objects = SimulatedObjects()
        let devices = try await SimulatedDevice.group(["phone", "laptop"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        try await phone.write("INSERT INTO parent VALUES ('x', 'old', 'old')")
        let backup = try phone.database.copiedFiles()
        try await phone.engine.syncOnce()
        try await laptop.engine.syncOnce()
        try await laptop.write("UPDATE parent SET name = 'new', code = 'new' WHERE id = 'x'")
        for round in 0..<8 {
            for device in devices {
                try await device.write(
                    "REPLACE INTO setting VALUES ('\(device.name)', 0, \(round), 0)")
                try await device.engine.syncOnce()
            }
        }
        try phone.restore(backup)
        try await phone.write("UPDATE parent SET code = 'newer' WHERE id = 'x'")
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
        for device in devices {
            let rows = try device.rows().filter { $0.contains("'x'") }
            check(rows, equals: ["parent 'x' 'new' 'newer'"])
        }
    }

    @Test func `by a clock that is behind, what is written after the file was put back is sent`()
        async throws
    {
        let objects = SimulatedObjects()
        let phone = try SimulatedDevice("phone", objects, clockOffset: -SimulatedDevice.year)
        let laptop = try SimulatedDevice("laptop", objects)
        try await phone.engine.createGroup(deviceName: "phone")
        try await laptop.join(phone)
        try await laptop.write("INSERT INTO parent (id, name) VALUES ('x', 'first')")
        for device in [laptop, phone] { try await device.engine.syncOnce() }
        try await phone.write("UPDATE parent SET name = 'sent' WHERE id = 'x'")
        let backup = try phone.database.copiedFiles()
        for device in [phone, laptop] { try await device.engine.syncOnce() }
        try phone.restore(backup)
        try await phone.write("UPDATE parent SET name = 'newer' WHERE id = 'x'")
        for device in [phone, laptop, phone] { try await device.engine.syncOnce() }
        for device in [phone, laptop] {
            check(
                try device.rows().filter { $0.contains("'x'") }, equals: ["parent 'x' 'newer' NULL"]
            )
        }
    }

    @Test func `an insertion beside a copy that edits the group's row of its key is whole`()
        async throws
    {
        let objects = SimulatedObjects()
        let devices = try await SimulatedDevice.group(["phone", "laptop"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        let twin = try SimulatedDevice(copyOf: phone, "twin")
        try await laptop.write("INSERT INTO parent (id, name) VALUES ('x', 'laptop')")
        try await laptop.engine.syncOnce()
        try await twin.engine.syncOnce()
        // The phone knows nothing of the row.
        try await phone.write("INSERT INTO parent VALUES ('x', 'phone', 'code')")
        try await twin.write("UPDATE parent SET name = 'twin' WHERE id = 'x'")
        try await twin.engine.syncOnce()
        for _ in 0..<3 {
            for device in [phone, laptop, twin] { try await device.engine.syncOnce() }
        }
        for device in [phone, laptop, twin] {
            let rows = try device.rows().filter { $0.contains("'x'") }
            check(rows, equals: ["parent 'x' 'phone' 'code'"], "\(device.name)")
        }
    }

    @Test func `a column that came since makes no insertion of one that was sent`() async throws {
        let objects = SimulatedObjects()
        let devices = try await SimulatedDevice.group(["phone", "laptop"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        try await phone.write("INSERT INTO parent (id, name) VALUES ('x', 'first')")
        let backup = try phone.database.copiedFiles()
        for device in devices { try await device.engine.syncOnce() }
        try await laptop.write("UPDATE parent SET name = 'second' WHERE id = 'x'")
        try await laptop.engine.syncOnce()
        try phone.restore(backup)
        try phone.upgrade()
        check(try await phone.engine.syncOnce().sentBatches, equals: 0)
        try laptop.upgrade()
        for device in [laptop, phone] { try await device.engine.syncOnce() }
        for device in devices {
            let rows = try device.rows().filter { $0.contains("'x'") }
            check(rows, equals: ["parent 'x' 'second' NULL 'none'"], "\(device.name)")
        }
    }

    @Test func `an edit of a row that the other copy has removed is listed, and makes no row`()
        async throws
    {
        let objects = SimulatedObjects()
        let devices = try await SimulatedDevice.group(["phone", "laptop"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        try await phone.write("INSERT INTO parent VALUES ('x', 'old', 'old')")
        let backup = try phone.database.copiedFiles()
        try await phone.engine.syncOnce()
        try await phone.write("DELETE FROM parent WHERE id = 'x'")
        for device in devices { try await device.engine.syncOnce() }
        try phone.restore(backup)
        try await phone.write("UPDATE parent SET code = 'newer' WHERE id = 'x'")
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
        for device in [phone, laptop] {
            try check(device.rows().filter { $0.contains("'x'") }, equals: [], "\(device.name)")
        }
        try check(phone.engine.conflicts().map(\.reason), equals: [.deleted])
    }
}
