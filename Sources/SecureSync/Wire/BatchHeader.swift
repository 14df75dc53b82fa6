package import Foundation
internal import SecureStoragePlatform

/// The part of a batch or a snapshot's manifest that a store sees: its member and its number.
package struct BatchHeader: Equatable, Sendable {
    package var kind: SealedKind
    /// The group's 16 bytes.
    package var group: Data
    package var member: MemberID
    /// From 1, without gaps: of the member's batches, or of the group's snapshots.
    package var number: UInt64
    /// The epoch of the key that seals the body.
    package var epoch: UInt64
    /// The hash of the previous one; zeros for the first.
    package var previous: Data
    /// The last entry of the chain of members that the writer knows.
    package var chain: ChainPosition

    package init(
        _ kind: SealedKind = .batch, group: Data, member: MemberID, number: UInt64, epoch: UInt64,
        previous: Data, chain: ChainPosition
    ) {
        self.kind = kind
        self.group = group
        self.member = member
        self.number = number
        self.epoch = epoch
        self.previous = previous
        self.chain = chain
    }

    static let version: UInt8 = 1
    package static let byteCount = 4 + 16 + 16 + 8 + 8 + 32 + 8 + 32

    var bytes: Data {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.raw(kind.magic)
        writer.byte(Self.version)
        writer.raw(group)
        writer.raw(member.bytes)
        writer.integer(number)
        writer.integer(epoch)
        writer.raw(previous)
        writer.integer(chain.number)
        writer.raw(chain.hash)
        return Data(writer.bytes)
    }

    /// Reads the beginning of a batch or a manifest.
    ///
    /// - Parameters:
    ///   - bytes: The object, or its beginning.
    ///   - kind: The expected kind.
    /// - Throws: `CBORError`; `NewerFormat`, which a store can fake, since the signature of an
    ///   unknown format cannot be checked.
    package init(reading bytes: Data, _ kind: SealedKind = .batch) throws {
        let bytes = [UInt8](bytes.prefix(Self.byteCount))
        guard bytes.starts(with: kind.magic), bytes.count > 3, bytes[3] > 0 else {
            throw CBORError("it is no \(kind.name)")
        }
        guard bytes[3] == Self.version else { throw NewerFormat() }
        var reader = ByteReader(bytes[4...]) { CBORError($0) }
        let group = Data(try reader.take(16))
        let member = MemberID(try reader.take(16))
        let number = try reader.integer(UInt64.self)
        let epoch = try reader.integer(UInt64.self)
        let previous = Data(try reader.take(32))
        let chain = ChainPosition(
            number: try reader.integer(UInt64.self), hash: Data(try reader.take(32)))
        guard let member else { throw CBORError("it has no member") }
        guard SyncNames.isValid(number) else { throw CBORError("its number is out of range") }
        guard (number == 1) == previous.allSatisfy({ $0 == 0 }) else {
            throw CBORError("it follows no \(kind.name), or one too many")
        }
        self.init(
            kind, group: group, member: member, number: number, epoch: epoch, previous: previous,
            chain: chain)
    }
}

/// An object of a version that this library does not know.
package struct NewerFormat: Error, Equatable {}
