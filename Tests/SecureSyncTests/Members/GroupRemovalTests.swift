import Foundation
import SecureKeys
import SecureStoragePlatform
import TestSupport
import Testing

@testable import SecureSync

/// Removals, rotations, and members that do harm.
struct GroupRemovalTests {
    @Test func `a removed member reads nothing of later epochs`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.refresh()
        let before = try await phone.sealed("before")
        try await check(laptop.opened(before), equals: "before")
        try await phone.group.remove([TestChain.position(await laptop.member)])
        let after = try await phone.sealed("after")
        check(after.0, equals: 2)

        try await laptop.group.refresh()
        await #expect(throws: SyncError.notAMember) { try await laptop.group.keys() }
        await #expect(throws: SyncError.notAMember) { try await laptop.group.rotate() }
        // With everything it has: its private keys, and every key that they lead to.
        let id = phone.group.id
        let own = try MemberKeys(
            named: MemberKeys.name(id, await laptop.member), in: laptop.keyStore)
        let phoneKeys = try MemberKeys(
            named: MemberKeys.name(id, await phone.member), in: phone.keyStore)
        let entries = await laptop.group.entries
        try check(OpenableKeys(entries, [own], group: id).epochs, equals: [1])
        // What the test tries succeeds with the right key.
        try check(OpenableKeys(entries, [phoneKeys], group: id).epochs, equals: [1, 2])
        let first = try await phone.group.keys().key(ofEpoch: 1)
        #expect(throws: EnvelopeError.self) {
            try first.open(after.1, table: "t", column: "c", row: .text("1"))
        }
    }

    @Test func `two that remove one member at a time remove it once`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        let tablet = try await phone.inviting("tablet", store)
        for device in [phone, laptop] { try await device.group.refresh() }
        let gone = await tablet.member
        store.beforeCreate.withLock {
            $0 = { _ in
                store.beforeCreate.withLock { $0 = nil }
                try await laptop.group.remove([
                    BatchPosition(member: gone, number: 3, hash: Data(count: 32))
                ])
            }
        }
        try await phone.group.remove([BatchPosition(member: gone, number: 5, hash: Data(count: 32))]
        )
        try await laptop.group.refresh()
        await check(phone.group.state, equals: laptop.group.state)
        // The prefix of the one that was faster, on every member alike.
        try await check(phone.group.keys().removed.mapValues(\.number), equals: [gone: 3])
        await check(phone.group.state.epoch, equals: 2)
    }

    @Test func `two that remove each other: one goes`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.refresh()
        let (first, second) = (
            TestChain.position(await laptop.member), TestChain.position(await phone.member)
        )
        store.beforeCreate.withLock {
            $0 = { _ in
                store.beforeCreate.withLock { $0 = nil }
                try await laptop.group.remove([second])
            }
        }
        await #expect(throws: SyncError.notAMember) { try await phone.group.remove([first]) }
        await check(phone.group.state.devices.map(\.id), equals: [first.member])
        _ = try await laptop.group.keys()
    }

    @Test func `a writer cannot invite, and its attempt is not stored`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let server = try await phone.inviting("server", store, role: .writer)
        let count = store.all.count
        await #expect(
            throws: SyncError.notAllowed("only an admin invites, removes and changes the key")
        ) {
            try await server.group.invite(.once, role: .admin)
        }
        check(store.all.count, equals: count)
    }

    @Test func `a used invitation reads nothing after the next rotation`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let invitation = try await phone.group.invite(.once, role: .admin)
        let laptop = try await GroupDevice.joining(invitation, "laptop", store)
        try await phone.group.refresh()
        // Both notice at once; one rotates.
        store.beforeCreate.withLock {
            $0 = { _ in
                store.beforeCreate.withLock { $0 = nil }
                try await laptop.group.rotateIfNeeded()
            }
        }
        try await phone.group.rotateIfNeeded()
        await check(phone.group.state.epoch, equals: 2)
        try await phone.group.rotateIfNeeded()
        await check(phone.group.state.epoch, equals: 2)
        let guest = MemberKeys(of: invitation.secret)
        await check(phone.group.state.wrappedKeys(for: guest.id).keys.sorted(), equals: [1])
    }

    @Test func `a member with a useless key cannot keep the others from a new one`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        let own = try MemberKeys(
            named: MemberKeys.name(phone.group.id, await laptop.member), in: laptop.keyStore)
        // A point of small order: every shared secret with it is zero.
        var record = try TestChain.record(.random())
        record.keys[.x25519] = Data(count: 32)
        record.keys[.xWing] = nil
        let state = await laptop.group.state
        let entry = ChainEntry(
            group: phone.group.id, number: state.count + 1, previous: state.last, author: own.id,
            time: 1, action: .add(record, .init(epoch: Data())))
        store.set(
            SyncNames.chainEntry(group: phone.group.id, number: entry.number),
            try entry.signed(by: own))
        try await phone.group.remove([TestChain.position(own.id)])
        await check(phone.group.state.isActive(record.id))
        try await check(phone.group.keys().currentEpoch, equals: 2)
    }

    @Test func `a useless past does not keep a member from the present, nor from keys that it had`()
        async throws
    {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        let own = try MemberKeys(
            named: MemberKeys.name(phone.group.id, await laptop.member), in: laptop.keyStore)
        let state = await laptop.group.state
        var epoch = try await laptop.group.newKeys()
        epoch.previous = Data(count: 80)
        let entry = ChainEntry(
            group: phone.group.id, number: state.count + 1, previous: state.last, author: own.id,
            time: 1, action: .rotate(epoch))
        store.set(
            SyncNames.chainEntry(group: phone.group.id, number: entry.number),
            try entry.signed(by: own))
        let resumed = try SyncGroup(
            resuming: await phone.group.entries, as: await phone.member, in: store,
            keyStore: phone.keyStore)
        try await resumed.refresh()
        let keys = try await resumed.keys()
        check(keys.currentEpoch, equals: 2)
        _ = try keys.key(ofEpoch: 2)
        _ = try keys.key(ofEpoch: 1)
    }
}
