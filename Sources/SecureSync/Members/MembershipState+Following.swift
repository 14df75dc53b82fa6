internal import Crypto
package import Foundation

// Applies the objects of the chain in order.
extension MembershipState {
    // MARK: - Objects

    /// Stands for an object that is too large to be an entry, and is not read.
    static let tooLarge = hash(of: Data())

    /// The part that is kept of an invalid object: the hash, unless the object is small.
    static func shortened(_ object: Data) -> Data {
        object.count > 4096 ? hash(of: object) : object
    }

    /// The part that a member keeps of an object: the hash, if it cannot be an entry.
    ///
    /// This includes objects as long as a hash: otherwise the hash of an entry, put in its place,
    /// would hide the entry from some members without breaking the chain.
    static func kept(of object: Data) -> Data {
        if object.count > ChainEntry.longest { return tooLarge }
        return object.count >= ChainEntry.signatureCount ? object : hash(of: object)
    }

    /// Applies the next object of the chain, or skips it if it is invalid.
    ///
    /// - Parameter bytes: The kept form of the object: see `kept`.
    /// - Throws: `Refusal` if a member signed it for this place but after a different chain, or if
    ///   the first entry is wrong; `CBORError` for the first entry; `NewerFormat`.
    package mutating func follow(_ bytes: Data) throws {
        // Without its first entry there is no group.
        guard count > 0 else { return try apply(bytes) }
        if bytes.count == Self.hashCount { return skip(bytes) }
        // An entry signed for another place is a replay.
        guard let envelope = try? ChainEnvelope(reading: bytes), envelope.group == group,
            envelope.number == count + 1, let author = activeMember(envelope.author),
            envelope.isSigned(by: author.keys)
        else { return skip(Self.hash(of: bytes)) }
        // Not invalid: a trusted member has seen other objects than this store shows.
        guard envelope.previous == last else { throw Refusal("it follows another chain") }
        do {
            try apply(bytes)
        } catch is Refusal {
            skip(Self.hash(of: bytes))
        } catch is CBORError {
            skip(Self.hash(of: bytes))
        }
    }

    private mutating func skip(_ hash: Data) {
        count += 1
        hashes.append(Self.hash(of: last + hash))
        epochs.append(epoch)
        invalid.append(count)
    }

    /// Applies the next entry.
    ///
    /// - Throws: `Refusal` if it breaks a rule; `CBORError`; `NewerFormat`. The state is then
    ///   unchanged.
    package mutating func apply(_ bytes: Data) throws {
        var next = self
        try next.take(try ChainEntry(reading: bytes), try ChainEnvelope(reading: bytes))
        next.count += 1
        // Covers the whole chain. If it covered this object alone, an entry could be hidden before
        // one whose author the reader does not know, and the entry after that would fit again.
        next.hashes.append(Self.hash(of: last + Self.hash(of: bytes)))
        next.epochs.append(next.epoch)
        self = next
    }

    private mutating func take(_ entry: ChainEntry, _ envelope: ChainEnvelope) throws {
        guard entry.number == count + 1 else { throw Refusal("it has another number") }
        guard entry.previous == last else { throw Refusal("it does not follow the one before") }
        if count == 0 {
            try found(entry)
        } else if entry.group != group {
            throw Refusal("it is of another group")
        }
        guard let author = activeMember(entry.author) else {
            throw Refusal("its author is not a member")
        }
        guard envelope.isSigned(by: author.keys) else {
            throw Refusal("its signature is not valid")
        }
        if count > 0 { try take(entry, by: author) }
    }

    private mutating func found(_ entry: ChainEntry) throws {
        let (members, keys): ([ChainEntry.Member], ChainEntry.EpochKeys)
        switch entry.action {
        case .found(let founder, let first): (members, keys) = ([founder], first)
        case .succeed(let before, let all, let first):
            guard !before.isEmpty, !before.contains(entry.group) else {
                throw Refusal("a group follows another one")
            }
            (members, keys, formers) = (all, first, before)
        default: throw Refusal("a group is founded by its first device")
        }
        // Codes on paper stay valid: see SyncGroup.join.
        guard let founder = members.first, founder.role == .admin, entry.author == founder.id,
            founder.kind == .device,
            members.allSatisfy({ $0.kind != .invitation && $0.nameEpoch == 1 })
        else { throw Refusal("a group is founded by its first device") }
        guard keys.number == 1, keys.previous.isEmpty else {
            throw Refusal("the first key has the number 1")
        }
        group = entry.group
        for member in members {
            try requireNew(member)
            append(member, entry)
        }
        guard keys.previousNumber == 0 else { throw Refusal("the first key has the number 1") }
        try take(keys, by: founder, entry)
        time = entry.time
    }
}
