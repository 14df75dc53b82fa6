internal import Foundation

// The parts of an entry.
extension CBORWriter {
    mutating func member(_ member: ChainEntry.Member) {
        array(8)
        data(member.id.bytes)
        keys(member.keys)
        unsigned(UInt64(member.kind.rawValue))
        unsigned(UInt64(member.role.rawValue))
        data(member.sealedName)
        unsigned(member.nameEpoch)
        data(member.mac)
        unsigned(member.expires)
    }

    mutating func keys(_ keys: PublicKeys) {
        array(keys.all.count)
        for (algorithm, bytes) in keys.all.sorted(by: { $0.key < $1.key }) {
            array(2)
            unsigned(algorithm)
            data(bytes)
        }
    }

    mutating func own(_ keys: ChainEntry.OwnKeys) {
        array(2)
        data(keys.epoch)
        data(keys.secret)
    }

    mutating func epoch(_ epoch: ChainEntry.EpochKeys) {
        array(8)
        unsigned(epoch.number)
        data(epoch.commitment)
        data(epoch.sealedForAdmins)
        data(epoch.sealedForWriters)
        if let secret = epoch.secret {
            array(2)
            data(secret.commitment)
            array(secret.wrapped.count)
            for (member, key) in secret.wrapped.sorted(by: { $0.key < $1.key }) {
                array(2)
                data(member.bytes)
                data(key)
            }
        } else {
            null()
        }
        array(epoch.nodes.count)
        for keys in epoch.nodes {
            array(5)
            unsigned(UInt64(keys.node.level))
            unsigned(UInt64(keys.node.index))
            data(keys.commitment)
            keys.wrapped.forEach { data($0) }
        }
        unsigned(epoch.previousNumber)
        data(epoch.previous)
    }

    mutating func pin(_ snapshot: SnapshotPin) {
        array(2)
        unsigned(snapshot.number)
        data(snapshot.hash)
    }

    mutating func chainEnd(_ position: BatchPosition) {
        array(3)
        data(position.member.bytes)
        unsigned(position.number)
        data(position.hash)
    }
}

extension CBORReader {
    mutating func memberID() throws -> MemberID {
        guard let id = MemberID(try data(count: MemberID.byteCount)), id != .none else {
            throw CBORError("no member")
        }
        return id
    }

    mutating func chainMember() throws -> ChainEntry.Member {
        try array(count: 8)
        let id = try memberID()
        let keys = try keys()
        guard let kind = ChainEntry.Kind(rawValue: try unsigned(as: UInt8.self)) else {
            throw CBORError("an unknown kind of member")
        }
        guard let role = ChainEntry.Role(rawValue: try unsigned(as: UInt8.self)) else {
            throw CBORError("an unknown role")
        }
        let name = Data(try data())
        guard name.count <= ChainEntry.longestName else { throw CBORError("a name is too long") }
        let nameEpoch = try unsigned()
        let mac = Data(try data())
        guard mac.count == (kind == .device ? 0 : 32) else { throw CBORError("no MAC") }
        let expires = try unsigned()
        guard expires == 0 || kind != .device else { throw CBORError("a device does not expire") }
        return ChainEntry.Member(
            id: id, keys: keys, kind: kind, role: role, sealedName: name, nameEpoch: nameEpoch,
            mac: mac, expires: expires)
    }

    mutating func key() throws -> Data {
        let key = Data(try data())
        guard key.count <= ChainEntry.longestKey else { throw CBORError("a key is too long") }
        return key
    }

    mutating func keys() throws -> PublicKeys {
        var all: [UInt64: Data] = [:]
        var last: UInt64 = 0
        for _ in 0..<(try array(atMost: ChainEntry.mostKeys)) {
            try array(count: 2)
            let algorithm = try unsigned()
            guard last < algorithm else { throw CBORError("keys are not in their order") }
            all[algorithm] = try key()
            last = algorithm
        }
        return PublicKeys(all: all)
    }

    mutating func own() throws -> ChainEntry.OwnKeys {
        try array(count: 2)
        return ChainEntry.OwnKeys(epoch: try key(), secret: try key())
    }

    mutating func epoch() throws -> ChainEntry.EpochKeys {
        try array(count: 8)
        return ChainEntry.EpochKeys(
            number: try unsigned(), commitment: try commitment(), sealedForAdmins: try key(),
            sealedForWriters: try key(), secret: try secret(), nodes: try nodes(),
            previousNumber: try unsigned(), previous: try key())
    }

    private mutating func commitment() throws -> Data {
        Data(try data(count: ChainEntry.commitmentCount))
    }

    private mutating func secret() throws -> ChainEntry.Secret? {
        if skipNull() { return nil }
        try array(count: 2)
        let commitment = try commitment()
        var wrapped: [MemberID: Data] = [:]
        var last = MemberID.none
        for _ in 0..<(try array(atMost: MembershipState.mostMembers)) {
            try array(count: 2)
            let member = try memberID()
            guard last < member else { throw CBORError("members are not in their order") }
            wrapped[member] = try key()
            last = member
        }
        return ChainEntry.Secret(commitment: commitment, wrapped: wrapped)
    }

    private mutating func nodes() throws -> [ChainEntry.NodeKeys] {
        // There are fewer than two nodes for each leaf.
        try (0..<(try array(atMost: 2 * MembershipState.mostMembers))).map { _ in
            try array(count: 5)
            guard let node = KeyTree.Node(level: try unsigned(), index: try unsigned()) else {
                throw CBORError("no node")
            }
            return ChainEntry.NodeKeys(
                node, commitment: try commitment(), wrapped: [try key(), try key()])
        }
    }

    mutating func pin() throws -> SnapshotPin {
        try array(count: 2)
        return SnapshotPin(number: try unsigned(), hash: Data(try data(count: 32)))
    }

    mutating func chainEnd() throws -> BatchPosition {
        try array(count: 3)
        return BatchPosition(
            member: try memberID(), number: try unsigned(), hash: Data(try data(count: 32)))
    }
}
