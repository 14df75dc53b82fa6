import SecureStorage
import SecureSync
import TestSupport
import Testing

@testable import SyncSimulator
@testable import SecureSyncTests

/// What an app writes while its device's log begins, in tries that die: all devices have the same
/// rows in the end.
struct SyncOwnRowsTests {
    @Test func `an edit of the group's row is sent, although the file had a row of its key`()
        async throws
    {
        try await begin(with: "INSERT INTO parent VALUES ('a', 'own', NULL)") { time in
            "UPDATE parent SET code = '\(time)' WHERE id = 'a' AND name = 'group'"
        }
    }

    @Test func `a new row that is edited is sent as it is`() async throws {
        try await begin { time in
            """
            INSERT INTO parent VALUES ('new', \(time), NULL)
            ON CONFLICT DO UPDATE SET name = excluded.name
            """
        }
    }

    @Test func `a row that replaces the group's, and is edited, is sent as it is`() async throws {
        try await begin(with: "INSERT INTO parent VALUES ('a', 'own', NULL)") { time in
            time == 1
                ? "REPLACE INTO parent VALUES ('a', 'again', NULL)"
                : "UPDATE parent SET code = 'later' WHERE id = 'a'"
        }
    }

    /// A device with a row joins, dies in any call, writes, dies again, and writes once more.
    private func begin(
        with row: String = "", _ write: (_ time: Int) -> String
    ) async throws {
        var hasEnded = false
        for calls in stride(from: 1, to: 40, by: SuddenDeath.step(4)) where !hasEnded {
            for later in [5, 8] {
                let objects = SimulatedObjects()
                // Its row comes with its log, after the first snapshot.
                let phone = try await SimulatedDevice.group(["phone"], in: objects)[0]
                try await phone.write("INSERT INTO parent VALUES ('a', 'group', NULL)")
                let laptop = try SimulatedDevice("laptop", objects)
                try await laptop.write(row)
                try await laptop.engine.join(
                    try await phone.engine.invite(.once, role: .admin), deviceName: "laptop",
                    localRows: .keep)
                for time in 1...2 {
                    // Before it is applied, what the laptop has written is put aside.
                    try await phone.write("REPLACE INTO setting VALUES ('phone', 0, \(time), 0)")
                    try await phone.engine.syncOnce()
                    laptop.store.setFaults { $0.callsUntilKill = time == 1 ? calls : later }
                    do {
                        try await laptop.engine.syncOnce()
                        hasEnded = hasEnded || time == 1
                    } catch is SimulatedStore.Killed {}
                    try laptop.killAndReopen()
                    try await laptop.write(write(time))
                }
                for device in [laptop, phone, laptop] { try await device.engine.syncOnce() }
                try check(laptop.rows(), equals: phone.rows(), "after \(calls) and \(later) calls")
            }
        }
        check(hasEnded)
    }

    @Test func `a row whose deletion has come too late is edited on all devices alike`()
        async throws
    {
        let objects = SimulatedObjects()
        let devices = try await SimulatedDevice.group(["phone", "laptop"], in: objects)
        let (phone, laptop) = (devices[0], devices[1])
        try await phone.write("INSERT INTO parent VALUES ('a', 'group', NULL)")
        for device in devices + devices { try await device.engine.syncOnce() }
        // It has deleted the row, and was away until the stable point was above that.
        let file = try SimulatedDevice(copyOf: laptop, "copy")
        try await file.write("DELETE FROM parent WHERE id = 'a'")
        file.store.watchCreations(
            .init(before: { name in if name.contains("/d/") { throw SimulatedStore.Killed() } }))
        await #expect(throws: SimulatedStore.Killed.self) { try await file.engine.syncOnce() }
        try await SimulatedDevice.writeSnapshots(phone, laptop)

        var (hasEnded, lost) = (false, 0)
        for calls in stride(from: 1, to: 60, by: SuddenDeath.step(4)) where !hasEnded {
            let all = SimulatedObjects(objects.all)
            let host = try SimulatedDevice(copyOf: phone, "phone", in: all)
            let copy = try SimulatedDevice(copyOf: file, "copy", in: all)
            copy.store.setFaults { $0.callsUntilKill = calls }
            do {
                try await copy.engine.syncOnce()
                hasEnded = true
            } catch is SimulatedStore.Killed {}
            try copy.killAndReopen()
            try await copy.write("UPDATE parent SET name = '\(calls)' WHERE id = 'a'")
            for device in [copy, host, copy] { try await device.engine.syncOnce() }
            try check(copy.rows(), equals: host.rows(), "after \(calls) calls")
            lost += try copy.engine.conflicts().filter { $0.reason == .deletionLost }.count
        }
        check(hasEnded)
        check(lost > 0)
    }
}
