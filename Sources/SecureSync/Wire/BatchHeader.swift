package import Foundation

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
        var bytes = Data(capacity: Self.byteCount)
        bytes.append(contentsOf: kind.magic)
        bytes.append(Self.version)
        bytes.append(group)
        bytes.append(member.bytes)
        func append(_ word: UInt64) {
            withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
        }
        append(number)
        append(epoch)
        bytes.append(previous)
        append(chain.number)
        bytes.append(chain.hash)
        return bytes
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
        guard bytes.starts(with: kind.magic) else { throw CBORError("it is no \(kind.name)") }
        guard bytes.count > 3, bytes[3] > 0 else { throw CBORError("it is no \(kind.name)") }
        guard bytes[3] == Self.version else { throw NewerFormat() }
        guard bytes.count == Self.byteCount else { throw CBORError("it ends too early") }
        func word(_ at: Int) -> UInt64 { bytes[at..<(at + 8)].reduce(0) { $0 << 8 | UInt64($1) } }
        guard let member = MemberID(bytes[20..<36]) else { throw CBORError("it ends too early") }
        let (number, previous) = (word(36), Data(bytes[52..<84]))
        guard SyncNames.isValid(number) else { throw CBORError("its number is out of range") }
        guard (number == 1) == previous.allSatisfy({ $0 == 0 }) else {
            throw CBORError("it follows no \(kind.name), or one too many")
        }
        self.init(
            kind, group: Data(bytes[4..<20]), member: member, number: number, epoch: word(44),
            previous: previous,
            chain: ChainPosition(number: word(84), hash: Data(bytes[92..<124])))
    }
}

/// An object of a version that this library does not know.
package struct NewerFormat: Error, Equatable {}
