import Foundation
import SecureKeys
import SecureStorage
import SecureStoragePlatform
import TestSupport
import Testing

@testable import SecureSync
@testable import SecureSyncTests
@testable import SyncSimulator

/// Keys that change by themselves.
struct SyncRotationTests {
    private let objects = SimulatedObjects()

    /// The newest key that can be got out of the chain with a member's keys.
    private func newestEpoch(_ keys: MemberKeys) throws -> UInt64 {
        let chain = objects.all.filter { $0.key.contains("/m/") }.sorted { $0.key < $1.key }
        let entries = chain.map(\.value)
        let group = try ChainEntry(reading: try require(entries.first)).group
        return try require(OpenableKeys(entries, [keys], group: group).epochs.max())
    }

    /// Writes a row and returns the number of the key that seals it.
    private func epochOfNextBatch(_ device: SimulatedDevice) async throws -> UInt64 {
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
        let anna = try SimulatedDevice("anna", objects)
        let ben = try SimulatedDevice("ben", objects)
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
        try check(!ben.keyStore.names().contains { $0.hasPrefix("securestorage-sync") })
        let epoch = try await epochOfNextBatch(anna)
        try check(newestEpoch(benKeys) < epoch)
        // Once is enough.
        try await check(epochOfNextBatch(anna), equals: epoch)
    }

    /// Anna, who is an admin, and Ben.
    private func pair(_ role: SyncMember.Role) async throws -> (SimulatedDevice, SimulatedDevice) {
        let anna = try SimulatedDevice("anna", objects)
        let ben = try SimulatedDevice("ben", objects)
        try await anna.engine.createGroup(deviceName: "anna")
        try await ben.engine.join(
            try await anna.engine.invite(.once, role: role), deviceName: "ben",
            localRows: .discard)
        for device in [ben, anna] { try await device.engine.syncOnce() }
        return (anna, ben)
    }

    private func keys(of device: SimulatedDevice) throws -> MemberKeys {
        let name = try require(device.keyStore.names().first { $0.contains("securestorage-sync") })
        return try MemberKeys(named: name, in: device.keyStore)
    }

    @Test(arguments: [SyncMember.Role.admin, .writer])
    func `a thief who has read a key store reads nothing after its device has changed the keys`(
        _ role: SyncMember.Role
    ) async throws {
        let (anna, ben) = try await pair(role)
        _ = try await epochOfNextBatch(anna)
        let stolen = try keys(of: ben)
        try await ben.engine.rotateKey()
        // A writer asks for it, and the next admin that writes does it.
        let epoch = try await epochOfNextBatch(anna)
        try check(newestEpoch(stolen) < epoch)
        try await check(epochOfNextBatch(ben), equals: epoch)
        try await anna.engine.syncOnce()
        try check(ben.rows(), equals: anna.rows())
    }

    @Test func `keys that are older than the interval are replaced by those who write`()
        async throws
    {
        let (anna, ben) = try await pair(.writer)
        let epoch = try await epochOfNextBatch(anna)
        let stolen = [try keys(of: anna), try keys(of: ben)]
        for device in [anna, ben] {
            device.engine.rotation.withLock { $0 = .milliseconds(20) }
        }
        try await Task.sleep(for: .milliseconds(30))
        // A reader changes nothing.
        try await ben.engine.syncOnce()
        try check(keys(of: ben).publicKeys == stolen[1].publicKeys)
        _ = try await epochOfNextBatch(ben)
        try check(keys(of: ben).publicKeys != stolen[1].publicKeys)
        // After what is written now.
        _ = try await epochOfNextBatch(anna)
        for device in [anna, ben] { device.engine.rotateKey(every: nil) }
        let next = try await epochOfNextBatch(anna)
        check(next > epoch)
        for keys in stolen { try check(newestEpoch(keys) < next) }
        try await check(epochOfNextBatch(ben), equals: next)
        try await Task.sleep(for: .milliseconds(30))
        try await check(epochOfNextBatch(anna), equals: next)
    }

    @Test func `a member that leaves keeps no keys of a former self that was removed`() async throws
    {
        let devices = try await SimulatedDevice.group(["anna", "ben"], in: objects)
        let (anna, ben) = (devices[0], devices[1])
        let backup = try ben.database.copiedFiles()
        try await ben.write("REPLACE INTO setting VALUES ('a', 0, 0, 0)")
        try await ben.engine.syncOnce()
        try ben.restore(backup)
        try await ben.write("REPLACE INTO setting VALUES ('b', 0, 0, 0)")
        check(try await ben.engine.syncOnce().hasForked)
        func keys() throws -> Int {
            try ben.keyStore.names().count { $0.hasPrefix("securestorage-sync") }
        }
        try check(keys(), equals: 2)
        try await anna.engine.syncOnce()
        let members = try await anna.engine.members().filter { $0.name == "ben" }
        try await anna.engine.remove(
            require(members.first { $0.forkOf == nil }),
            keeping: members.filter { $0.forkOf != nil })
        try await ben.engine.leave()
        try check(keys(), equals: 0)
    }

    @Test func `a member from which the store hides this device's batches confirms none of them`()
        async throws
    {
        let devices = try await SimulatedDevice.group(["anna", "ben"], in: objects)
        let (anna, ben) = (devices[0], devices[1])
        func unconfirmed() async throws -> Int {
            try await anna.engine.syncOnce()
            let members = try await anna.engine.members()
            return try require(members.first { $0.name == "ben" }?.unconfirmedBatches)
        }
        func write(_ value: Int) async throws {
            for device in [ben, anna] {
                try await device.write(
                    "REPLACE INTO setting VALUES ('\(device.name)', 0, \(value), 0)")
                try await device.engine.syncOnce()
            }
        }
        for _ in 0..<3 { try await write(0) }
        // The last ones are confirmed with the next batch.
        try await check(unconfirmed() <= 2)
        let log = "/d/\(try await AdversaryGroup.id(of: anna))/"
        let known = objects.names
        for value in 1...3 {
            try await write(value)
            let hidden = objects.names.filter { !known.contains($0) && $0.contains(log) }
            ben.store.show(Dictionary(uniqueKeysWithValues: hidden.map { ($0, Data?.none) }))
        }
        try await check(unconfirmed() >= 3)
        ben.store.show([:])
        for value in 4...5 { try await write(value) }
        try await check(unconfirmed() <= 2)
        for member in try await anna.engine.members() where member.isThisDevice {
            check(member.unconfirmedBatches, equals: nil)
        }
    }

    @Test func `a member from which the store hides a new key is shown to write with an old one`()
        async throws
    {
        let anna = try SimulatedDevice("anna", objects)
        let ben = try SimulatedDevice("ben", objects, clockOffset: 2 * 86_400_000)
        try await anna.engine.createGroup(deviceName: "anna")
        try await ben.join(anna)
        func isMarked() async throws -> Bool? {
            try await anna.engine.syncOnce()
            return try await anna.engine.members().first { $0.name == "ben" }?.missesNewKey
        }
        let epoch = try await epochOfNextBatch(ben)
        try await check(isMarked(), equals: false)
        let known = objects.names
        try await anna.engine.rotateKey()
        let new = objects.names.filter { !known.contains($0) && $0.contains("/m/") }
        ben.store.show(Dictionary(uniqueKeysWithValues: new.map { ($0, Data?.none) }))
        try await check(epochOfNextBatch(ben), equals: epoch)
        try await check(isMarked(), equals: true)
        ben.store.show([:])
        try await check(epochOfNextBatch(ben) > epoch)
        try await check(isMarked(), equals: false)
    }

    @Test func `a device whose keys its copy has replaced says so, and joins again with its rows`()
        async throws
    {
        let (anna, ben) = try await pair(.writer)
        let copy = try SimulatedDevice(copyOf: ben, "copy", keyStore: ben.copiedKeys())
        try await ben.write("INSERT INTO parent VALUES ('unsent', 'ben', NULL)")
        try await copy.engine.rotateKey()
        for device in [copy, anna] {
            try await device.write("INSERT INTO parent VALUES ('\(device.name)', 'x', NULL)")
            try await device.engine.syncOnce()
        }
        await #expect(throws: SyncError.keysReplaced) { try await ben.engine.syncOnce() }
        try await ben.engine.join(
            try await anna.engine.invite(.once), deviceName: "ben", localRows: .keep)
        for _ in 0..<3 { for device in [ben, anna, copy] { try await device.engine.syncOnce() } }
        for device in [ben, copy] { try check(device.rows(), equals: anna.rows()) }
        try check(anna.rows().contains { $0.contains("'unsent'") })
    }
}
