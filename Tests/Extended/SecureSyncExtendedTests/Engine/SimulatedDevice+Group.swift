import SecureStorage
import SecureSync
import TestSupport
import Testing

@testable import SyncSimulator

extension SimulatedDevice {
    /// A year, in milliseconds.
    static let year: Int64 = 365 * 24 * 3_600_000

    /// Devices of a group: the first has made it, and the others have joined it.
    static func group(
        _ names: [String], in objects: SimulatedObjects,
        policy: SnapshotPolicy = SimulatedDevice.policy
    ) async throws -> [SimulatedDevice] {
        let devices = try names.map { try SimulatedDevice($0, objects, policy: policy) }
        try await devices[0].engine.createGroup(deviceName: devices[0].name)
        for device in devices.dropFirst() { try await device.join(devices[0]) }
        return devices
    }

    /// Two devices of a group, and one whose clock is a year behind: the others take its batches
    /// for a year old.
    static func groupWithClockBehind(
        in objects: SimulatedObjects
    ) async throws -> (phone: SimulatedDevice, tablet: SimulatedDevice, laptop: SimulatedDevice) {
        let (phone, tablet) = (
            try SimulatedDevice("d0", objects), try SimulatedDevice("d1", objects)
        )
        let laptop = try SimulatedDevice("d2", objects, clockOffset: -year)
        try await phone.engine.createGroup(deviceName: "d0")
        for device in [tablet, laptop] {
            try await device.engine.join(
                try await phone.engine.invite(.once, role: .admin), deviceName: device.name,
                localRows: .keep)
        }
        return (phone, tablet, laptop)
    }

    /// Joins the group of another device, and has its rows.
    func join(_ host: SimulatedDevice, _ rows: SyncLocalRows = .keep) async throws {
        try await engine.join(
            try await host.engine.invite(.once, role: .admin), deviceName: name, localRows: rows)
        try await engine.syncOnce()
    }

    func write(_ sql: String) async throws {
        try await queue.write { try $0.executeStatements(sql) }
    }

    /// Batches of some devices of a group, until three snapshots are written and older batches are
    /// gone.
    static func writeSnapshots(_ devices: SimulatedDevice...) async throws {
        var hasWritten = 0
        for number in 0..<60 where hasWritten < 3 {
            for device in devices {
                try await device.write(
                    "REPLACE INTO setting VALUES ('\(device.name)', 0, \(number), 0)")
                if try await device.engine.syncOnce().hasWrittenSnapshot { hasWritten += 1 }
            }
        }
        check(hasWritten, equals: 3)
    }
}
