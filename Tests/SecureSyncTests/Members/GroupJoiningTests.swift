import Foundation
import SecureKeys
import SecureStoragePlatform
import TestSupport
import Testing

@testable import SecureSync

/// Invitations, recovery codes, and entries whose answer was lost.
struct GroupJoiningTests {
    @Test func `a device that joins reads the past, the names, and what the others sign`()
        async throws
    {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let old = try await phone.sealed("before")
        try await phone.group.rotate()
        let laptop = try await phone.inviting("laptop", store)
        try await check(laptop.opened(old), equals: "before")
        try await check(laptop.group.name(of: phone.member), equals: "Anna's phone")
        try await phone.group.refresh()
        try await check(phone.group.name(of: laptop.member), equals: "laptop")

        let (keys, others) = (try await phone.group.keys(), try await laptop.group.keys())
        let signature = try keys.sign(Data("message".utf8))
        check(others.isValid(signature, for: Data("message".utf8), by: keys.member))
        check(!others.isValid(signature, for: Data("massage".utf8), by: keys.member))
        check(!others.isValid(signature, for: Data("message".utf8), by: others.member))
        check(Set(others.writers), equals: [keys.member, others.member])
    }

    @Test func `an invitation for once lets one of two in`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let invitation = try await phone.group.invite(.once, role: .admin)
        let code = invitation.code
        async let first = try? GroupDevice.joining(try SyncInvitation(code: code), "a", store)
        async let second = try? GroupDevice.joining(try SyncInvitation(code: code), "b", store)
        check([await first, await second].filter { $0 != nil }.count, equals: 1)
        await #expect(throws: SyncError.self) {
            try await GroupDevice.joining(invitation, "third", store)
        }
        try await phone.group.refresh()
        await check(phone.group.state.devices.count, equals: 2)
    }

    @Test func `the loser of a race for an invitation learns that it was used`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let invitation = try await phone.group.invite(.once, role: .admin)
        // The other one joins between this one's reading and its creation.
        store.beforeCreate.withLock {
            $0 = { _ in
                store.beforeCreate.withLock { $0 = nil }
                _ = try await GroupDevice.joining(invitation, "faster", store)
            }
        }
        await #expect(
            throws: SyncError.invitationNotAccepted(
                "it was used already, or withdrawn; ask for another one")
        ) { try await GroupDevice.joining(invitation, "slower", store) }
        try await phone.group.refresh()
        await check(phone.group.state.devices.count, equals: 2)
    }

    @Test func `a recovery code works often, until it is removed`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let code = try await phone.group.invite(.recovery, role: .admin)
        _ = try await GroupDevice.joining(code, "a", store)
        _ = try await GroupDevice.joining(code, "b", store)
        try await phone.group.refresh()
        let recovery = try await require(phone.group.state.active.first { $0.kind == .recovery })
        try await phone.group.remove([TestChain.position(recovery.id)])
        await #expect(throws: SyncError.self) { try await GroupDevice.joining(code, "c", store) }
        await check(phone.group.state.devices.count, equals: 3)
    }

    @Test func `another code finds no group`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        _ = try await phone.group.invite(.once, role: .admin)
        await #expect(
            throws: SyncError.invitationNotAccepted("the store has no group that made it")
        ) { try await GroupDevice.joining(SyncInvitation(.random()), "laptop", store) }
        #expect(throws: SyncError.self) { try SyncInvitation(code: "0000-UUUU") }
    }

    @Test func `a joining that was killed continues as the same member`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let (invitation, keyStore) = (
            try await phone.group.invite(.once, role: .admin), InMemoryKeyStore()
        )
        let first = try await SyncGroup.join(
            invitation, in: store, keyStore: keyStore, deviceName: "laptop")
        let again = try await GroupDevice.joining(invitation, "laptop", store, keyStore: keyStore)
        await check(again.member, equals: first.member)
        _ = try await again.group.keys()
        try await phone.group.refresh()
        await check(phone.group.state.devices.count, equals: 2)
    }

    @Test func `a joining that was killed, and whose member was removed, begins again`()
        async throws
    {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        let (code, keyStore) = (
            try await phone.group.invite(.recovery, role: .admin), InMemoryKeyStore()
        )
        let first = try await SyncGroup.join(
            code, in: store, keyStore: keyStore, deviceName: "laptop")
        try await phone.group.remove([TestChain.position(await first.member)])
        let again = try await GroupDevice.joining(code, "laptop", store, keyStore: keyStore)
        await check(again.member != first.member)
        _ = try await again.group.keys()
    }

    @Test func `a lost answer to a creation does not lose the entry`() async throws {
        let store = ChainStore()
        let phone = try await GroupDevice.founder(store)
        store.losesAnswers.withLock { $0 = true }
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.rotate()
        await check(phone.group.state.count, equals: 4)
        await check(phone.group.state.invalid.isEmpty)
        try await laptop.group.refresh()
        try await check(laptop.group.keys().currentEpoch, equals: 2)
    }
}
