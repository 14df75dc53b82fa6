import Crypto
import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureSync
@testable import SecureSyncTests
@testable import SyncSimulator

/// A device that was removed, and that can still create, replace and delete objects of the store:
/// its batches.
struct SyncRevocationTests: InRevokedGroup {
    let group: RevokedGroup

    init() async throws { group = try await RevokedGroup() }

    @Test func `what it writes while its removal is overwritten counts for nobody in the end`()
        async throws
    {
        let removal = try await removeRuth()
        let genuine = try require(objects.read(removal))
        objects.set(removal, Data(count: 100))
        try await write("late", by: ruth)
        try await ruth.engine.syncOnce()
        try await write("by cleo", by: cleo)
        try await cleo.engine.syncOnce()
        // It could not know.
        try check(parents(cleo), equals: ["by cleo", "late"])
        objects.set(removal, genuine)
        try await settle([cleo, anna])
        try await write("by anna", by: anna)
        try await settle([anna, cleo])
        for device in [anna, cleo] {
            try check(parents(device), equals: ["by anna", "by cleo"])
            try await check(device.engine.verify().isSound)
        }
        let members = try await anna.engine.members()
        check(members.map(\.name).sorted(), equals: ["anna", "cleo"])
    }

    @Test func `a removal that one device is not shown makes nothing of the late batches count`()
        async throws
    {
        let removal = try await removeRuth()
        cleo.store.show([removal: nil])
        ruth.store.show([removal: nil])
        try await write("late", by: ruth)
        try await ruth.engine.syncOnce()
        try await write("by cleo", by: cleo)
        try await cleo.engine.syncOnce()
        try check(parents(cleo), equals: ["by cleo", "late"])
        try await write("by anna", by: anna)
        try await anna.engine.syncOnce()
        try check(parents(anna), equals: ["by anna", "by cleo"])
        // What Anna writes now shows it that the store hides a part of the chain.
        let error = await #expect(throws: SyncError.self) { try await cleo.engine.syncOnce() }
        check(error, equals: .withheld(.chain, number: 8))
        cleo.store.show([:])
        try await settle([cleo, anna])
        for device in [anna, cleo] { try check(parents(device), equals: ["by anna", "by cleo"]) }
    }

    @Test func `batches that it puts in the place of those that counted count for nobody`()
        async throws
    {
        let keys = try await keys(of: ruth)
        let before = try last(of: keys)
        try await write("first", by: ruth)
        try await ruth.engine.syncOnce()
        let genuine = try last(of: keys)
        try await anna.engine.syncOnce()
        _ = try await removeRuth()
        let other = try seal(
            "other", keys, number: genuine.batch.header.number, after: before.batch.hash)
        objects.set(genuine.name, other.bytes)
        let error = await #expect(throws: SyncError.self) { try await cleo.engine.syncOnce() }
        guard case .damaged(genuine.name, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try check(parents(cleo), equals: [])
        objects.set(genuine.name, genuine.batch.bytes)
        try await settle([cleo, anna])
        try check(parents(cleo), equals: ["first"])
    }

    @Test(arguments: [false, true])
    func `a batch that makes others wait for what never was does not keep it in the group`(
        _ isAboutAnna: Bool
    ) async throws {
        let keys = try await keys(of: ruth)
        let before = try last(of: keys)
        let victim = try await self.keys(of: isAboutAnna ? anna : cleo).member
        let poison = try seal(
            "poison", keys, number: before.batch.header.number + 1, after: before.batch.hash,
            positions: [BatchPosition(member: victim, number: 1 << 40, hash: Data(count: 16))])
        let name = SyncNames.batch(
            group: keys.group, member: keys.member, number: poison.header.number)
        check(objects.create(name, poison.bytes))
        await #expect(throws: SyncError.self) { try await anna.engine.syncOnce() }
        _ = try await removeRuth()
        try await write("by anna", by: anna)
        try await write("by cleo", by: cleo)
        try await settle([anna, cleo])
        for device in [anna, cleo] { try check(parents(device), equals: ["by anna", "by cleo"]) }
        let guest = try SimulatedDevice("dora", objects)
        try await guest.join(anna)
        try check(parents(guest), equals: ["by anna", "by cleo"])
    }

    @Test func `it leads nobody who has not heard of its removal into a group of its own`()
        async throws
    {
        let removal = try await removeRuth()
        try await write("by anna", by: anna)
        try await anna.engine.syncOnce()
        try await write("by cleo", by: cleo)
        // For good, from a store that both of them use.
        objects.set(removal, nil)
        try await ruth.engine.reset()
        let place = try await cleo.queue.read { try SyncJournal($0).place()?.group }
        for _ in 0..<2 {
            let error = await #expect(throws: SyncError.self) { try await cleo.engine.syncOnce() }
            check(error, equals: .withheld(.chain, number: 8))
        }
        try await check(cleo.queue.read { try SyncJournal($0).place()?.group }, equals: place)
        try check(parents(ruth), equals: [])
        // Anna has the entry, and continues after it.
        try await anna.engine.reset()
        try await settle([cleo, anna])
        for device in [anna, cleo] {
            try check(parents(device), equals: ["by anna", "by cleo"])
            try await check(
                device.engine.members().map(\.name).sorted(), equals: ["anna", "cleo"])
        }
    }

    @Test func `a batch that nobody can read keeps nobody from leaving or joining`() async throws {
        let keys = try await keys(of: ruth)
        let before = try last(of: keys)
        let header = BatchHeader(
            group: keys.group, member: keys.member, number: before.batch.header.number + 1,
            epoch: keys.currentEpoch, previous: before.batch.hash, chain: keys.position)
        let object = try SealedObject.seal(
            [1, 2, 3], header, key: try keys.key(ofEpoch: keys.currentEpoch), sign: keys.sign)
        let name = SyncNames.batch(
            group: keys.group, member: keys.member, number: header.number)
        check(objects.create(name, object.bytes))
        let guest = try SimulatedDevice("dora", objects)
        try await write("by anna", by: anna)
        await #expect(throws: SyncError.self) { try await anna.engine.syncOnce() }
        try await guest.engine.join(
            try await anna.engine.invite(.once, role: .admin), deviceName: "dora", localRows: .keep)
        await #expect(throws: SyncError.self) { try await guest.engine.syncOnce() }
        try check(parents(guest), equals: ["by anna"])
        try await cleo.engine.leave()
        await #expect(throws: SyncError.self) { try await anna.engine.syncOnce() }
        try await check(
            anna.engine.members().map(\.name).sorted(), equals: ["anna", "dora", "ruth"])
    }
}
