import Foundation
import SecureStorage
import SecureSync
import SyncTestKit
import TestSupport
import Testing
@testable import SecureSyncTests

struct SyncSimulationClockTests {
    private let simulation: SyncSimulation

    init() {
        var tables = SyncedTables()
        tables.add("note")
        simulation = SyncSimulation(tables: tables) { database in
            try database.write {
                try $0.executeStatements(
                    """
                    CREATE TABLE IF NOT EXISTS note (id TEXT PRIMARY KEY NOT NULL, text, done)
                    """)
            }
        }
    }

    private func set(_ text: String, on device: SyncSimulation.Device) throws {
        try device.database.write {
            try $0.executeUpdate("UPDATE note SET text = ?", values: [text])
        }
    }

    private func texts() throws -> [String?] {
        try simulation.devices.map {
            try $0.database.read { try $0.string(forQuery: "SELECT text FROM note") }
        }
    }

    private func pair() async throws -> (SyncSimulation.Device, SyncSimulation.Device) {
        let (phone, laptop) = (
            try await simulation.device("phone"), try await simulation.device("laptop")
        )
        try await phone.database.write {
            try $0.executeUpdate("INSERT INTO note VALUES ('a', 'milk', 0)")
        }
        try await simulation.settle()
        return (phone, laptop)
    }

    @Test(arguments: 0..<2)
    func `of two writes without a word the later one wins, without waiting`(
        _ round: Int
    ) async throws {
        let (phone, laptop) = try await pair()
        let order = round % 2 == 0 ? [phone, laptop] : [laptop, phone]
        for device in order { try set(device.name, on: device) }
        try await simulation.settle()
        try simulation.requireEqual()
        try check(texts(), equals: [order[1].name, order[1].name])
    }

    @Test func `a lost update shows in the conflicts, with its time`() async throws {
        let (phone, laptop) = try await pair()
        phone.isOffline = true
        let before = simulation.now
        try set("cream", on: phone)
        simulation.advance(by: .seconds(3600))
        try set("butter", on: laptop)
        // Sent later, and written before.
        simulation.advance(by: .seconds(3600))
        phone.isOffline = false
        try await simulation.settle()
        try simulation.requireEqual()
        try check(texts(), equals: ["butter", "butter"])
        for device in simulation.devices {
            let conflict = try require(device.engine.conflicts(in: "note").first)
            check(conflict.values, equals: ["text": .text("cream")])
            check(conflict.reason, equals: .overwritten)
            let late = try require(conflict.writtenAt).timeIntervalSince(before)
            check((0...1).contains(late), "\(late) seconds")
        }
    }

    @Test func `a clock that is ahead decides, and no longer after the other one has read it`()
        async throws
    {
        let (phone, laptop) = try await pair()
        phone.clockError = .seconds(86_400)
        check(phone.clockError, equals: .seconds(86_400))
        try set("cream", on: phone)
        simulation.advance(by: .seconds(60))
        try set("butter", on: laptop)
        try await simulation.settle()
        try check(texts(), equals: ["cream", "cream"])
        // In knowledge of it: whatever the clocks say.
        try set("cheese", on: laptop)
        try await simulation.settle()
        try check(texts(), equals: ["cheese", "cheese"])
        try check(phone.engine.conflicts().map(\.values), equals: [["text": .text("butter")]])
    }

    @Test func `a clock that is set right leaves the time of what was written before`()
        async throws
    {
        let (phone, laptop) = try await pair()
        phone.clockError = .seconds(86_400)
        try set("cream", on: phone)
        phone.clockError = .zero
        simulation.advance(by: .seconds(60))
        try set("butter", on: laptop)
        try await simulation.settle()
        try check(texts(), equals: ["cream", "cream"])
    }

    @Test func `time stands still but for commits and what a test says`() async throws {
        check(simulation.now, equals: SyncSimulation.defaultStart)
        let (phone, _) = try await pair()
        let before = simulation.now
        try await Task.sleep(for: .milliseconds(20))
        check(simulation.now, equals: before)
        try set("cream", on: phone)
        check(simulation.now.timeIntervalSince(before) < 0.0015)
        check(simulation.now > before)
        simulation.advance(by: .seconds(-5))
        check(simulation.now < before)
    }

    @Test func `a device that was away for months has the newest rows afterwards`() async throws {
        let (phone, laptop) = try await pair()
        laptop.isOffline = true
        for day in 0..<90 {
            simulation.advance(by: .seconds(86_400))
            try set("day \(day)", on: phone)
            try await phone.syncOnce()
        }
        let heard = try await require(
            phone.engine.members().first { $0.name == "laptop" }?.lastHeard)
        check(simulation.now.timeIntervalSince(heard) > 89 * 86_400)
        laptop.isOffline = false
        try await simulation.settle()
        try simulation.requireEqual()
        try check(texts(), equals: ["day 89", "day 89"])
    }
}
