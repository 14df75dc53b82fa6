internal import Crypto
package import Foundation

/// One change of the group's membership: signed, and bound to all that precede it.
///
/// Entry n is created in the store once, so that all members read the same ones in the same order.
package struct ChainEntry: Equatable, Sendable {
    package var group: Data
    /// From 1.
    package var number: UInt64
    /// The hash of all objects before: see `MembershipState.last`; zeros for the first one.
    package var previous: Data
    package var author: MemberID
    /// When it was made, by its author's clock, in milliseconds since 1970.
    package var time: UInt64
    package var action: Action

    package enum Action: Equatable, Sendable {
        /// The founder, and the first key.
        case found(Member, EpochKeys)
        /// A device, or an invitation; the current key is wrapped for it.
        case add(Member, key: Data)
        /// Members are gone, their batches count up to these, and the group's snapshots go on from
        /// that one under the new key that the others get.
        case remove([LogHead], EpochKeys, snapshot: SnapshotPin = .none)
        /// A new key for all.
        case rotate(EpochKeys)
        /// The author goes; its last batch, and the newest snapshot.
        case leave(LogHead, snapshot: SnapshotPin = .none)
        /// The author's file has a copy: the copy goes on as this member, after this batch.
        case fork(Member, key: Data, after: LogHead)
        /// The members of another group go on in this one, the author first; the groups before it,
        /// the last one first.
        case succeed(formers: [Data], [Member], EpochKeys)
    }

    /// A member as it is added.
    package struct Member: Hashable, Sendable {
        package var id: MemberID
        package var keys: PublicKeys
        package var kind: Kind
        /// What it may do; of an invitation, what the devices that it adds may do.
        package var role: Role
        /// The name of the device, sealed with the key of the epoch.
        package var sealedName: Data
        package var nameEpoch: UInt64
        /// For an invitation: shows to the holder of its secret that this chain is the one that it
        /// was made in.
        package var mac: Data
        /// Of an invitation: when it ends, in milliseconds since 1970; 0 for never.
        package var expires: UInt64 = 0
    }

    package enum Kind: UInt8, Sendable {
        case device
        /// Adds one device, and is used up.
        case invitation
        /// Adds devices until it is removed.
        case recovery
    }

    /// What a member may do to the group; all read and write its rows.
    package enum Role: UInt8, Sendable {
        /// Invites, removes, changes the key, and lets the group begin anew.
        case admin
        /// Goes on as another member after a copy, and leaves.
        case writer
    }

    /// A group's key of an epoch, wrapped for each member.
    package struct EpochKeys: Equatable, Sendable {
        package var number: UInt64
        /// By which a member knows whether it has got the key that the others have.
        package var commitment: Data
        package var wrapped: [MemberID: Data]
        /// Which of the keys before is sealed with this one: the newest that the author has; 0 for
        /// the first.
        package var previousNumber: UInt64
        /// That key, sealed with this one; empty for the first.
        package var previous: Data

        package init(
            number: UInt64, commitment: Data, wrapped: [MemberID: Data],
            previousNumber: UInt64 = 0, previous: Data = Data()
        ) {
            self.number = number
            self.commitment = commitment
            self.wrapped = wrapped
            self.previousNumber = previousNumber
            self.previous = previous
        }
    }

    static let version: UInt64 = 1
    static let signatureCount = 64
    static let longest = 1 << 20
    static let longestName = 400
    /// Of a wrapped key; leaves room for algorithms with larger ones.
    static let longestKey = 2000
    static let commitmentCount = 32
}

// MARK: - Bytes

extension ChainEntry {
    /// The bytes of the entry without its signature.
    func content() -> Data {
        var writer = CBORWriter()
        writer.array(8)
        writer.unsigned(Self.version)
        writer.data(group)
        writer.unsigned(number)
        writer.data(previous)
        writer.data(author.bytes)
        writer.unsigned(time)
        switch action {
        case .found(let member, let keys):
            writer.unsigned(0)
            writer.array(2)
            writer.member(member)
            writer.epoch(keys)
        case .add(let member, let key):
            writer.unsigned(1)
            writer.array(2)
            writer.member(member)
            writer.data(key)
        case .remove(let heads, let keys, let snapshot):
            writer.unsigned(2)
            writer.array(3)
            writer.array(heads.count)
            for head in heads { writer.head(head) }
            writer.epoch(keys)
            writer.pin(snapshot)
        case .rotate(let keys):
            writer.unsigned(3)
            writer.array(1)
            writer.epoch(keys)
        case .leave(let head, let snapshot):
            writer.unsigned(4)
            writer.array(2)
            writer.head(head)
            writer.pin(snapshot)
        case .fork(let member, let key, let head):
            writer.unsigned(5)
            writer.array(3)
            writer.member(member)
            writer.data(key)
            writer.head(head)
        case .succeed(let formers, let members, let keys):
            writer.unsigned(6)
            writer.array(3)
            writer.array(formers.count)
            for former in formers { writer.data(former) }
            writer.array(members.count)
            for member in members { writer.member(member) }
            writer.epoch(keys)
        }
        return Data(writer.bytes)
    }

    /// What is signed.
    static func message(_ content: Data) -> Data {
        Data("SecureStorage sync chain 1".utf8) + Data(SHA256.hash(data: content))
    }

    /// The bytes of the object.
    func signed(by keys: MemberKeys) throws -> Data {
        let content = content()
        return content + (try keys.signature(of: Self.message(content)))
    }

    /// Reads an entry; its signature and its place are checked by `MembershipState`.
    ///
    /// - Throws: `CBORError`; `NewerFormat`.
    package init(reading bytes: Data) throws {
        let envelope = try ChainEnvelope(reading: bytes)
        guard envelope.version == Self.version else { throw NewerFormat() }
        guard envelope.itemCount == 8 else { throw CBORError("no entry") }
        var reader = envelope.rest
        let time = try reader.unsigned()
        let action: Action
        switch (try reader.unsigned(), try reader.array()) {
        case (0, 2): action = .found(try reader.chainMember(), try reader.epoch())
        case (1, 2): action = .add(try reader.chainMember(), key: try reader.key())
        case (2, 3):
            action = .remove(
                try (0..<(try reader.array(atMost: MembershipState.mostMembers))).map { _ in
                    try reader.head()
                }, try reader.epoch(), snapshot: try reader.pin())
        case (3, 1): action = .rotate(try reader.epoch())
        case (4, 2): action = .leave(try reader.head(), snapshot: try reader.pin())
        case (5, 3):
            action = .fork(
                try reader.chainMember(), key: try reader.key(), after: try reader.head())
        case (6, 3):
            action = .succeed(
                formers: try (0..<(try reader.array(atMost: MembershipState.mostFormers))).map {
                    _ in Data(try reader.data(count: 16))
                },
                try (0..<(try reader.array(atMost: MembershipState.mostMembers))).map { _ in
                    try reader.chainMember()
                }, try reader.epoch())
        default: throw CBORError("an unknown action")
        }
        try reader.expectEnd()
        self.init(
            group: envelope.group, number: envelope.number, previous: envelope.previous,
            author: envelope.author, time: time, action: action)
    }
}

/// What entries of all versions have in common: where an entry belongs, and who has signed it.
struct ChainEnvelope {
    let version: UInt64
    let group: Data
    let number: UInt64
    let previous: Data
    let author: MemberID
    let itemCount: Int
    private let content: Data
    private let signature: Data
    /// Before the action.
    let rest: CBORReader

    /// - Throws: `CBORError`.
    init(reading bytes: Data) throws {
        guard bytes.count > ChainEntry.signatureCount, bytes.count <= ChainEntry.longest else {
            throw CBORError("an entry has another size")
        }
        content = Data(bytes.dropLast(ChainEntry.signatureCount))
        signature = Data(bytes.suffix(ChainEntry.signatureCount))
        var reader = CBORReader([UInt8](content))
        itemCount = try reader.array()
        guard itemCount >= 5 else { throw CBORError("no entry") }
        version = try reader.unsigned()
        group = Data(try reader.data(count: 16))
        number = try reader.unsigned()
        previous = Data(try reader.data(count: 32))
        author = try reader.memberID()
        guard version > 0 else { throw CBORError("an unknown version") }
        rest = reader
    }

    func isSigned(by keys: PublicKeys) -> Bool {
        keys.isValid(signature, for: ChainEntry.message(content))
    }
}

extension CBORWriter {
    fileprivate mutating func member(_ member: ChainEntry.Member) {
        array(9)
        data(member.id.bytes)
        data(member.keys.signing)
        data(member.keys.agreement)
        unsigned(UInt64(member.kind.rawValue))
        unsigned(UInt64(member.role.rawValue))
        data(member.sealedName)
        unsigned(member.nameEpoch)
        data(member.mac)
        unsigned(member.expires)
    }

    fileprivate mutating func epoch(_ epoch: ChainEntry.EpochKeys) {
        array(5)
        unsigned(epoch.number)
        data(epoch.commitment)
        array(epoch.wrapped.count)
        for (member, key) in epoch.wrapped.sorted(by: { $0.key < $1.key }) {
            array(2)
            data(member.bytes)
            data(key)
        }
        unsigned(epoch.previousNumber)
        data(epoch.previous)
    }

    fileprivate mutating func pin(_ snapshot: SnapshotPin) {
        array(2)
        unsigned(snapshot.number)
        data(snapshot.hash)
    }

    fileprivate mutating func head(_ head: LogHead) {
        array(3)
        data(head.member.bytes)
        unsigned(head.number)
        data(head.hash)
    }
}

extension CBORReader {
    fileprivate mutating func memberID() throws -> MemberID {
        guard let id = MemberID(try data(count: MemberID.byteCount)), id != .none else {
            throw CBORError("no member")
        }
        return id
    }

    fileprivate mutating func chainMember() throws -> ChainEntry.Member {
        try array(count: 9)
        let id = try memberID()
        let keys = PublicKeys(
            signing: Data(try data(count: 32)), agreement: Data(try data(count: 32)))
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

    fileprivate mutating func key() throws -> Data {
        let key = Data(try data())
        guard key.count <= ChainEntry.longestKey else { throw CBORError("a key is too long") }
        return key
    }

    fileprivate mutating func epoch() throws -> ChainEntry.EpochKeys {
        try array(count: 5)
        let number = try unsigned()
        let commitment = Data(try data(count: ChainEntry.commitmentCount))
        var wrapped: [MemberID: Data] = [:]
        var last = MemberID.none
        for _ in 0..<(try array()) {
            try array(count: 2)
            let member = try memberID()
            guard last < member else { throw CBORError("members are not in their order") }
            wrapped[member] = try key()
            last = member
        }
        return ChainEntry.EpochKeys(
            number: number, commitment: commitment, wrapped: wrapped,
            previousNumber: try unsigned(), previous: try key())
    }

    fileprivate mutating func pin() throws -> SnapshotPin {
        try array(count: 2)
        return SnapshotPin(number: try unsigned(), hash: Data(try data(count: 32)))
    }

    fileprivate mutating func head() throws -> LogHead {
        try array(count: 3)
        return LogHead(
            member: try memberID(), number: try unsigned(), hash: Data(try data(count: 32)))
    }
}
