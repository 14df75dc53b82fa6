import Foundation
import SecureKeys
import TestSupport
import Testing

@testable import SecureSync

struct MembershipStateTests {
    @Test func `every kind of entry is read as it was written`() throws {
        var chain = try TestChain()
        let (phone, laptop) = (try chain.add(), try chain.add(.device, .writer))
        let once = try chain.add(.invitation, .writer)
        let guest = MemberKeys.random()
        try chain.append(
            .add(try TestChain.record(guest, .device, .writer), TestChain.own), by: once)
        let copy = MemberKeys.random()
        try chain.append(
            .fork(
                try TestChain.record(copy, .device, .writer), TestChain.own,
                after: TestChain.position(laptop.id)), by: laptop)
        try chain.append(.rotate(chain.epoch()), by: phone)
        try chain.append(
            .remove([TestChain.position(laptop.id, 5)], chain.epoch(without: [laptop.id])),
            by: phone)
        try chain.append(.leave(TestChain.position(phone.id)), by: phone)

        for bytes in chain.objects {
            try check(ChainEntry(reading: bytes).content(), equals: bytes.dropLast(64))
        }
        let state = chain.state
        check(state.active.map(\.id), equals: [chain.founder.id, guest.id, copy.id])
        check(state.everyone.count, equals: 6)
        check(state.removed[laptop.id], equals: TestChain.position(laptop.id, 5))
        check(state.epoch, equals: 3)
        check(state.needsRotation)
        check(state.origin(of: copy.id)?.author, equals: laptop.id)
        check(state.count, equals: UInt64(chain.objects.count))
    }

    @Test func `all that follow the same objects come to the same state`() throws {
        var chain = try TestChain()
        let phone = try chain.add()
        try chain.append(.rotate(chain.epoch()), by: phone)
        var state = MembershipState()
        for bytes in chain.objects { try state.follow(bytes) }
        check(state, equals: chain.state)
        check(state.invalid.isEmpty)
    }

    // MARK: - Rules

    @Test func `a group is founded once, by a device that is an admin`() throws {
        let keys = MemberKeys.random()
        let epoch = TestChain.firstKeys(for: [try TestChain.record(keys)])
        func refusal(
            _ change: (inout ChainEntry.Member, inout ChainEntry.EpochKeys, inout ChainEntry) ->
                Void
        ) throws -> String? {
            var chain = try TestChain()
            chain.state = MembershipState()
            var (record, epoch) = (try TestChain.record(keys), epoch)
            var entry = chain.entry(.rotate(epoch), by: keys.id)
            change(&record, &epoch, &entry)
            entry.action = .found(record, epoch)
            return chain.refusal(try entry.signed(by: keys))
        }
        let byDevice = "a group is founded by its first device"
        try check(refusal { _, _, _ in } == nil)
        try check(refusal { record, _, _ in record.role = .writer }, equals: byDevice)
        try check(refusal { record, _, _ in record.nameEpoch = 2 }, equals: byDevice)
        try check(refusal { _, _, entry in entry.author = .random() }, equals: byDevice)
        try check(
            refusal { record, _, _ in
                (record.kind, record.mac) = (.recovery, Data(count: 32))
            }, equals: byDevice)
        let firstKey = "the first key has the number 1"
        try check(refusal { _, epoch, _ in epoch.number = 2 }, equals: firstKey)
        try check(refusal { _, epoch, _ in epoch.previous = Data([1]) }, equals: firstKey)
        try check(refusal { _, epoch, _ in epoch.previousNumber = 1 }, equals: firstKey)
        try check(
            refusal { _, epoch, _ in epoch.secret?.wrapped = [:] },
            equals: "a new key is for each member, and for no other")

        let chain = try TestChain()
        try check(
            chain.refusal(.found(try TestChain.record(keys), epoch), by: chain.founder),
            equals: "a group is founded once")
        var empty = chain
        empty.state = MembershipState()
        try check(
            empty.refusal(.rotate(epoch), by: chain.founder),
            equals: "a group is founded by its first device")
    }

    @Test func `an entry has its place in its group`() throws {
        let chain = try TestChain()
        func refusal(_ change: (inout ChainEntry) -> Void) throws -> String? {
            var entry = chain.entry(.rotate(chain.epoch()), by: chain.founder.id)
            change(&entry)
            return chain.refusal(try entry.signed(by: chain.founder))
        }
        try check(refusal { _ in } == nil)
        try check(refusal { $0.number = 3 }, equals: "it has another number")
        try check(
            refusal { $0.previous = Data(count: 32) }, equals: "it does not follow the one before")
        try check(refusal { $0.group = Data(count: 16) }, equals: "it is of another group")
        try check(refusal { $0.author = .random() }, equals: "its author is not a member")
    }

    @Test func `an entry is signed by its author`() throws {
        var chain = try TestChain()
        let phone = try chain.add()
        let entry = chain.entry(.rotate(chain.epoch()), by: chain.founder.id)
        check(chain.refusal(try entry.signed(by: phone)), equals: "its signature is not valid")
        // Without the prefix, a signature of something else could count.
        let content = entry.content()
        let plain = try chain.founder.signature(of: content)
        check(chain.refusal(content + plain), equals: "its signature is not valid")
    }

    @Test func `only an admin invites, removes and changes the key`() throws {
        var chain = try TestChain()
        let (writer, other) = (try chain.add(.device, .writer), MemberKeys.random())
        let rule = "only an admin invites, removes and changes the key"
        try check(
            chain.refusal(
                .add(try TestChain.record(other, .device, .writer), TestChain.own), by: writer),
            equals: rule)
        try check(
            chain.refusal(
                .remove(
                    [TestChain.position(chain.founder.id)], chain.epoch(without: [chain.founder.id])
                ),
                by: writer), equals: rule)
        try check(chain.refusal(.rotate(chain.epoch()), by: writer), equals: rule)
        try check(chain.refusal(.leave(TestChain.position(writer.id)), by: writer) == nil)
    }

    @Test func `a reader replaces its own keys, leaves, and does nothing else`() throws {
        var chain = try TestChain()
        let (reader, other) = (try chain.add(.device, .reader), MemberKeys.random())
        let record = try TestChain.record(other, .device, .reader)
        let byAdmin = "only an admin invites, removes and changes the key"
        try check(chain.refusal(.add(record, TestChain.own), by: reader), equals: byAdmin)
        try check(chain.refusal(.rotate(chain.epoch()), by: reader), equals: byAdmin)
        try check(
            chain.refusal(
                .fork(record, TestChain.own, after: TestChain.position(reader.id)), by: reader),
            equals: "a reader has no log that a copy could continue")
        let keys = try reader.renewed().publicKeys
        try check(
            chain.refusal(.update(keys, TestChain.own, asksForKey: false), by: reader) == nil)
        try check(chain.refusal(.leave(TestChain.position(reader.id)), by: reader) == nil)
    }

    @Test(arguments: [ChainEntry.Kind.invitation, .recovery])
    func `an invitation only adds a device with its own role`(_ kind: ChainEntry.Kind) throws {
        var chain = try TestChain()
        let (guest, new) = (try chain.add(kind, .writer), MemberKeys.random())
        let rule = "an invitation only adds a device with its own role"
        func adding(_ kind: ChainEntry.Kind, _ role: ChainEntry.Role) throws -> String? {
            try chain.refusal(
                .add(try TestChain.record(new, kind, role), TestChain.own(role)), by: guest)
        }
        try check(adding(.device, .admin), equals: rule)
        try check(adding(.recovery, .writer), equals: rule)
        try check(adding(.device, .writer) == nil)
        try check(chain.refusal(.rotate(chain.epoch()), by: guest), equals: rule)
        try check(chain.refusal(.leave(TestChain.position(guest.id)), by: guest), equals: rule)
        try check(
            chain.refusal(
                .remove(
                    [TestChain.position(chain.founder.id)], chain.epoch(without: [chain.founder.id])
                ),
                by: guest), equals: rule)
    }

    @Test func `an invitation for once is used once, and needs a new key then`() throws {
        var chain = try TestChain()
        let (once, often) = (try chain.add(.invitation), try chain.add(.recovery))
        func adding() throws -> ChainEntry.Action {
            .add(try TestChain.record(.random()), TestChain.adminsOwn)
        }
        try chain.append(try adding(), by: often)
        try chain.append(try adding(), by: often)
        check(!chain.state.needsRotation)
        try chain.append(try adding(), by: once)
        check(chain.state.needsRotation)
        try check(chain.refusal(try adding(), by: once), equals: "its author is not a member")
        // The next key is not for it.
        var epoch = chain.epoch()
        check(epoch.secret?.wrapped.keys.contains(once.id), equals: false)
        epoch.secret?.wrapped[once.id] = TestChain.wrapped
        try check(
            chain.refusal(.rotate(epoch), by: chain.founder),
            equals: "a new key is for each member, and for no other")
        try chain.append(.rotate(chain.epoch()), by: chain.founder)
        check(!chain.state.needsRotation)
    }

    @Test func `a member is added once, with keys of its own`() throws {
        var chain = try TestChain()
        let phone = try chain.add()
        func refusal(_ change: (inout ChainEntry.Member) throws -> Void) throws -> String? {
            var record = try TestChain.record(.random())
            try change(&record)
            return try chain.refusal(.add(record, TestChain.adminsOwn), by: chain.founder)
        }
        try check(refusal { _ in } == nil)
        try check(refusal { $0.id = phone.id }, equals: "the member was added before")
        let sameKeys = "another member has its keys"
        try check(refusal { $0.keys[.ed25519] = try phone.publicKeys.signing }, equals: sameKeys)
        for algorithm in [KeyAlgorithm.x25519, .xWing] {
            try check(
                refusal { $0.keys[algorithm] = try phone.publicKeys[algorithm] }, equals: sameKeys)
        }
        try check(refusal { $0.nameEpoch = 2 }, equals: "its name has no key yet")
        try check(refusal { $0.nameEpoch = 0 }, equals: "its name has no key yet")
        try check(refusal { $0.mac = Data(count: 32) }, equals: "no MAC")
        try check(refusal { $0.sealedName = Data(count: 401) }, equals: "a name is too long")

        try chain.append(
            .remove([TestChain.position(phone.id)], chain.epoch(without: [phone.id])),
            by: chain.founder
        )
        try check(refusal { $0.id = phone.id }, equals: "the member was added before")
    }

    @Test func `a member has no key of small order, and none in another form`() throws {
        let chain = try TestChain()
        func refusal(
            signing: [UInt8]? = nil, agreement: [UInt8]? = nil
        ) throws -> String? {
            var record = try TestChain.record(.random())
            if let signing { record.keys[.ed25519] = Data(signing) }
            if let agreement { record.keys[.x25519] = Data(agreement) }
            return try chain.refusal(.add(record, TestChain.adminsOwn), by: chain.founder)
        }
        let rule = "its keys are none of a member"
        let zero = [UInt8](repeating: 0, count: 32)
        func number(_ first: UInt8, _ last: UInt8, _ rest: UInt8 = 0xff) -> [UInt8] {
            [first] + [UInt8](repeating: rest, count: 30) + [last]
        }
        // Of order 8.
        let eighth = try Hex.bytes(
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
        let other = try Hex.bytes(
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")
        let points = [zero, number(1, 0, 0), number(0xec, 0x7f), eighth, other]
        for point in points {
            try check(refusal(signing: point), equals: rule)
            var negative = point
            negative[31] |= 0x80
            try check(refusal(signing: negative), equals: rule)
        }
        // Two and the prime: another form of two.
        for bytes in [number(0xed, 0x7f), number(0xef, 0x7f), number(0xff, 0x7f)] {
            try check(refusal(signing: bytes), equals: rule)
            try check(refusal(agreement: bytes), equals: rule)
        }
        var high = [UInt8](try require(TestChain.record(.random()).keys[.x25519]))
        high[31] |= 0x80
        try check(refusal(agreement: high), equals: rule)
        try check(refusal() == nil)
    }

    @Test func `names and keys may be as long as their limits`() throws {
        let chain = try TestChain()
        func refusal(name: Int = 0, key: Int = 1) throws -> String? {
            var record = try TestChain.record(.random())
            record.sealedName = Data(count: name)
            return try chain.refusal(
                .add(
                    record,
                    .init(epoch: Data(repeating: 3, count: key), secret: TestChain.wrapped)),
                by: chain.founder)
        }
        try check(refusal(name: 400) == nil)
        try check(refusal(key: 2000) == nil)
        try check(refusal(key: 2001), equals: "a key is too long")
    }

    @Test func `a copy continues from its own log, with its role`() throws {
        var chain = try TestChain()
        let (phone, new) = (try chain.add(.device, .writer), MemberKeys.random())
        let rule = "a copy continues from its own log, with the same role"
        func forking(
            _ kind: ChainEntry.Kind, _ role: ChainEntry.Role, _ log: MemberID
        ) throws -> String? {
            try chain.refusal(
                .fork(
                    try TestChain.record(new, kind, role), TestChain.own(role),
                    after: TestChain.position(log)),
                by: phone)
        }
        try check(forking(.device, .writer, phone.id) == nil)
        try check(forking(.device, .admin, phone.id), equals: rule)
        try check(forking(.recovery, .writer, phone.id), equals: rule)
        try check(forking(.device, .writer, chain.founder.id), equals: rule)
    }

    @Test func `a removal is of another member, and gives a key to those that remain`() throws {
        var chain = try TestChain()
        let (phone, laptop) = (try chain.add(), try chain.add())
        func removing(
            _ member: MemberID, _ epoch: ChainEntry.EpochKeys, by author: MemberKeys
        ) throws -> String? {
            try chain.refusal(.remove([TestChain.position(member)], epoch), by: author)
        }
        let other = "it removes one that was no other member"
        let epoch = chain.epoch(without: [phone.id])
        try check(removing(phone.id, epoch, by: phone), equals: other)
        try check(removing(.random(), epoch, by: laptop), equals: other)
        let each = "a new key is for each member, and for no other"
        try check(
            removing(phone.id, chain.epoch(), by: laptop),
            equals: "the secret of the tree changes when an admin's key does")
        var more = epoch
        more.secret?.wrapped[phone.id] = TestChain.wrapped
        try check(removing(phone.id, more, by: laptop), equals: each)
        var fewer = epoch
        fewer.secret?.wrapped[laptop.id] = nil
        try check(removing(phone.id, fewer, by: laptop), equals: each)
        let next = "a new key has the next number"
        try check(removing(phone.id, chain.epoch(number: 1), by: laptop), equals: next)
        try check(removing(phone.id, chain.epoch(number: 3), by: laptop), equals: next)
        try check(removing(phone.id, chain.epoch(previous: Data()), by: laptop), equals: next)
        for number in [0, 2] as [UInt64] {
            var later = epoch
            later.previousNumber = number
            try check(removing(phone.id, later, by: laptop), equals: next)
        }
        let phoneAlone = TestChain.position(phone.id)
        for positions in [
            [], [phoneAlone, phoneAlone], [phoneAlone, TestChain.position(laptop.id)],
        ] {
            try check(chain.refusal(.remove(positions, epoch), by: laptop), equals: other)
        }

        try chain.append(.remove([TestChain.position(phone.id)], epoch), by: laptop)
        try check(
            chain.refusal(.rotate(chain.epoch()), by: phone), equals: "its author is not a member")
    }

    @Test func `a former member can be removed again, and its log ends elsewhere then`() throws {
        var chain = try TestChain()
        let (phone, laptop) = (try chain.add(), try chain.add())
        try chain.append(.leave(TestChain.position(phone.id, 7)), by: phone)
        let snapshot = SnapshotPin(number: 3, hash: Data(repeating: 1, count: 32))
        let again = ChainEntry.Action.remove(
            [TestChain.position(phone.id, 5)], chain.epoch(), snapshot: snapshot)
        try chain.append(again, by: laptop)
        check(chain.state.removed[phone.id], equals: TestChain.position(phone.id, 5))
        check(chain.state.lastSnapshots[phone.id], equals: snapshot)
        check(chain.state.departures, equals: 2)
        try check(
            chain.refusal(.rotate(chain.epoch()), by: phone), equals: "its author is not a member")
    }

    @Test func `open invitations go with the device that made them`() throws {
        var chain = try TestChain()
        let phone = try chain.add()
        let (known, unknown) = (MemberKeys.random(), try chain.add(.recovery))
        try chain.append(
            .add(try TestChain.record(known, .recovery), TestChain.adminsOwn), by: phone)
        try chain.append(
            .remove([TestChain.position(phone.id)], chain.epoch(without: [phone.id])),
            by: chain.founder
        )
        func joining(_ guest: MemberKeys) throws -> String? {
            try chain.refusal(.add(try TestChain.record(.random()), TestChain.adminsOwn), by: guest)
        }
        try check(joining(known), equals: "its author is not a member")
        try check(joining(unknown) == nil)
    }

    @Test func `several members go with one new key`() throws {
        var chain = try TestChain()
        let gone = [try chain.add(), try chain.add(), try chain.add(.recovery)]
        let rest = try chain.add()
        let epoch = chain.epoch(without: gone.map(\.id))
        try chain.append(.remove(gone.map { TestChain.position($0.id) }, epoch), by: rest)
        check(Set(chain.state.active.map(\.id)), equals: [chain.founder.id, rest.id])
        check(chain.state.epoch, equals: 2)
    }

    @Test func `the forks of a member are those of its forks too, as long as they are there`()
        throws
    {
        var chain = try TestChain()
        let phone = try chain.add()
        let (first, second, other) = (
            MemberKeys.random(), MemberKeys.random(), MemberKeys.random()
        )
        func fork(_ new: MemberKeys, of keys: MemberKeys) throws {
            try chain.append(
                .fork(
                    try TestChain.record(new), TestChain.adminsOwn,
                    after: TestChain.position(keys.id)),
                by: keys)
        }
        try fork(first, of: phone)
        try fork(second, of: first)
        try chain.append(.add(try TestChain.record(other), TestChain.adminsOwn), by: phone)
        check(chain.state.forks(of: phone.id), equals: [first.id, second.id])
        try chain.append(.leave(TestChain.position(first.id)), by: first)
        check(chain.state.forks(of: phone.id), equals: [second.id])
        check(chain.state.forks(of: other.id), equals: [])
    }

    @Test
    func `an invitation adds nobody after its end, by the clock of the joiner or of an admin`()
        throws
    {
        var chain = try TestChain()
        let guest = MemberKeys.random()
        var record = try TestChain.record(guest, .invitation)
        record.expires = 100
        try chain.append(.add(record, TestChain.adminsOwn), by: chain.founder)
        func joining(at time: UInt64) throws -> String? {
            var entry = chain.entry(
                .add(try TestChain.record(.random()), TestChain.adminsOwn), by: guest.id)
            entry.time = time
            return chain.refusal(try entry.signed(by: guest))
        }
        try check(joining(at: 100) == nil)
        try check(joining(at: 101), equals: "the invitation has expired")
        var later = chain.entry(.rotate(chain.epoch()), by: chain.founder.id)
        later.time = 101
        try chain.append(try later.signed(by: chain.founder))
        try check(joining(at: 100), equals: "the invitation has expired")
        var device = try TestChain.record(.random())
        device.expires = 100
        try check(
            chain.refusal(.add(device, TestChain.adminsOwn), by: chain.founder),
            equals: "a device does not expire")
    }

    @Test func `devices that a member has added stay when it goes`() throws {
        var chain = try TestChain()
        let (phone, laptop) = (try chain.add(), MemberKeys.random())
        try chain.append(.add(try TestChain.record(laptop), TestChain.adminsOwn), by: phone)
        try chain.append(.leave(TestChain.position(phone.id)), by: phone)
        check(chain.state.isActive(laptop.id))
        check(chain.state.origin(of: laptop.id)?.author, equals: phone.id)
    }

    @Test func `a member leaves only itself, and the last admin stays`() throws {
        var chain = try TestChain()
        try check(
            chain.refusal(.leave(TestChain.position(chain.founder.id)), by: chain.founder) == nil)
        let writer = try chain.add(.device, .writer)
        try check(
            chain.refusal(.leave(TestChain.position(chain.founder.id)), by: writer),
            equals: "a member only leaves itself")
        try check(
            chain.refusal(.leave(TestChain.position(chain.founder.id)), by: chain.founder),
            equals: "the last admin stays while others do; invite another one first")
        try chain.add()
        try chain.append(.leave(TestChain.position(chain.founder.id)), by: chain.founder)
        check(chain.state.needsRotation)
    }

    @Test func `a group has at most 1,024 members`() throws {
        var chain = try TestChain()
        let founder = chain.founder
        let members = [founder] + (1..<1023).map { _ in MemberKeys.random() }
        let records = try members.map {
            try TestChain.record($0, .device, $0.id == founder.id ? .admin : .writer)
        }
        (chain.state, chain.objects) = (MembershipState(), [])
        try chain.append(
            .succeed(formers: [Data(count: 16)], records, TestChain.firstKeys(for: records)),
            by: founder)
        try chain.add(.device, .writer)
        let new = MemberKeys.random()
        try check(
            chain.refusal(.add(try TestChain.record(new), TestChain.adminsOwn), by: chain.founder),
            equals: "a group has at most 1024 members and open invitations")
        let gone = chain.state.active[5].id
        try chain.append(
            .remove([TestChain.position(gone)], chain.epoch(without: [gone])), by: chain.founder)
        try check(
            chain.refusal(.add(try TestChain.record(new), TestChain.adminsOwn), by: chain.founder)
                == nil)
        check(chain.objects[0].count > 1_300_000)
        check(chain.objects.dropFirst().map(\.count).max() ?? 0 < 4000)
    }
}
