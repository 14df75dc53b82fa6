import Foundation
import SecureStorage
import SecureSync
import SyncTestKit
import TestSupport
import Testing

struct SyncSimulationTests {
    private let simulation: SyncSimulation

    init() {
        var tables = SyncedTables()
        tables.add("note")
        tables.add("tag")
        var migrations = SchemaMigrations()
        migrations.add(
            "notes",
            sql: """
                CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL, done INTEGER);
                CREATE TABLE tag (name BLOB PRIMARY KEY NOT NULL) WITHOUT ROWID;
                """)
        simulation = SyncSimulation(tables: tables, migrations: migrations)
    }

    private func write(_ device: SyncSimulation.Device, _ sql: String) throws {
        try device.database.write { try $0.executeStatements(sql) }
    }

    private func text(_ device: SyncSimulation.Device, _ id: String = "a") throws -> String? {
        try device.database.read {
            try $0.string(forQuery: "SELECT text FROM note WHERE id = ?", values: [id])
        }
    }

    private func number(_ device: SyncSimulation.Device, _ sql: String) throws -> Int? {
        try device.database.read { try $0.int(forQuery: sql) }
    }

    /// Devices with one note, which all have.
    private func devices(_ names: String...) async throws -> [SyncSimulation.Device] {
        var devices: [SyncSimulation.Device] = []
        for name in names { devices.append(try await simulation.device(name)) }
        try write(devices[0], "INSERT INTO note VALUES ('a', 'milk', 0)")
        try await simulation.settle()
        try simulation.requireEqual()
        return devices
    }

    // MARK: - Two and three devices

    @Test func `two devices have the same rows when the simulation has settled`() async throws {
        let devices = try await devices("phone", "laptop")
        try check(text(devices[1]), equals: "milk")
        check(simulation.devices.map(\.name), equals: ["phone", "laptop"])
        let members = try await devices[0].engine.members()
        check(members.map(\.name), equals: ["phone", "laptop"])
    }

    @Test func `three devices write at once, and what each wrote is everywhere`() async throws {
        let devices = try await devices("phone", "laptop", "tablet")
        for device in devices { device.isOffline = true }
        for (number, device) in devices.enumerated() {
            try write(device, "INSERT INTO note VALUES ('\(number)', '\(device.name)', 0)")
        }
        try write(devices[1], "UPDATE note SET text = 'cream' WHERE id = 'a'")
        try write(devices[2], "UPDATE note SET done = 1 WHERE id = 'a'")
        for device in devices { device.isOffline = false }
        try await simulation.settle()
        try simulation.requireEqual()
        for device in devices {
            try check(
                number(device, "SELECT count(*) FROM note WHERE text <> 'cream' OR done = 1"),
                equals: 4)
        }
    }

    @Test func `a difference is named by table and devices, without a value`() async throws {
        let devices = try await devices("phone", "laptop")
        try write(devices[1], "INSERT INTO tag VALUES (x'beef'); UPDATE note SET text = 'secret'")
        #expect(
            throws: SyncSimulation.Failure.differs(
                table: "note", devices: ["phone", "laptop"], rows: 2)
        ) { try simulation.requireEqual() }
        try await devices[1].syncOnce()
        let error = #expect(throws: SyncSimulation.Failure.self) { try simulation.requireEqual() }
        let text = "\(String(describing: error)) \(String(reflecting: error))"
        check(text.contains("\"note\"") && !text.contains("secret") && !text.contains("beef"))
        // Only the ones that are asked for.
        try simulation.requireEqual([devices[1]])
        try await simulation.settle()
        try simulation.requireEqual()
    }

    @Test func `a column that one device lacks is a difference`() async throws {
        let devices = try await devices("phone", "laptop")
        try write(devices[0], "ALTER TABLE note ADD COLUMN color TEXT")
        #expect(
            throws: SyncSimulation.Failure.differs(
                table: "note", devices: ["phone", "laptop"], rows: 0)
        ) { try simulation.requireEqual() }
    }

    @Test func `rows that the app's schema begins with are kept or discarded`() async throws {
        var tables = SyncedTables()
        tables.add("note")
        let simulation = SyncSimulation(tables: tables) { database in
            try database.write {
                guard try !$0.tableExists("note") else { return }
                try $0.executeStatements(
                    """
                    CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, text);
                    INSERT INTO note VALUES (hex(randomblob(8)), 'welcome');
                    """)
            }
        }
        try await simulation.device("phone")
        try await simulation.device("laptop")
        try await simulation.device("tablet", localRows: .discard)
        try await simulation.settle()
        try simulation.requireEqual()
        for device in simulation.devices {
            try check(number(device, "SELECT count(*) FROM note"), equals: 2)
        }
    }

    // MARK: - The network

    @Test func `a device that is offline receives nothing until it is online again`() async throws {
        let devices = try await devices("phone", "laptop")
        devices[1].isOffline = true
        try write(devices[0], "UPDATE note SET text = 'cream'")
        try await simulation.settle()
        try check(text(devices[1]), equals: "milk")
        let error = await #expect(throws: SyncError.self) { try await devices[1].syncOnce() }
        check(error?.isTransient, equals: true)
        devices[1].isOffline = false
        try await simulation.settle()
        try check(text(devices[1]), equals: "cream")
    }

    @Test func `nobody who is offline invites`() async throws {
        let phone = try await simulation.device("phone")
        phone.isOffline = true
        await #expect(throws: SyncError.self) { try await simulation.device("laptop") }
        phone.isOffline = false
        try await simulation.device("laptop")
        await #expect(throws: SyncSimulation.Failure.nameTaken("laptop")) {
            try await simulation.device("laptop")
        }
    }

    @Test func `a removed device is left out`() async throws {
        let devices = try await devices("phone", "laptop")
        let member = try await require(
            devices[0].engine.members().first { $0.name == "laptop" })
        try await devices[0].engine.remove(member)
        try write(devices[0], "UPDATE note SET text = 'cream'")
        try await simulation.settle()
        try simulation.requireEqual()
        try check(text(devices[1]), equals: "milk")
        await #expect(throws: SyncError.notAMember) { try await devices[1].syncOnce() }
    }

    // MARK: - The process and the file

    @Test func `a device that restarts continues`() async throws {
        let devices = try await devices("phone", "laptop")
        try write(devices[1], "UPDATE note SET text = 'cream'")
        let engine = devices[1].engine
        try devices[1].restart()
        check(devices[1].engine !== engine)
        try check(text(devices[1]), equals: "cream")
        try await simulation.settle()
        try simulation.requireEqual()
        try check(text(devices[0]), equals: "cream")
    }

    @Test(arguments: [false, true])
    func `a device that is killed at any call loses nothing`(_ hasEffect: Bool) async throws {
        let devices = try await devices("phone", "laptop")
        var kills = 0
        for call in stride(from: 1, to: .max, by: SuddenDeath.step(4)) {
            try write(devices[0], "UPDATE note SET text = 'phone \(call)'")
            devices[0].killAtCall(call, hasEffect: hasEffect)
            do {
                try await devices[0].syncOnce()
                break
            } catch SyncSimulation.Failure.killed(device: "phone") { kills += 1 }
            try await simulation.settle()
            try simulation.requireEqual()
            try check(text(devices[1]), equals: "phone \(call)")
        }
        check(kills > 1)
    }

    @Test func `after a kill in another call the device is dead until it restarts`() async throws {
        let devices = try await devices("phone", "laptop")
        devices[0].killAtCall(1)
        for _ in 0..<2 {
            await #expect(throws: (any Error).self) { try await devices[0].engine.syncOnce() }
        }
        try devices[0].restart()
        try await devices[0].engine.syncOnce()
    }

    @Test func `a copy continues as a member of its own`() async throws {
        let devices = try await devices("phone", "laptop")
        let copy = try simulation.copy(devices[0], as: "clone")
        try write(devices[0], "INSERT INTO note VALUES ('b', 'phone', 0)")
        try write(copy, "INSERT INTO note VALUES ('c', 'clone', 0)")
        try await simulation.settle()
        try simulation.requireEqual()
        try check(text(devices[1], "b"), equals: "phone")
        try check(text(devices[1], "c"), equals: "clone")
        try await check(devices[1].engine.members().count, equals: 3)
    }

    @Test func `a file that is put back to a backup has what others have, and sends on`()
        async throws
    {
        let devices = try await devices("phone", "laptop")
        let backup = try devices[0].backup()
        try write(devices[0], "UPDATE note SET text = 'cream'")
        try await simulation.settle()
        try devices[0].restore(backup)
        try check(text(devices[0]), equals: "milk")
        try write(devices[0], "INSERT INTO note VALUES ('b', 'restored', 0)")
        try await simulation.settle()
        try simulation.requireEqual()
        try check(text(devices[0]), equals: "cream")
        try check(text(devices[1], "b"), equals: "restored")
    }
}
