import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureSync
@testable import SyncSimulator

/// A device whose clock was far ahead, and is right again.
struct SyncWrongClockTests {
    private let objects = SimulatedObjects()

    @Test
    func `its writes wait, and it continues after it was removed and has joined again`()
        async throws
    {
        let anna = try SimulatedDevice("anna", objects)
        let ben = try SimulatedDevice("ben", objects, clockOffset: 800 * 86_400_000)
        try await anna.engine.createGroup(deviceName: "anna")
        try await ben.join(anna)
        try await ben.write("INSERT INTO parent VALUES ('ahead', 'ben', NULL)")
        try await ben.engine.syncOnce()
        await #expect(throws: SyncError.self) { try await anna.engine.syncOnce() }
        try check(!anna.rows().contains { $0.contains("'ahead'") })

        let engine = try SyncEngine(
            ben.queue, capture: Capture(SimulatedDevice.tables(.first)), store: ben.store,
            keyStore: ben.keyStore)
        let member = try require(try await anna.engine.members().first { $0.name == "ben" })
        try await anna.engine.remove(member)
        try await engine.join(
            try await anna.engine.invite(.once), deviceName: "ben", localRows: .keep)
        try await ben.write("INSERT INTO parent VALUES ('now', 'ben', NULL)")
        for _ in 0..<3 { for engine in [engine, anna.engine] { try await engine.syncOnce() } }
        try check(anna.rows(), equals: ben.rows())
        for row in ["'ahead'", "'now'"] { try check(anna.rows().contains { $0.contains(row) }) }
    }
}
