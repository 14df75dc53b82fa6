import Foundation
import SecureStorage
import SecureSync
import TestSupport
import Testing

@testable import SyncWorlds
@testable import SecureSyncTests

/// What a stranger has put into a store under names of a member's log: bytes that the member has
/// not signed.
struct SyncStrangerTests {
    private let objects = WorldObjects()

    private func settle(_ devices: [WorldDevice]) async throws {
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
    }

    private func parents(_ device: WorldDevice) throws -> [String?] {
        try device.queue.read { try $0.strings("SELECT id FROM parent ORDER BY id") }
    }

    /// Puts garbage at a number of the device's log, as many after its last batch.
    private func putGarbage(into device: WorldDevice, after: UInt64 = 1) throws {
        let file = try SyncedFile(device.queue)
        let group = try require(SyncNames.group(of: require(file.group) + "/"))
        let id = try require(SyncNames.group(of: require(file.member) + "/"))
        let member = try require(MemberID(id))
        let log = SyncNames.log(group: group, member: member)
        let last = objects.names.compactMap { SyncNames.number(of: $0, after: log) }.max() ?? 0
        let name = SyncNames.batch(group: group, member: member, number: last + after)
        check(objects.create(name, Data("garbage".utf8)))
    }

    private func expectDamage(_ device: WorldDevice) async throws {
        let error = await #expect(throws: SyncError.self) { try await device.engine.syncOnce() }
        guard case .damaged = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `a device alone does not become another one, and a reset lets it go on`()
        async throws
    {
        let phone = try await WorldDevice.group(["phone"], in: objects)[0]
        try await phone.write("INSERT INTO parent VALUES ('a', 1, NULL)")
        try await phone.engine.syncOnce()
        try putGarbage(into: phone)
        try await expectDamage(phone)
        try await phone.write("INSERT INTO parent VALUES ('b', 1, NULL)")
        try await expectDamage(phone)
        try await check(phone.engine.members().count, equals: 1)
        try await phone.engine.reset()
        try await phone.write("INSERT INTO parent VALUES ('c', 1, NULL)")
        try await phone.engine.syncOnce()
        let laptop = try WorldDevice("laptop", objects)
        try await laptop.join(phone)
        try check(parents(laptop), equals: ["a", "b", "c"])
        try await check(laptop.engine.members().count, equals: 2)
    }

    @Test
    func `devices whose logs are all taken go on receiving, and one reset brings them together`()
        async throws
    {
        let devices = try await WorldDevice.group(["phone", "laptop", "desk"], in: objects)
        try await settle(devices)
        for device in devices[..<2] { try putGarbage(into: device) }
        for device in devices {
            try await device.write("INSERT INTO parent VALUES ('\(device.name)', 1, NULL)")
        }
        // The others' logs wait for it, and its own is sent.
        try await expectDamage(devices[2])
        for device in devices[..<2] {
            try await expectDamage(device)
            try check(parents(device), equals: ["desk", device.name])
        }
        try putGarbage(into: devices[2])
        try await expectDamage(devices[2])
        try await devices[1].engine.reset()
        try await settle(devices)
        for device in devices { try check(parents(device), equals: ["desk", "laptop", "phone"]) }
        try await check(devices[0].engine.members().count, equals: 3)
    }

    @Test func `an object far beyond a log's end does not stop its member`() async throws {
        let phone = try await WorldDevice.group(["phone"], in: objects)[0]
        try putGarbage(into: phone, after: 1000)
        for name in ["a", "b"] {
            try await phone.write("INSERT INTO parent VALUES ('\(name)', 1, NULL)")
            try await phone.engine.syncOnce()
        }
    }

    @Test func `a device whose log has not begun does not become another one`() async throws {
        let phone = try await WorldDevice.group(["phone"], in: objects)[0]
        let laptop = try WorldDevice("laptop", objects)
        try await laptop.write("INSERT INTO parent VALUES ('a', 1, NULL)")
        try await laptop.engine.join(
            try await phone.engine.invite(.once), deviceName: "laptop", localRows: .keep)
        try putGarbage(into: laptop)
        try await expectDamage(laptop)
        try await check(laptop.engine.members().count, equals: 2)
        try await laptop.engine.reset()
        try await settle([phone, laptop])
        try check(parents(phone), equals: ["a"])
    }
}
