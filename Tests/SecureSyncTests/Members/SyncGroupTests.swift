import Foundation
@testable import ObjectStores
import SecureKeys
import SecureStoragePlatform
import TestSupport
import Testing

@testable import SecureSync

/// Copies, leaving, resuming, and changes at the same time.
struct SyncGroupTests {
    @Test func `a copy continues as another member, with the same name and keys of its own`()
        async throws
    {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let old = await phone.member
        let copy = try SyncGroup(
            resuming: await phone.group.entries, as: old, in: store, keyStore: phone.keyStore)
        let new = try await copy.fork(after: TestChain.position(old))
        check(new != old)
        try await phone.group.refresh()
        try await check(phone.group.name(of: new), equals: "Anna's phone")
        try await check(phone.group.keys().writers, equals: [old, new])
        let (keys, message) = (try await copy.keys(), Data("message".utf8))
        try await check(phone.group.keys().isValid(keys.sign(message), for: message, by: new))
        check(keys.member, equals: new)
        let resumed = try SyncGroup(
            resuming: await copy.entries, as: new, in: store, keyStore: phone.keyStore)
        _ = try await resumed.keys()
    }

    @Test func `a file without the device's keys is not a member`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let (entries, member) = (await phone.group.entries, await phone.member)
        #expect(throws: KeyStoreError.self) {
            try SyncGroup(
                resuming: entries, as: member, in: store, keyStore: InMemoryKeyStore())
        }
        #expect(throws: SyncError.notAMember) {
            try SyncGroup(resuming: [], as: member, in: store, keyStore: phone.keyStore)
        }
        #expect(throws: SyncError.self) {
            try SyncGroup(
                resuming: [Data(count: 100)], as: member, in: store, keyStore: phone.keyStore)
        }
    }

    @Test func `after a member has left the next key is not for it`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.rotateIfNeeded()
        try await laptop.group.leave(TestChain.position(await laptop.member))
        await #expect(throws: SyncError.notAMember) { try await laptop.group.keys() }
        try await phone.group.refresh()
        try await phone.group.rotateIfNeeded()
        let state = await phone.group.state
        check(state.wrappedKeys(for: await laptop.member).keys.max() ?? 9 < state.epoch)
        check(state.removed.keys.map { $0 }, equals: [await laptop.member])
    }

    @Test func `changes at the same time all happen`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for device in [phone, laptop] {
                for _ in 0..<8 {
                    tasks.addTask { _ = try await device.group.invite(.recovery, role: .admin) }
                    tasks.addTask { try await device.group.rotate() }
                }
            }
            try await tasks.waitForAll()
        }
        for device in [phone, laptop] { try await device.group.refresh() }
        await check(phone.group.state, equals: laptop.group.state)
        await check(phone.group.state.epoch, equals: 17)
        await check(phone.group.state.invalid.isEmpty)
        await check(phone.group.state.active.count, equals: 18)
    }

    @Test func `an entry that is made while another call lists the chain is not missing`()
        async throws
    {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        store.afterList.withLock { action in
            action = { _ = try await phone.group.invite(.recovery, role: .admin) }
        }
        try await phone.group.refresh()
        await check(phone.group.state.count, equals: 2)
    }
}
