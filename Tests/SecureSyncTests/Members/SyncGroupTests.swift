import Foundation
import SecureKeys
import SecureStoragePlatform
import Testing

@testable import SecureSync

@Suite struct SyncGroupTests {
    /// A device: its group, and the keys that it keeps.
    struct Device {
        let group: SyncGroup
        let keyStore: InMemoryKeyStore

        static func founder(_ store: any SyncObjectStore) async throws -> Device {
            let keys = InMemoryKeyStore()
            return Device(
                group: try await SyncGroup.create(
                    in: store, keyStore: keys, deviceName: "Anna's phone"), keyStore: keys)
        }

        /// Another device that joins by an invitation of this one.
        func inviting(
            _ name: String, _ store: any SyncObjectStore, role: ChainEntry.Role = .admin
        ) async throws -> Device {
            try await .joining(try await group.invite(.once, role: role), name, store)
        }

        static func joining(
            _ invitation: SyncInvitation, _ name: String, _ store: any SyncObjectStore,
            keyStore: InMemoryKeyStore = InMemoryKeyStore()
        ) async throws -> Device {
            let group = try await SyncGroup.join(
                invitation, in: store, keyStore: keyStore, deviceName: name)
            try await group.hasEntered(with: invitation)
            return Device(group: group, keyStore: keyStore)
        }

        var member: MemberID { get async { await group.member } }
    }

    private func head(_ member: MemberID) -> LogHead { TestChain.head(member) }

    private static func sealed(_ text: String, _ device: Device) async throws -> (UInt64, Data) {
        let keys = try await device.group.keys()
        let sealed = try keys.key(ofEpoch: keys.currentEpoch).seal(
            Data(text.utf8), table: "t", column: "c", row: .text("1"))
        return (keys.currentEpoch, sealed)
    }

    private static func opened(_ sealed: (UInt64, Data), _ device: Device) async throws -> String {
        let key = try await device.group.keys().key(ofEpoch: sealed.0)
        let bytes = try key.open(sealed.1, table: "t", column: "c", row: .text("1"))
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: - Joining

    @Test func `who joins reads the past, the names, and what the others sign`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let old = try await Self.sealed("before", phone)
        try await phone.group.rotate()
        let laptop = try await phone.inviting("laptop", store)
        #expect(try await Self.opened(old, laptop) == "before")
        #expect(try await laptop.group.name(of: phone.member) == "Anna's phone")
        try await phone.group.refresh()
        #expect(try await phone.group.name(of: laptop.member) == "laptop")

        let (keys, others) = (try await phone.group.keys(), try await laptop.group.keys())
        let signature = try keys.sign(Data("message".utf8))
        #expect(others.isValid(signature, for: Data("message".utf8), by: keys.member))
        #expect(!others.isValid(signature, for: Data("massage".utf8), by: keys.member))
        #expect(!others.isValid(signature, for: Data("message".utf8), by: others.member))
        #expect(Set(others.writers) == [keys.member, others.member])
    }

    @Test func `an invitation for once lets one of two in`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let invitation = try await phone.group.invite(.once)
        let code = invitation.code
        async let first = try? Device.joining(try SyncInvitation(code: code), "a", store)
        async let second = try? Device.joining(try SyncInvitation(code: code), "b", store)
        #expect([await first, await second].filter { $0 != nil }.count == 1)
        await #expect(throws: SyncError.self) {
            try await Device.joining(invitation, "third", store)
        }
        try await phone.group.refresh()
        #expect(await phone.group.state.devices.count == 2)
    }

    @Test func `who loses the race for an invitation is told that it was used`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let invitation = try await phone.group.invite(.once)
        // The other one joins between this one's reading and its creation.
        store.beforeCreate.withLock {
            $0 = { _ in
                store.beforeCreate.withLock { $0 = nil }
                _ = try await Device.joining(invitation, "faster", store)
            }
        }
        await #expect(
            throws: SyncError.invitationNotAccepted(
                "it was used already, or withdrawn; ask for another one")
        ) { try await Device.joining(invitation, "slower", store) }
        try await phone.group.refresh()
        #expect(await phone.group.state.devices.count == 2)
    }

    @Test func `a recovery code works often, until it is removed`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let code = try await phone.group.invite(.recovery)
        _ = try await Device.joining(code, "a", store)
        _ = try await Device.joining(code, "b", store)
        try await phone.group.refresh()
        let recovery = try #require(await phone.group.state.active.first { $0.kind == .recovery })
        try await phone.group.remove(head(recovery.id))
        await #expect(throws: SyncError.self) { try await Device.joining(code, "c", store) }
        #expect(await phone.group.state.devices.count == 3)
    }

    @Test func `another code finds no group`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        _ = try await phone.group.invite(.once)
        await #expect(
            throws: SyncError.invitationNotAccepted("the store has no group that made it")
        ) { try await Device.joining(SyncInvitation(.random()), "laptop", store) }
        #expect(throws: SyncError.self) { try SyncInvitation(code: "0000-UUUU") }
    }

    @Test func `a joining that was killed goes on as the same member`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let (invitation, keyStore) = (try await phone.group.invite(.once), InMemoryKeyStore())
        let first = try await SyncGroup.join(
            invitation, in: store, keyStore: keyStore, deviceName: "laptop")
        let again = try await Device.joining(invitation, "laptop", store, keyStore: keyStore)
        #expect(await again.member == first.member)
        _ = try await again.group.keys()
        try await phone.group.refresh()
        #expect(await phone.group.state.devices.count == 2)
    }

    @Test func `a joining that was killed, and whose member was removed, begins again`()
        async throws
    {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let (code, keyStore) = (try await phone.group.invite(.recovery), InMemoryKeyStore())
        let first = try await SyncGroup.join(
            code, in: store, keyStore: keyStore, deviceName: "laptop")
        try await phone.group.remove(head(await first.member))
        let again = try await Device.joining(code, "laptop", store, keyStore: keyStore)
        #expect(await again.member != first.member)
        _ = try await again.group.keys()
    }

    @Test func `a lost answer to a creation does not lose the entry`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        store.losesAnswers.withLock { $0 = true }
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.rotate()
        #expect(await phone.group.state.count == 4)
        #expect(await phone.group.state.void.isEmpty)
        try await laptop.group.refresh()
        #expect(try await laptop.group.keys().currentEpoch == 2)
    }

    // MARK: - A store that lies

    @Test func `a group of the store's own is not the invitation's`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let invitation = try await phone.group.invite(.once)
        // The store knows the group's id, the public keys of the guest, and the genuine entry.
        let (id, guest) = (phone.group.id, MemberKeys(of: invitation.secret))
        let genuine = try #require(store.all[store.chain[1]])
        var forged = try TestChain(group: id)
        try forged.append(
            .add(try TestChain.record(guest, .invitation), key: Data(count: 81)),
            by: forged.founder)
        for objects in [forged.objects, forged.objects + [genuine], [forged.objects[0], genuine]] {
            let lying = ChainStore()
            for (index, bytes) in objects.enumerated() {
                lying.set(
                    SyncNames.chainEntry(group: id, number: UInt64(index) + 1), bytes)
            }
            await #expect(throws: SyncError.self) {
                try await Device.joining(invitation, "laptop", lying)
            }
            #expect(lying.chain.count == objects.count)
        }
        // A group of another id that claims the same guest does not stand in the way.
        let other = try TestChain(group: Data(count: 16))
        store.set(SyncNames.chainEntry(group: other.group, number: 1), other.objects[0])
        store.set(
            SyncNames.chainEntry(group: other.group, number: 2),
            try other.bytes(
                .add(try TestChain.record(guest, .invitation), key: Data(count: 81)),
                by: other.founder))
        store.set(SyncNames.chainEntry(group: other.group, number: 3), genuine)
        _ = try await Device.joining(invitation, "laptop", store)
    }

    @Test func `a shorter chain than before is noticed`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        try await phone.group.rotate()
        try await phone.group.rotate()
        let last = try #require(store.chain.last)
        store.set(last, nil)
        await #expect(
            throws: SyncError.storeHasForgotten(member: "chain", have: 3, found: 0)
        ) { try await phone.group.refresh() }
        await #expect(throws: SyncError.self) { try await phone.group.rotate() }
    }

    @Test func `a missing entry in the middle is noticed`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.rotate()
        try await phone.group.rotate()
        store.set(store.chain[3], nil)
        await #expect(
            throws: SyncError.storeHasForgotten(member: "chain", have: 5, found: 3)
        ) { try await laptop.group.refresh() }
    }

    @Test func `two chains after one are noticed`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
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
        let phone = try await Device.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        let garbage = [Data(), Data(count: 32), Data(count: 200), Data(count: 2 << 20)]
        for (index, bytes) in garbage.enumerated() {
            store.set(
                SyncNames.chainEntry(group: phone.group.id, number: UInt64(index) + 4), bytes)
        }
        try await laptop.group.rotate()
        try await phone.group.refresh()
        #expect(await phone.group.state.epoch == 2)
        #expect(await phone.group.state.void == [4, 5, 6, 7])
        #expect(await phone.group.entries.map(\.count).max() ?? 0 < 2000)
        let resumed = try SyncGroup(
            resuming: await phone.group.entries, as: await phone.member, in: store,
            keyStore: phone.keyStore)
        #expect(await resumed.state == phone.group.state)
        try await resumed.refresh()
    }

    @Test func `an entry that was damaged on its way counts when the store shows it as it is`()
        async throws
    {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.rotate()
        let name = try #require(store.chain.last)
        let genuine = try #require(store.all[name])
        store.set(name, Data(genuine.reversed()))
        try await laptop.group.refresh()
        #expect(await laptop.group.state.void == [4])
        #expect(await laptop.group.state.lastEntry == 3)
        // After many of a stranger's, it is noticed with the next entry.
        for number in UInt64(5)..<20 {
            store.set(SyncNames.chainEntry(group: phone.group.id, number: number), Data([1]))
        }
        try await laptop.group.refresh()
        #expect(await laptop.group.state.void.count == 16)
        store.set(name, genuine)
        try await phone.group.rotate()
        try await laptop.group.refresh()
        #expect(await laptop.group.state == phone.group.state)
        #expect(await laptop.group.state.epoch == 3)
    }

    @Test func `a hash does not pass for the entry that it is of`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.rotate()
        let hidden = store.chain[3]
        store.set(hidden, MembershipState.hash(of: try #require(store.all[hidden])))
        try await phone.group.rotate()
        await #expect(throws: SyncError.self) { try await laptop.group.refresh() }
    }

    @Test func `names and keys do not occur in the store`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let invitation = try await phone.group.invite(.once)
        _ = try await Device.joining(invitation, "a canary's name", store)
        let everything = store.all.values.reduce(Data(), +)
        #expect(everything.firstRange(of: Data("canary".utf8)) == nil)
        #expect(everything.firstRange(of: Data("Anna".utf8)) == nil)
        #expect(everything.firstRange(of: Data(invitation.code.utf8)) == nil)
        #expect("\(invitation)" == "<redacted>")
    }

    // MARK: - Removal

    @Test func `a removed member reads nothing of later epochs`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.refresh()
        let before = try await Self.sealed("before", phone)
        #expect(try await Self.opened(before, laptop) == "before")
        try await phone.group.remove(head(await laptop.member))
        let after = try await Self.sealed("after", phone)
        #expect(after.0 == 2)

        try await laptop.group.refresh()
        await #expect(throws: SyncError.notAMember) { try await laptop.group.keys() }
        await #expect(throws: SyncError.notAMember) { try await laptop.group.rotate() }
        // With all that it has: its private keys, every key that was ever wrapped for anybody, and
        // the key of the first epoch.
        let id = phone.group.id
        let own = try MemberKeys(
            named: MemberKeys.name(id, await laptop.member), in: laptop.keyStore)
        let phoneKeys = try MemberKeys(
            named: MemberKeys.name(id, await phone.member), in: phone.keyStore)
        var opened = 0
        for bytes in await laptop.group.entries {
            let keys: [Data]
            switch try ChainEntry(reading: bytes).action {
            case .found(_, let epoch), .remove(_, let epoch, _), .rotate(let epoch),
                .succeed(_, _, let epoch):
                keys = Array(epoch.wrapped.values)
            case .add(_, let key), .fork(_, let key, _): keys = [key]
            case .leave: keys = []
            }
            for key in keys {
                #expect(try EpochKey(2, unwrapping: key, own, group: id) == nil)
                if try EpochKey(2, unwrapping: key, phoneKeys, group: id) != nil { opened += 1 }
            }
        }
        // What the test tries would succeed with the right key.
        #expect(opened == 1)
        let first = try await phone.group.keys().key(ofEpoch: 1)
        #expect(throws: EnvelopeError.self) {
            try first.open(after.1, table: "t", column: "c", row: .text("1"))
        }
    }

    @Test func `two that remove one member at a time remove it once`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        let tablet = try await phone.inviting("tablet", store)
        for device in [phone, laptop] { try await device.group.refresh() }
        let gone = await tablet.member
        store.beforeCreate.withLock {
            $0 = { _ in
                store.beforeCreate.withLock { $0 = nil }
                try await laptop.group.remove(
                    LogHead(member: gone, number: 3, hash: Data(count: 32)))
            }
        }
        try await phone.group.remove(LogHead(member: gone, number: 5, hash: Data(count: 32)))
        try await laptop.group.refresh()
        #expect(await phone.group.state == laptop.group.state)
        // The prefix of the one that was faster, on every member alike.
        #expect(try await phone.group.keys().removed == [gone: 3])
        #expect(await phone.group.state.epoch == 2)
    }

    @Test func `two that remove each other: one goes`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.refresh()
        let (first, second) = (head(await laptop.member), head(await phone.member))
        store.beforeCreate.withLock {
            $0 = { _ in
                store.beforeCreate.withLock { $0 = nil }
                try await laptop.group.remove(second)
            }
        }
        await #expect(throws: SyncError.notAMember) { try await phone.group.remove(first) }
        #expect(await phone.group.state.devices.map(\.id) == [first.member])
        _ = try await laptop.group.keys()
    }

    @Test func `a writer cannot invite, and its attempt is not stored`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let server = try await phone.inviting("server", store, role: .writer)
        let count = store.all.count
        await #expect(throws: SyncError.notAllowed("only an admin invites and removes")) {
            try await server.group.invite(.once)
        }
        #expect(store.all.count == count)
    }

    @Test func `a used invitation reads nothing after the next rotation`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let invitation = try await phone.group.invite(.once)
        let laptop = try await Device.joining(invitation, "laptop", store)
        try await phone.group.refresh()
        // Both notice at once; one rotates.
        store.beforeCreate.withLock {
            $0 = { _ in
                store.beforeCreate.withLock { $0 = nil }
                try await laptop.group.rotateIfNeeded()
            }
        }
        try await phone.group.rotateIfNeeded()
        #expect(await phone.group.state.epoch == 2)
        try await phone.group.rotateIfNeeded()
        #expect(await phone.group.state.epoch == 2)
        let guest = MemberKeys(of: invitation.secret)
        #expect(await phone.group.state.wrappedKey(for: guest.id)?.epoch == 1)
    }

    @Test func `a member with a useless key cannot keep the others from a new one`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        let own = try MemberKeys(
            named: MemberKeys.name(phone.group.id, await laptop.member), in: laptop.keyStore)
        // A point of small order: every shared secret with it is zero.
        var record = try TestChain.record(.random())
        record.keys.agreement = Data(count: 32)
        let state = await laptop.group.state
        let entry = ChainEntry(
            group: phone.group.id, number: state.count + 1, previous: state.last, author: own.id,
            action: .add(record, key: Data()))
        store.set(
            SyncNames.chainEntry(group: phone.group.id, number: entry.number),
            try entry.signed(by: own))
        try await phone.group.remove(head(own.id))
        #expect(await phone.group.state.isActive(record.id))
        #expect(try await phone.group.keys().currentEpoch == 2)
    }

    @Test func `a useless past does not keep a member from the present`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        let own = try MemberKeys(
            named: MemberKeys.name(phone.group.id, await laptop.member), in: laptop.keyStore)
        let (state, epoch) = (await laptop.group.state, try EpochKey.random(2))
        let wrapped = try state.active.map {
            ($0.id, try epoch.wrapped(for: $0.id, $0.keys, group: phone.group.id))
        }
        let entry = ChainEntry(
            group: phone.group.id, number: state.count + 1, previous: state.last, author: own.id,
            action: .rotate(
                .init(
                    number: 2, wrapped: Dictionary(uniqueKeysWithValues: wrapped),
                    previous: Data(count: 80))))
        store.set(
            SyncNames.chainEntry(group: phone.group.id, number: entry.number),
            try entry.signed(by: own))
        let resumed = try SyncGroup(
            resuming: await phone.group.entries, as: await phone.member, in: store,
            keyStore: phone.keyStore)
        try await resumed.refresh()
        let keys = try await resumed.keys()
        #expect(keys.currentEpoch == 2)
        _ = try keys.key(ofEpoch: 2)
        #expect(throws: CBORError.self) { try keys.key(ofEpoch: 1) }
    }

    // MARK: - Copies, leaving, resuming

    @Test func `a copy goes on as another member, with the same name and keys of its own`()
        async throws
    {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let old = await phone.member
        let copy = try SyncGroup(
            resuming: await phone.group.entries, as: old, in: store, keyStore: phone.keyStore)
        let new = try await copy.fork(after: head(old))
        #expect(new != old)
        try await phone.group.refresh()
        #expect(try await phone.group.name(of: new) == "Anna's phone")
        #expect(try await phone.group.keys().writers == [old, new])
        let (keys, message) = (try await copy.keys(), Data("message".utf8))
        #expect(try await phone.group.keys().isValid(keys.sign(message), for: message, by: new))
        #expect(keys.member == new)
        let resumed = try SyncGroup(
            resuming: await copy.entries, as: new, in: store, keyStore: phone.keyStore)
        _ = try await resumed.keys()
    }

    @Test func `a file without the device's keys is no member`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
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
        let phone = try await Device.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.rotateIfNeeded()
        try await laptop.group.leave(head(await laptop.member))
        await #expect(throws: SyncError.notAMember) { try await laptop.group.keys() }
        try await phone.group.refresh()
        try await phone.group.rotateIfNeeded()
        let state = await phone.group.state
        #expect(state.wrappedKey(for: await laptop.member)?.epoch ?? 9 < state.epoch)
        #expect(state.removed.keys.map { $0 } == [await laptop.member])
    }

    @Test func `changes at the same time all happen`() async throws {
        let store = ChainStore()
        let phone = try await Device.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for device in [phone, laptop] {
                for _ in 0..<8 {
                    tasks.addTask { _ = try await device.group.invite(.recovery) }
                    tasks.addTask { try await device.group.rotate() }
                }
            }
            try await tasks.waitForAll()
        }
        for device in [phone, laptop] { try await device.group.refresh() }
        #expect(await phone.group.state == laptop.group.state)
        #expect(await phone.group.state.epoch == 17)
        #expect(await phone.group.state.void.isEmpty)
        #expect(await phone.group.state.active.count == 18)
    }
}
