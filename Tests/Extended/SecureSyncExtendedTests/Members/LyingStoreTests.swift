import Foundation
import SecureKeys
import SecureStoragePlatform
import TestSupport
import Testing

@testable import SecureSync
@testable import SecureSyncTests

/// A store that forges, hides, damages or repeats entries of the chain.
struct LyingStoreTests {
    @Test func `a group of the store's own is not the invitation's`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let invitation = try await phone.group.invite(.once, role: .admin)
        // The store knows the group's id, the public keys of the guest, and the genuine entry.
        let (id, guest) = (phone.group.id, MemberKeys(of: invitation.secret))
        let genuine = try require(store.all[store.chain[1]])
        var forged = try TestChain(group: id)
        try forged.append(
            .add(try TestChain.record(guest, .invitation), TestChain.adminsOwn),
            by: forged.founder)
        for objects in [forged.objects, forged.objects + [genuine], [forged.objects[0], genuine]] {
            let lying = ChainStore()
            for (index, bytes) in objects.enumerated() {
                lying.set(
                    SyncNames.chainEntry(group: id, number: UInt64(index) + 1), bytes)
            }
            await #expect(throws: SyncError.self) {
                try await GroupDevice.joining(invitation, "laptop", lying)
            }
            check(lying.chain.count, equals: objects.count)
        }
        // A group of another id that claims the same guest does not stand in the way.
        let other = try TestChain(group: Data(count: 16))
        store.set(SyncNames.chainEntry(group: other.group, number: 1), other.objects[0])
        store.set(
            SyncNames.chainEntry(group: other.group, number: 2),
            try other.bytes(
                .add(try TestChain.record(guest, .invitation), TestChain.adminsOwn),
                by: other.founder))
        store.set(SyncNames.chainEntry(group: other.group, number: 3), genuine)
        _ = try await GroupDevice.joining(invitation, "laptop", store)
    }

    @Test func `a shorter chain than before is noticed`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        try await phone.group.rotate()
        try await phone.group.rotate()
        let last = try require(store.chain.last)
        store.set(last, nil)
        await #expect(
            throws: SyncError.storeHasForgotten(.chain, have: 3, found: 2)
        ) { try await phone.group.refresh() }
        await #expect(throws: SyncError.self) { try await phone.group.rotate() }
    }

    @Test func `a missing entry in the middle is noticed`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.rotate()
        try await phone.group.rotate()
        store.set(store.chain[3], nil)
        await #expect(
            throws: SyncError.storeHasForgotten(.chain, have: 5, found: 3)
        ) { try await laptop.group.refresh() }
    }

    @Test func `two chains after one are noticed`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.refresh()
        let other = ChainStore(store.all)
        let split = try SyncGroup(
            resuming: await laptop.group.entries, as: await laptop.member, in: other,
            keyStore: laptop.keyStore)
        try await split.rotate()
        try await phone.group.rotate()
        try await phone.group.rotate()
        for name in store.chain where other.all[name] == nil { other.set(name, store.all[name]) }
        await #expect(throws: SyncError.self) { try await split.refresh() }
    }

    @Test func `a stranger's objects in the chain hold nobody up`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        let garbage = [
            Data(), Data(count: 32), Data(count: 200), Data(count: ChainEntry.longest + 1),
        ]
        for (index, bytes) in garbage.enumerated() {
            store.set(
                SyncNames.chainEntry(group: phone.group.id, number: UInt64(index) + 4), bytes)
        }
        try await laptop.group.rotate()
        try await phone.group.refresh()
        await check(phone.group.state.epoch, equals: 2)
        await check(phone.group.state.invalid, equals: [4, 5, 6, 7])
        // Of garbage the hash is kept, or a few bytes.
        await check(phone.group.entries[3..<7].map(\.count).max() ?? 0 < 2000)
        let resumed = try SyncGroup(
            resuming: await phone.group.entries, as: await phone.member, in: store,
            keyStore: phone.keyStore)
        await check(resumed.state, equals: phone.group.state)
        try await resumed.refresh()
    }

    @Test func `an entry that was damaged on its way counts when the store shows it as it is`()
        async throws
    {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.rotate()
        let name = try require(store.chain.last)
        let genuine = try require(store.all[name])
        store.set(name, Data(genuine.reversed()))
        try await laptop.group.refresh()
        await check(laptop.group.state.invalid, equals: [4])
        await check(laptop.group.state.lastEntry, equals: 3)
        // After many of a stranger's, it is noticed with the next entry.
        for number in UInt64(5)..<20 {
            store.set(SyncNames.chainEntry(group: phone.group.id, number: number), Data([1]))
        }
        try await laptop.group.refresh()
        await check(laptop.group.state.invalid.count, equals: 16)
        store.set(name, genuine)
        try await phone.group.rotate()
        try await laptop.group.refresh()
        await check(laptop.group.state, equals: phone.group.state)
        await check(laptop.group.state.epoch, equals: 3)
    }

    @Test func `a hash does not pass for the entry that it is of`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.rotate()
        let hidden = store.chain[3]
        store.set(hidden, MembershipState.hash(of: try require(store.all[hidden])))
        try await phone.group.rotate()
        await #expect(throws: SyncError.self) { try await laptop.group.refresh() }
    }

    @Test func `names and keys do not occur in the store`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let invitation = try await phone.group.invite(.once, role: .admin)
        _ = try await GroupDevice.joining(invitation, "a canary's name", store)
        let everything = store.all.values.reduce(Data(), +)
        check(everything.firstRange(of: Data("canary".utf8)) == nil)
        check(everything.firstRange(of: Data("Anna".utf8)) == nil)
        check(everything.firstRange(of: Data(invitation.code.utf8)) == nil)
        check("\(invitation)", equals: "<redacted>")
    }
}
