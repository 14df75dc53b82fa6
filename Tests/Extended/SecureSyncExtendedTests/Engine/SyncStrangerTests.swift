import Foundation
import SecureStorage
import SecureSync
import TestSupport
import Testing

@testable import SyncSimulator
@testable import SecureSyncTests

/// What a stranger has put into a store under names of a member's log: bytes that the member has
/// not signed.
struct SyncStrangerTests {
    private let objects = SimulatedObjects()

    private func settle(_ devices: [SimulatedDevice]) async throws {
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
    }

    private func parents(_ device: SimulatedDevice) throws -> [String?] {
        try device.queue.read { try $0.strings("SELECT id FROM parent ORDER BY id") }
    }

    private func log(of device: SimulatedDevice) throws -> (group: Data, member: MemberID) {
        let file = try SyncedFile(device.queue)
        let group = try require(SyncNames.group(of: require(file.group) + "/"))
        let id = try require(SyncNames.group(of: require(file.member) + "/"))
        return (group, try require(MemberID(id)))
    }

    /// Puts garbage at a number of the device's log, as many after its last batch.
    private func putGarbage(
        into device: SimulatedDevice, after: UInt64 = 1, attempt: UInt64 = 0, size: Int = 7
    ) throws {
        let (group, member) = try log(of: device)
        let log = SyncNames.log(group: group, member: member)
        let last = objects.names.compactMap { SyncNames.number(of: $0, after: log) }.max() ?? 0
        let name = SyncNames.batch(
            group: group, member: member, number: last + after, attempt: attempt)
        check(objects.create(name, Data(count: size)))
    }

    private func putGarbage(under name: (Data) -> String, in device: SimulatedDevice) throws {
        check(objects.create(name(try log(of: device).group), Data("garbage".utf8)))
    }

    /// What the members write reaches all of them, and a newcomer.
    private func expectAllIsWell(_ devices: [SimulatedDevice]) async throws {
        for device in devices {
            try await device.write("INSERT INTO parent VALUES ('\(device.name)', 1, NULL)")
        }
        try await settle(devices)
        let guest = try SimulatedDevice("newcomer", objects)
        try await guest.join(devices[0])
        try await settle(devices + [guest])
        for device in devices + [guest] {
            try check(parents(device), equals: devices.map(\.name).sorted())
            try await check(device.engine.members().count, equals: devices.count + 1)
            try await check(device.engine.verify().isSound)
        }
    }

    @Test(arguments: [1, 2, 5, 1000] as [UInt64])
    func `garbage at or after the end of every log stops nobody`(_ after: UInt64) async throws {
        let devices = try await SimulatedDevice.group(["desk", "laptop", "phone"], in: objects)
        try await settle(devices)
        for device in devices { try putGarbage(into: device, after: after) }
        try await expectAllIsWell(devices)
    }

    @Test func `a number of which many names are taken goes under the next one`() async throws {
        let devices = try await SimulatedDevice.group(["desk", "phone"], in: objects)
        try await settle(devices)
        for device in devices {
            try putGarbage(into: device, size: SealedObject.longest + 1)
            for attempt in 1...11 as ClosedRange<UInt64> {
                // Its own number has changed the last one.
                try putGarbage(into: device, after: 0, attempt: attempt)
            }
        }
        try await expectAllIsWell(devices)
        let (group, member) = try log(of: devices[0])
        let log = SyncNames.log(group: group, member: member)
        check(objects.names.contains { SyncNames.batch(of: $0, after: log)?.attempt == 12 })
    }

    @Test func `garbage in the log of a member that was removed stops nobody`() async throws {
        let devices = try await SimulatedDevice.group(["desk", "phone", "tablet"], in: objects)
        try await settle(devices)
        let tablet = try require(
            await devices[0].engine.members().first { $0.name == "tablet" })
        try await devices[0].engine.remove(tablet)
        for after in 1...3 as ClosedRange<UInt64> {
            try putGarbage(into: devices[2], after: after == 1 ? 1 : 2)
        }
        try await expectAllIsWell([devices[0], devices[1]])
    }

    @Test func `garbage as the next snapshots, entries and successors stops nobody`() async throws {
        let devices = try await SimulatedDevice.group(["desk", "phone"], in: objects)
        try await settle(devices)
        for number in 3...8 as ClosedRange<UInt64> {
            try putGarbage(under: { SyncNames.snapshot(group: $0, number: number) }, in: devices[0])
            try putGarbage(
                under: { SyncNames.chainEntry(group: $0, number: number + 2) }, in: devices[0])
            try putGarbage(
                under: { SyncNames.successor(group: $0, number: number) }, in: devices[0])
        }
        try await expectAllIsWell(devices)
    }

    @Test func `a device whose log has not begun does not become another one`() async throws {
        let phone = try await SimulatedDevice.group(["phone"], in: objects)[0]
        let laptop = try SimulatedDevice("laptop", objects)
        try await laptop.write("INSERT INTO parent VALUES ('a', 1, NULL)")
        try await laptop.engine.join(
            try await phone.engine.invite(.once, role: .admin), deviceName: "laptop",
            localRows: .keep)
        try putGarbage(into: laptop)
        try await settle([laptop, phone])
        try await check(laptop.engine.members().count, equals: 2)
        try check(parents(phone), equals: ["a"])
    }
}
