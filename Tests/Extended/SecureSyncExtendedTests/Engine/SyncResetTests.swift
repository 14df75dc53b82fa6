import Foundation
@testable import ObjectStores
import SecureKeys
import SecureStorage
import SecureSync
import TestSupport
import Testing

@testable import SyncSimulator
@testable import SecureSyncTests

/// A group that is reset, in its store or in another one.
struct SyncResetTests {
    private let objects = SimulatedObjects()

    private func group(_ names: String...) async throws -> [SimulatedDevice] {
        let devices = try await SimulatedDevice.group(names, in: objects)
        try await settle(devices)
        return devices
    }

    private func settle(_ devices: [SimulatedDevice]) async throws {
        for _ in 0..<4 { for device in devices { try await device.engine.syncOnce() } }
    }

    private func parents(_ device: SimulatedDevice) throws -> [String?] {
        try device.queue.read {
            try $0.strings("SELECT id || ' ' || name FROM parent ORDER BY id")
        }
    }

    @Test func `after a store has lost everything, the group has what each device has`()
        async throws
    {
        let devices = try await group("phone", "laptop", "desk")
        try await devices[0].write(
            "INSERT INTO parent VALUES ('a', 1, NULL), ('b', 1, NULL), ('c', 1, NULL)")
        try await settle(devices)
        // Only the laptop gets this edit of the desk's.
        try await devices[2].write("UPDATE parent SET name = 'desk' WHERE id = 'a'")
        try await devices[2].engine.syncOnce()
        try await devices[1].engine.syncOnce()
        try await devices[1].write("DELETE FROM parent WHERE id = 'b'")
        try await devices[1].write("INSERT INTO parent VALUES ('d', 'laptop', NULL)")
        try await devices[0].write("UPDATE parent SET name = 'phone' WHERE id = 'c'")
        objects.putBack([:])
        for device in devices {
            await #expect(throws: SyncError.self) { try await device.engine.syncOnce() }
        }
        try await devices[0].engine.reset(force: true)
        // The desk never comes back.
        try await settle([devices[0], devices[1]])
        for device in devices[..<2] {
            try check(parents(device), equals: ["a desk", "c phone", "d laptop"])
        }
        try await settle(devices)
        try check(devices[2].rows(), equals: devices[0].rows())
        let names = try await devices[2].engine.members().map(\.name)
        check(Set(names), equals: ["phone", "laptop", "desk"])
    }

    @Test func `after a store was put back, what had been synced since comes from the devices`()
        async throws
    {
        let devices = try await group("phone", "laptop")
        let old = objects.all
        try await devices[1].write("INSERT INTO parent VALUES ('late', 1, NULL)")
        try await settle(devices)
        // Joined since: the store knows nothing of it.
        let tablet = try SimulatedDevice("tablet", objects)
        try await tablet.engine.join(
            try await devices[0].engine.invite(.once, role: .admin), deviceName: "tablet",
            localRows: .keep)
        try await tablet.write("INSERT INTO parent VALUES ('new', 1, NULL)")
        try await settle(devices + [tablet])
        objects.putBack(old)
        await #expect(throws: SyncError.self) { try await devices[1].engine.syncOnce() }
        try await tablet.engine.reset()
        try await settle(devices + [tablet])
        try check(parents(devices[0]), equals: ["late 1", "new 1"])
        try check(devices[1].rows(), equals: devices[0].rows())
        try check(tablet.rows(), equals: devices[0].rows())
    }

    @Test
    func `a group that a member has passed by is known to it when the store is put back to it`()
        async throws
    {
        let devices = try await group("phone", "laptop", "tablet")
        // The tablet is away all the time.
        try await devices[2].write("INSERT INTO parent VALUES ('tablet', 1, NULL)")
        try await devices[0].engine.reset()
        let between = objects.all
        try await devices[0].engine.reset()
        // Continues in the last of the three.
        try await devices[1].engine.syncOnce()
        objects.putBack(between)
        try await devices[1].engine.reset()
        try await settle([devices[2], devices[0], devices[1]])
        for device in devices { try check(parents(device), equals: ["tablet 1"]) }
    }

    @Test func `an old copy of a file does not continue its member's log, and loses nothing`()
        async throws
    {
        let devices = try await group("phone", "laptop")
        let copy = try SimulatedDevice(copyOf: devices[0], "copy")
        try await copy.write("INSERT INTO parent VALUES ('copy', 1, NULL)")
        // Until the stable point is above what the copy has not sent.
        for round in 0..<40 {
            for device in devices {
                try await device.write(
                    "REPLACE INTO setting VALUES ('\(device.name)', 0, \(round), 0)")
                try await device.engine.syncOnce()
            }
        }
        try await devices[1].engine.reset()
        // Before the phone, whose log in the new group is empty.
        try await settle([copy, devices[0], devices[1]])
        for device in devices + [copy] { try check(parents(device), equals: ["copy 1"]) }
        try check(copy.rows(), equals: devices[0].rows())
        try await check(devices[1].engine.members().count, equals: 3)
    }

    @Test
    func `a device that was away until its log was closed finds a new group and loses nothing`()
        async throws
    {
        let (phone, tablet, laptop) = try await SimulatedDevice.groupWithClockBehind(in: objects)
        try await laptop.write("INSERT INTO parent VALUES ('sent', 1, NULL)")
        try await settle([phone, tablet, laptop])
        try await laptop.write("INSERT INTO parent VALUES ('unsent', 1, NULL)")
        try await laptop.write("UPDATE parent SET name = 2 WHERE id = 'sent'")
        for round in 0..<40 {
            for device in [phone, tablet] {
                try await device.write(
                    "REPLACE INTO setting VALUES ('\(device.name)', 0, \(round), 0)")
                try await device.engine.syncOnce()
            }
        }
        try await phone.engine.reset()
        try await settle([laptop, phone, tablet])
        for device in [phone, tablet] {
            try check(device.rows(), equals: laptop.rows())
            try check(parents(device).contains("unsent 1"))
        }
        let edit = try parents(laptop).contains("sent 2")
        try check(edit || laptop.engine.conflicts(in: "parent").count == 1)
    }

    @Test func `a group moves to another store, and who looks at the old one learns it`()
        async throws
    {
        let devices = try await group("phone", "laptop")
        try await devices[1].write("INSERT INTO parent VALUES ('a', 'laptop', NULL)")
        try await devices[1].engine.syncOnce()
        let moved = SimulatedObjects()
        try await devices[0].engine.moveGroup(to: SimulatedStore(moved))
        try check(parents(devices[0]), equals: ["a laptop"])
        try await devices[0].write("INSERT INTO parent VALUES ('b', 'phone', NULL)")
        try await devices[0].engine.syncOnce()
        try await devices[1].write("INSERT INTO parent VALUES ('c', 'laptop', NULL)")
        await #expect(throws: SyncError.groupHasMoved) { try await devices[1].engine.syncOnce() }

        let engine = try SyncEngine(
            devices[1].queue, tables: SimulatedDevice.tables(.first), store: SimulatedStore(moved),
            keyStore: devices[1].keyStore)
        try await engine.syncOnce()
        try await devices[0].engine.syncOnce()
        try check(parents(devices[0]), equals: ["a laptop", "b phone", "c laptop"])
        try check(devices[1].rows(), equals: devices[0].rows())
        check(objects.names.allSatisfy { !moved.names.contains($0) || $0.contains("/m/") })
    }

    @Test func `a device that died in any call continues, and nobody is left behind`() async throws
    {
        for calls in stride(from: 0, to: .max, by: SuddenDeath.step(5)) {
            let devices = try await group("phone", "laptop")
            try await devices[1].write("INSERT INTO parent VALUES ('a', 'laptop', NULL)")
            devices[0].store.setFaults { $0.callsUntilKill = calls }
            do {
                try await devices[0].engine.reset()
                check(calls > 10)
                return
            } catch is SimulatedStore.Killed {
                try devices[0].killAndReopen()
            }
            try await settle(devices)
            try await devices[0].write("INSERT INTO parent VALUES ('b', 'phone', NULL)")
            try await devices[1].engine.reset()
            try await settle(devices)
            try check(parents(devices[0]), equals: ["a laptop", "b phone"], "\(calls)")
            try check(parents(devices[1]), equals: ["a laptop", "b phone"], "\(calls)")
            objects.putBack([:])
        }
    }

    @Test func `a removed member's new beginning counts for nobody`() async throws {
        let devices = try await group("phone", "laptop", "ruth")
        let ruth = try SimulatedDevice(copyOf: devices[2], "ruth", in: objects)
        let before = objects.all
        let member = try await require(
            devices[0].engine.members().first { $0.name == "ruth" })
        try await devices[0].engine.remove(member)
        try await settle(Array(devices[..<2]))
        // It is shown the store as it was.
        ruth.store.show(
            Dictionary(
                uniqueKeysWithValues: objects.names.filter { before[$0] == nil }
                    .map { ($0, Data?.none) }))
        try await ruth.engine.reset()
        check(objects.names.contains { $0.contains("/m/n") })
        try await devices[0].write("INSERT INTO parent VALUES ('a', 'phone', NULL)")
        try await settle(Array(devices[..<2]))
        try check(parents(devices[1]), equals: ["a phone"])
        try await check(devices[1].engine.members().map(\.name), equals: ["phone", "laptop"])
    }

    /// A phone that has removed Ruth, a laptop that did not hear of it before the store was put
    /// back, and has reset the group, and Ruth's device.
    private func groupThatBringsRuthBack() async throws -> [SimulatedDevice] {
        let devices = try await group("phone", "laptop", "ruth")
        let before = objects.all
        let member = try await require(
            devices[0].engine.members().first { $0.name == "ruth" })
        try await devices[0].engine.remove(member)
        objects.putBack(before)
        try await devices[1].engine.reset()
        return devices
    }

    @Test func `a member that a new beginning brings back is removed again`() async throws {
        let devices = try await groupThatBringsRuthBack()
        try await settle(Array(devices[..<2]))
        try await check(
            devices[1].engine.members().map(\.name).sorted(), equals: ["laptop", "phone"])
        await #expect(throws: SyncError.notAMember) { try await devices[2].engine.syncOnce() }
        // Its file knows nothing of its removal, and yet it can join again.
        try await devices[2].write("INSERT INTO parent VALUES ('a', 'ruth', NULL)")
        try await devices[2].engine.join(
            try await devices[1].engine.invite(.once, role: .admin), deviceName: "ruth",
            localRows: .keep)
        try await settle(devices)
        try check(parents(devices[0]), equals: ["a ruth"])
    }

    @Test func `a device that dies while it removes a member again does it later`() async throws {
        for calls in stride(from: 0, to: 40, by: SuddenDeath.step(5)) {
            objects.putBack([:])
            let devices = try await groupThatBringsRuthBack()
            devices[0].store.setFaults { $0.callsUntilKill = calls }
            do {
                try await devices[0].engine.syncOnce()
                check(calls > 10)
                return
            } catch is SimulatedStore.Killed {
                try devices[0].killAndReopen()
            }
            try await settle(Array(devices[..<2]))
            let names = try await devices[1].engine.members().map(\.name).sorted()
            check(names, equals: ["laptop", "phone"], "after \(calls) calls")
        }
        Issue.record("it never came to an end")
    }

    @Test func `a member that the new group does not know joins again`() async throws {
        let devices = try await group("phone", "laptop")
        let old = objects.all
        let tablet = try SimulatedDevice("tablet", objects)
        try await tablet.engine.join(
            try await devices[1].engine.invite(.once, role: .admin), deviceName: "tablet",
            localRows: .keep)
        try await tablet.engine.syncOnce()
        try await tablet.write("INSERT INTO parent VALUES ('a', 'tablet', NULL)")
        objects.putBack(old)
        // Neither has heard of the tablet's rows, and the laptop, which knows it, is gone.
        try await devices[0].engine.reset()
        let error = await #expect(throws: SyncError.self) { try await tablet.engine.syncOnce() }
        check(error?.isTransient, equals: true)
        try await tablet.engine.join(
            try await devices[0].engine.invite(.once, role: .admin), deviceName: "tablet",
            localRows: .keep)
        try await settle([tablet, devices[0]])
        try check(parents(devices[0]), equals: ["a tablet"])
        await #expect(throws: SyncError.alreadyMember) {
            try await tablet.engine.createGroup(deviceName: "tablet")
        }
    }

    @Test func `a code for recovery stays valid, and an invitation of before does not`()
        async throws
    {
        let devices = try await group("phone")
        let invitation = try await devices[0].engine.invite(.once, role: .admin)
        let recovery = try await devices[0].engine.invite(.recovery, role: .admin)
        try await devices[0].write("INSERT INTO parent VALUES ('a', 'phone', NULL)")
        for _ in 0..<2 { try await devices[0].engine.reset() }
        let laptop = try SimulatedDevice("laptop", objects)
        let error = await #expect(throws: SyncError.self) {
            try await laptop.engine.join(invitation, deviceName: "laptop", localRows: .keep)
        }
        guard case .invitationNotAccepted(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        check(reason.contains("was reset"))
        try await laptop.engine.join(recovery, deviceName: "laptop", localRows: .keep)
        try await settle([devices[0], laptop])
        try check(parents(laptop), equals: ["a phone"])
        let kinds = try await devices[0].engine.members().map(\.kind)
        check(kinds.filter { $0 == .device }.count, equals: 2)
        check(kinds.filter { $0 == .recovery }.count, equals: 1)
    }

    @Test func `a device that was removed, or has lost its keys, joins again`() async throws {
        let devices = try await group("phone", "laptop")
        let member = try await require(
            devices[0].engine.members().first { $0.name == "laptop" })
        try await devices[0].engine.remove(member)
        await #expect(throws: SyncError.notAMember) { try await devices[1].engine.syncOnce() }
        try await devices[1].write("INSERT INTO parent VALUES ('a', 'laptop', NULL)")
        try await devices[1].engine.join(
            try await devices[0].engine.invite(.once, role: .admin), deviceName: "laptop",
            localRows: .keep)
        try await settle(devices)
        try check(parents(devices[0]), equals: ["a laptop"])

        let engine = try SyncEngine(
            devices[1].queue, tables: SimulatedDevice.tables(.first),
            store: SimulatedStore(objects),
            keyStore: InMemoryKeyStore())
        await #expect(throws: KeyStoreError.self) { try await engine.syncOnce() }
        try await engine.join(
            try await devices[0].engine.invite(.once, role: .admin), deviceName: "new",
            localRows: .keep)
        try await devices[0].write("INSERT INTO parent VALUES ('b', 'phone', NULL)")
        try await devices[0].engine.syncOnce()
        try await engine.syncOnce()
        try check(parents(devices[1]), equals: ["a laptop", "b phone"])
        await #expect(throws: SyncError.alreadyMember) {
            try await engine.createGroup(deviceName: "new")
        }
    }

    @Test func `a file that is in no group cannot reset one`() async throws {
        let device = try SimulatedDevice("phone", objects)
        await #expect(throws: SyncError.notAMember) { try await device.engine.reset() }
        await #expect(throws: SyncError.notAMember) {
            try await device.engine.moveGroup(to: SimulatedStore(SimulatedObjects()))
        }
    }
}
