internal import Crypto
package import Foundation

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
        case .add(let member, let keys):
            writer.unsigned(1)
            writer.array(2)
            writer.member(member)
            writer.own(keys)
        case .remove(let positions, let keys, let snapshot):
            writer.unsigned(2)
            writer.array(3)
            writer.array(positions.count)
            for position in positions { writer.chainEnd(position) }
            writer.epoch(keys)
            writer.pin(snapshot)
        case .rotate(let keys):
            writer.unsigned(3)
            writer.array(1)
            writer.epoch(keys)
        case .leave(let position, let snapshot):
            writer.unsigned(4)
            writer.array(2)
            writer.chainEnd(position)
            writer.pin(snapshot)
        case .fork(let member, let keys, let position):
            writer.unsigned(5)
            writer.array(3)
            writer.member(member)
            writer.own(keys)
            writer.chainEnd(position)
        case .succeed(let formers, let members, let keys):
            writer.unsigned(6)
            writer.array(3)
            writer.array(formers.count)
            for former in formers { writer.data(former) }
            writer.array(members.count)
            for member in members { writer.member(member) }
            writer.epoch(keys)
        case .update(let keys, let own, let asksForKey):
            writer.unsigned(7)
            writer.array(3)
            writer.keys(keys)
            writer.own(own)
            writer.bool(asksForKey)
        }
        return Data(writer.bytes)
    }

    /// The signed message.
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
        case (1, 2): action = .add(try reader.chainMember(), try reader.own())
        case (2, 3):
            action = .remove(
                try (0..<(try reader.array(atMost: MembershipState.mostMembers))).map { _ in
                    try reader.chainEnd()
                }, try reader.epoch(), snapshot: try reader.pin())
        case (3, 1): action = .rotate(try reader.epoch())
        case (4, 2): action = .leave(try reader.chainEnd(), snapshot: try reader.pin())
        case (5, 3):
            action = .fork(
                try reader.chainMember(), try reader.own(), after: try reader.chainEnd())
        case (6, 3):
            action = .succeed(
                formers: try (0..<(try reader.array(atMost: MembershipState.mostFormers))).map {
                    _ in Data(try reader.data(count: 16))
                },
                try (0..<(try reader.array(atMost: MembershipState.mostMembers))).map { _ in
                    try reader.chainMember()
                }, try reader.epoch())
        case (7, 3):
            action = .update(
                try reader.keys(), try reader.own(), asksForKey: try reader.bool())
        default: throw CBORError("an unknown action")
        }
        try reader.expectEnd()
        self.init(
            group: envelope.group, number: envelope.number, previous: envelope.previous,
            author: envelope.author, time: time, action: action)
    }
}

/// The common part of all entry versions: the entry's place and its signer.
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
