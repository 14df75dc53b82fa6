import Foundation
import SecureKeys
import SecureStoragePlatform
import TestSupport
import Testing

@testable import SecureSync

/// Members that replace the keys with which they receive.
struct KeyRenewalTests {
    private func keys(of device: GroupDevice) async throws -> MemberKeys {
        try MemberKeys(
            named: MemberKeys.name(device.group.id, await device.member), in: device.keyStore)
    }

    @Test(arguments: [ChainEntry.Role.admin, .writer])
    func `a thief with a member's key store reads nothing after the member's keys were replaced`(
        role: ChainEntry.Role
    ) async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store, role: role)
        try await phone.group.refresh()
        try await phone.group.rotate()
        let stolen = try await keys(of: laptop)
        func epochs() async throws -> Set<UInt64> {
            try OpenableKeys(await phone.group.entries, [stolen], group: phone.group.id).epochs
        }
        try await phone.group.rotate()
        // Without it a new key helps nobody.
        try await check(epochs(), equals: [1, 2, 3])
        try await laptop.group.renewKeys(asksForKey: true)
        try await phone.group.refresh()
        await check(phone.group.state.needsRotation)
        try await phone.group.rotateIfNeeded()
        try await check(epochs(), equals: [1, 2, 3])
        let sealed = try await phone.sealed("secret")
        check(sealed.0, equals: 4)
        try await laptop.group.refresh()
        try await check(laptop.opened(sealed), equals: "secret")
        // Its keys, and how far it knows the chain.
        check(try laptop.keyStore.names().count, equals: 2)
    }

    @Test func `a program that ends while keys are replaced continues with the right ones`()
        async throws
    {
        for isStored in [false, true] {
            let store = ChainStore()
            let phone = try await GroupDevice.founder(store)
            struct Killed: Error {}
            store.beforeCreate.withLock { $0 = { _ in throw Killed() } }
            await #expect(throws: Killed.self) {
                try await phone.group.renewKeys(asksForKey: false)
            }
            store.beforeCreate.withLock { $0 = nil }
            if isStored {
                // The answer does not arrive.
                let name = MemberKeys.name(phone.group.id, await phone.member)
                let next = try MemberKeys(named: name + "-next", in: phone.keyStore)
                let state = await phone.group.state
                let keys = try next.publicKeys
                let entry = ChainEntry(
                    group: phone.group.id, number: 2, previous: state.last, author: next.id,
                    time: 1,
                    action: .update(
                        keys,
                        try await phone.group.ownKeys(for: next.id, keys, .admin, by: keys),
                        asksForKey: false))
                store.set(
                    SyncNames.chainEntry(group: phone.group.id, number: 2),
                    try entry.signed(by: next))
            }
            let resumed = try SyncGroup(
                resuming: await phone.group.entries, as: await phone.member, in: store,
                keyStore: phone.keyStore)
            try await resumed.refresh()
            _ = try await resumed.keys().currentKey()
            try await resumed.rotate()
            _ = try await resumed.keys().currentKey()
            try await resumed.renewKeys(asksForKey: false)
            try await resumed.rotate()
            _ = try await resumed.keys().currentKey()
        }
    }

    @Test func `a device whose keys somebody else has replaced says so`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        // All of it, on another machine.
        let copied = InMemoryKeyStore()
        for name in try laptop.keyStore.names() {
            try copied.store(try laptop.keyStore.read(name), forName: name)
        }
        let thief = try SyncGroup(
            resuming: await laptop.group.entries, as: await laptop.member, in: store,
            keyStore: copied)
        try await thief.renewKeys(asksForKey: false)
        try await phone.group.refresh()
        try await phone.group.rotate()
        try await laptop.group.refresh()
        await #expect(throws: SyncError.keysReplaced) { try await laptop.group.currentKey() }
        try await phone.group.remove([TestChain.position(await laptop.member)])
        try await thief.refresh()
        await #expect(throws: SyncError.notAMember) { try await thief.keys() }
    }

    @Test func `a member signs with one key, and takes none that was used before`() throws {
        var chain = try TestChain()
        let (phone, other) = (try chain.add(), MemberKeys.random())
        func refusal(_ keys: PublicKeys) throws -> String? {
            try chain.refusal(.update(keys, TestChain.adminsOwn, asksForKey: false), by: phone)
        }
        let new = try phone.renewed().publicKeys
        try check(refusal(new) == nil)
        var wrong = new
        wrong[.ed25519] = try other.publicKeys.signing
        try check(refusal(wrong), equals: "a member signs with one key")
        try check(refusal(phone.publicKeys), equals: "its keys were used before")
        let founders = try chain.founder.publicKeys
        wrong = new
        wrong[.x25519] = founders[.x25519]
        try check(refusal(wrong), equals: "its keys were used before")
        wrong[.x25519] = Data(count: 31)
        try check(refusal(wrong), equals: "its keys are none of a member")
        let code = try chain.add(.recovery)
        try check(
            chain.refusal(
                .update(try code.renewed().publicKeys, TestChain.adminsOwn, asksForKey: false),
                by: code),
            equals: "an invitation only adds a device with its own role")
        try chain.append(.update(new, TestChain.adminsOwn, asksForKey: false), by: phone)
        check(!chain.state.needsRotation)
        // The secret that the admins had may be known.
        try check(
            chain.refusal(
                .rotate(
                    {
                        var keys = chain.epoch()
                        keys.secret = nil
                        return keys
                    }()), by: phone),
            equals: "the secret of the tree changes when an admin's key does")
        try chain.append(.rotate(chain.epoch()), by: phone)
    }
}
