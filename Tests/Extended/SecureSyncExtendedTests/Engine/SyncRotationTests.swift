import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureSync

@testable import SyncWorlds

/// Keys that change by themselves.
struct SyncRotationTests {
    private let objects = WorldObjects()

    private func state(_ device: WorldDevice) async throws -> MembershipState {
        let chain = objects.all.filter { $0.key.contains("/m/") }.sorted { $0.key < $1.key }
        let member = try await AdversaryGroup.id(of: device)
        return try await SyncGroup(
            resuming: chain.map(\.value), as: member, in: device.store, keyStore: device.keyStore
        ).state
    }

    /// Writes a row and returns the number of the key that seals it.
    private func epochOfNextBatch(_ device: WorldDevice) async throws -> UInt64 {
        try await device.queue.write {
            try $0.executeStatements("REPLACE INTO setting VALUES ('a', 1, random(), NULL)")
        }
        try await device.engine.syncOnce()
        let log = "/d/\(try await AdversaryGroup.id(of: device))/"
        let name = try require(objects.history.last { $0.contains(log) })
        return try SealedBatch(reading: try require(objects.read(name))).header.epoch
    }

    @Test
    func `an invitation that was used and a member that left have no key for later batches`()
        async throws
    {
        let anna = try WorldDevice("anna", objects)
        let ben = try WorldDevice("ben", objects)
        try await anna.engine.createGroup(deviceName: "anna")
        let invitation = try await anna.engine.invite(.once, role: .admin)
        try await ben.engine.join(invitation, deviceName: "ben", localRows: .discard)
        try await ben.engine.syncOnce()
        let benID = try await AdversaryGroup.id(of: ben)

        let guest = MemberKeys(of: invitation.secret).id
        for device in [anna, ben] {
            let epoch = try await epochOfNextBatch(device)
            let known = try await require(state(anna).wrappedKeys(for: guest).keys.max())
            check(known < epoch)
        }

        try await ben.engine.leave()
        let epoch = try await epochOfNextBatch(anna)
        try await check(require(state(anna).wrappedKeys(for: benID).keys.max()) < epoch)
        // Once is enough.
        try await check(epochOfNextBatch(anna), equals: epoch)
    }
}
