import SecureSync

@testable import SyncWorlds

extension WorldDevice {
    /// A year, in milliseconds.
    static let year: Int64 = 365 * 24 * 3_600_000

    /// Two devices of a group, and one whose clock is a year behind: the others take what it has
    /// sent for a year old.
    static func groupWithClockBehind(
        in objects: WorldObjects
    ) async throws -> (phone: WorldDevice, tablet: WorldDevice, laptop: WorldDevice) {
        let (phone, tablet) = (try WorldDevice("d0", objects), try WorldDevice("d1", objects))
        let laptop = try WorldDevice("d2", objects, clockOffset: -year)
        try await phone.engine.createGroup(deviceName: "d0")
        for device in [tablet, laptop] {
            try await device.engine.join(
                try await phone.engine.invite(.once), deviceName: device.name, localRows: .keep)
        }
        return (phone, tablet, laptop)
    }
}
