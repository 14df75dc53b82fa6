import SecureStorage
import SecureSync

extension SimulatedGroup {
    /// Lets everything work and all sync until nothing is to be done, and compares the devices.
    mutating func heal() async throws {
        for device in devices {
            device.store.setFaults {
                ($0.failures, $0.callsUntilKill, $0.isOffline, $0.isVanished) = (
                    0, nil, false, false
                )
            }
            try mendUntold(device)
            if device.version == .first { try device.upgrade() }
        }
        for round in 0... {
            guard round < 30 else { throw Broken(description: "it never comes to rest") }
            var isQuiet = true
            for device in devices {
                do {
                    try await watching(device) { simulation in
                        let report = try await device.engine.syncOnce()
                        simulation.note(report)
                        if report.sentBatches + report.appliedTransactions > 0 { isQuiet = false }
                        return true
                    }
                } catch SyncError.keysReplaced where isPerhapsGone(device) {
                    try await joinAgain(device)
                    isQuiet = false
                } catch SyncError.notAMember where isPerhapsGone(device) {
                    drop(device)
                    isQuiet = false
                } catch let error as SyncError where error.isTransient {
                    isQuiet = false
                } catch {
                    throw Broken(description: "\(device.name): \(error) \(try device.journal())")
                }
            }
            if isQuiet { break }
        }
        for device in devices {
            if try device.hasStablePoint() { seen.insert(.stablePoint) }
            for conflict in try device.hidden() { seen.insert(conflict) }
        }
        let rows = try devices.map { try $0.rows() }
        for entry in entries.keys.sorted()
        where !rows[0].contains(where: { $0.contains("'\(entry)'") }) {
            throw Broken(description: "the row \(entry) of \(entries[entry]?.device ?? "") is lost")
        }
        for (device, other) in zip(devices, rows) where other != rows[0] {
            let difference = Set(rows[0]).symmetricDifference(other).sorted()
            throw Broken(
                description: """
                    \(device.name) differs from \(devices[0].name): \(difference)
                    \(try devices.map { "\($0.name): \(try $0.journal())" }.joined(separator: "\n"))
                    """)
        }
        // The newest snapshot has the rows that it should have.
        let device = devices[below(devices.count)]
        for case .damaged(_, let reason) in try await device.engine.verify().problems
        where reason.contains("its rows") {
            throw Broken(description: "\(device.name): \(reason)")
        }
    }
}
