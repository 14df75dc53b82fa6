import Foundation
import SecureSync
import TestSupport
import Testing

@testable import SyncSimulator

/// What a person is told of devices that come into the group.
struct SyncNewMembersTests {
    private let objects = SimulatedObjects()

    private func names(_ device: SimulatedDevice) async throws -> [String] {
        try await device.engine.newMembers().map(\.name)
    }

    @Test func `a device that comes by a code is new to all others until the app knows it`()
        async throws
    {
        let devices = try await SimulatedDevice.group(["anna", "ben"], in: objects)
        let (anna, ben) = (devices[0], devices[1])
        for _ in 0..<2 { for device in devices { try await device.engine.syncOnce() } }
        // The founder has made the code, and somebody has used it.
        try await check(names(anna), equals: ["ben"])
        try await anna.engine.acknowledge(try await anna.engine.newMembers())
        try await check(names(ben), equals: [])
        let code = try await ben.engine.invite(.recovery, role: .writer)
        try await ben.engine.syncOnce()
        let cleo = try SimulatedDevice("cleo", objects)
        try await cleo.engine.join(code, deviceName: "cleo", localRows: .keep)
        for _ in 0..<2 { for device in devices + [cleo] { try await device.engine.syncOnce() } }
        try await check(names(cleo), equals: [])
        let ids = try await anna.engine.members().map(\.id)
        for device in [anna, ben] {
            check(device.engine.status.newMembers, equals: 1)
            let new = try require(try await device.engine.newMembers().first)
            check(new.name, equals: "cleo")
            check(new.addedBy, equals: ids[1])
            try device.killAndReopen()
            try await check(names(device), equals: ["cleo"])
            try await device.engine.acknowledge([new])
            try await check(names(device), equals: [])
            try await device.engine.syncOnce()
            check(device.engine.status.newMembers, equals: 0)
        }
    }

    @Test func `a copy of a device is new, and one that was removed is no longer shown`()
        async throws
    {
        let devices = try await SimulatedDevice.group(["anna", "ben"], in: objects)
        let (anna, ben) = (devices[0], devices[1])
        for device in devices { try await device.engine.syncOnce() }
        try await anna.engine.acknowledge(try await anna.engine.newMembers())
        let copy = try SimulatedDevice(copyOf: ben, "copy")
        for device in [ben, copy] {
            try await device.write("INSERT INTO parent VALUES ('\(device.name)', 'x', NULL)")
            try await device.engine.syncOnce()
        }
        try await anna.engine.syncOnce()
        let new = try require(try await anna.engine.newMembers().first)
        let members = try await anna.engine.members()
        check(new.forkOf, equals: members.first { $0.name == "ben" && $0.id != new.id }?.id)
        try await anna.engine.remove(new)
        try await check(names(anna), equals: [])
        try await anna.engine.syncOnce()
        check(anna.engine.status.newMembers, equals: 0)
    }
}
