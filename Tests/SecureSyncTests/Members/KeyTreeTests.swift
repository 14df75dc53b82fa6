import Foundation
import SecureKeys
import TestSupport
import Testing

@testable import SecureSync

/// Which member gets which keys through the tree.
struct KeyTreeTests {
    /// The keys that a device's key store has of it.
    private func keys(of device: GroupDevice) async throws -> MemberKeys {
        try MemberKeys(
            named: MemberKeys.name(device.group.id, await device.member), in: device.keyStore)
    }

    /// The epochs whose keys can be got out of the chain with keys.
    private func epochs(_ founder: GroupDevice, _ keys: [MemberKeys]) async throws -> Set<UInt64> {
        try OpenableKeys(await founder.group.entries, keys, group: founder.group.id).epochs
    }

    @Test(arguments: 1...2)
    func `after each change the members have the key, and nobody who has gone has it`(
        seed: UInt64
    ) async throws {
        var random = SplitMix64(seed: seed)
        let store = ChainStore()
        let founder = try await GroupDevice.founder(store)
        var members: [GroupDevice] = []
        // Also the keys that members had before they replaced them.
        var old: [MemberKeys] = []
        for step in 0..<14 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let role: ChainEntry.Role =
                    Int.random(in: 0..<4, using: &random) == 0 ? .admin : .writer
                let invitation = try await founder.group.invite(.once, role: role)
                old.append(MemberKeys(of: invitation.secret))
                members.append(try await .joining(invitation, "\(step)", store))
            case 5..<7 where !members.isEmpty:
                let gone = members.remove(at: Int.random(in: members.indices, using: &random))
                old.append(try await keys(of: gone))
                try await founder.group.remove([TestChain.position(await gone.member)])
            case 7..<9:
                let device = members.randomElement(using: &random) ?? founder
                old.append(try await keys(of: device))
                try await device.group.renewKeys(asksForKey: true)
            default: try await founder.group.rotate()
            }
            try await founder.group.refresh()
            try await founder.group.rotateIfNeeded()

            let state = await founder.group.state
            for device in members + [founder] {
                try await device.group.refresh()
                let own = try await device.group.keys()
                check(own.currentEpoch, equals: state.epoch)
                _ = try own.currentKey()
                // Everything that was written before, too.
                for epoch in 1...state.epoch { _ = try own.key(ofEpoch: epoch) }
                // Not from memory, but as after a start.
                let resumed = try SyncGroup(
                    resuming: await founder.group.entries, as: await device.member, in: store,
                    keyStore: device.keyStore)
                _ = try await resumed.keys().currentKey()
            }
            try await check(
                !epochs(founder, old).contains(state.epoch), "seed \(seed), step \(step)")
        }
        // What was tried on the keys of those who have gone opens all with one that has not.
        let all = Set(1...(await founder.group.state.epoch))
        for device in members + [founder] {
            try await check(epochs(founder, [keys(of: device)]), equals: all)
        }
    }

    @Test func `writers do not get the secret of the admins`() async throws {
        let store = ChainStore()
        let founder = try await GroupDevice.founder(store)
        let admin = try await founder.inviting("admin", store)
        let writers = [
            try await founder.inviting("one", store, role: .writer),
            try await founder.inviting("two", store, role: .writer),
        ]
        try await founder.group.refresh()
        try await founder.group.rotate()
        func secrets(_ device: GroupDevice) async throws -> Set<UInt64> {
            let openable = try OpenableKeys(
                await founder.group.entries, [await keys(of: device)], group: founder.group.id)
            return Set((1...9).filter { openable.hasTreeSecret(ofEpoch: $0) })
        }
        for device in writers { try await check(secrets(device), equals: []) }
        try await check(secrets(admin), equals: [1, 2])
    }

    @Test func `an invitation for an older system is wrapped without ML-KEM, and shown as such`()
        async throws
    {
        let store = ChainStore()
        let founder = try await GroupDevice.founder(store)
        let invitation = try await founder.group.invite(
            .once, role: .writer, forOlderSystems: true)
        let guest = MemberKeys(of: invitation.secret).id
        let wrapped = await founder.group.state.wrappedKeys(for: guest)[1]
        check(wrapped?.first, equals: 2)
        check(wrapped?.count, equals: 81)
        await check(founder.group.state.member(guest)?.keys[.xWing] == nil)
        // The device itself can.
        let device = try await GroupDevice.joining(invitation, "new", store)
        try await founder.group.refresh()
        await check(founder.group.state.member(device.member)?.keys[.xWing]?.count, equals: 1216)
        try await founder.group.rotateIfNeeded()
        let sealed = try await founder.sealed("x")
        try await device.group.refresh()
        try await check(device.opened(sealed), equals: "x")
    }

    @Test func `nobody chooses a weaker algorithm than two members have`() throws {
        var chain = try TestChain()
        let rule = "a member gets the key, and an admin the secret, as its keys allow"
        let record = try TestChain.record(.random(), .device, .writer)
        for own in [
            ChainEntry.OwnKeys(epoch: Data([2])), .init(epoch: Data([1])),
            .init(epoch: TestChain.wrapped, secret: TestChain.wrapped),
        ] {
            try check(chain.refusal(.add(record, own), by: chain.founder), equals: rule)
        }
        try chain.append(.add(record, TestChain.own), by: chain.founder)
        var keys = chain.epoch()
        keys.nodes[0].wrapped = keys.nodes[0].wrapped.map { $0.isEmpty ? $0 : Data([2]) }
        try check(
            chain.refusal(.rotate(keys), by: chain.founder),
            equals: "a new key is for each member, and for no other")
        var admin = try TestChain.record(.random())
        admin.keys[.xWing] = nil
        try check(
            chain.refusal(
                .add(admin, .init(epoch: Data([2]), secret: Data([2]))), by: chain.founder) == nil)
    }

    @Test func `keys of algorithms that this version does not know are kept`() throws {
        var chain = try TestChain()
        var record = try TestChain.record(.random())
        record.keys.all[77] = Data(count: 1900)
        try chain.append(.add(record, TestChain.adminsOwn), by: chain.founder)
        check(chain.state.member(record.id)?.keys.all[77]?.count, equals: 1900)
        for algorithm in 100..<105 as Range<UInt64> { record.keys.all[algorithm] = Data([1]) }
        (record.id, record.keys) = (.random(), record.keys)
        try check(
            chain.refusal(.add(record, TestChain.adminsOwn), by: chain.founder) != nil)
    }
}
