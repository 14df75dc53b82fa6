import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureSync
@testable import SecureSyncTests
@testable import SyncWorlds

/// Keys that change by themselves.
struct SyncRotationTests {
    private let objects = WorldObjects()

    /// The newest key that can be got out of the chain with a member's keys.
    private func newestEpoch(_ keys: MemberKeys) throws -> UInt64 {
        let chain = objects.all.filter { $0.key.contains("/m/") }.sorted { $0.key < $1.key }
        let entries = chain.map(\.value)
        let group = try ChainEntry(reading: try require(entries.first)).group
        return try require(OpenableKeys(entries, [keys], group: group).epochs.max())
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
        let name = try require(ben.keyStore.names().first { $0.contains("securestorage-sync") })
        let benKeys = try MemberKeys(named: name, in: ben.keyStore)

        let guest = MemberKeys(of: invitation.secret)
        for device in [anna, ben] {
            let epoch = try await epochOfNextBatch(device)
            try check(newestEpoch(guest) < epoch)
        }

        try await ben.engine.leave()
        let epoch = try await epochOfNextBatch(anna)
        try check(newestEpoch(benKeys) < epoch)
        // Once is enough.
        try await check(epochOfNextBatch(anna), equals: epoch)
    }
}
