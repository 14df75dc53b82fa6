package import Foundation

/// What a store sees of a batch: whose it is, and which.
package struct BatchHeader: Equatable, Sendable {
    /// The group's 16 bytes.
    package var group: Data
    package var member: MemberID
    /// From 1, without gaps.
    package var number: UInt64
    /// Which of the group's keys seals the body.
    package var epoch: UInt64
    /// The hash of the batch before; zeros before the first.
    package var previous: Data

    package init(
        group: Data, member: MemberID, number: UInt64, epoch: UInt64, previous: Data
    ) {
        self.group = group
        self.member = member
        self.number = number
        self.epoch = epoch
        self.previous = previous
    }

    static let magic = Array("SSB".utf8)
    static let version: UInt8 = 1
    package static let byteCount = 4 + 16 + 16 + 8 + 8 + 32

    var bytes: Data {
        var bytes = Data(capacity: Self.byteCount)
        bytes.append(contentsOf: Self.magic)
        bytes.append(Self.version)
        bytes.append(group)
        bytes.append(member.bytes)
        for word in [number, epoch] {
            withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
        }
        bytes.append(previous)
        return bytes
    }

    /// Reads the beginning of a batch.
    ///
    /// - Throws: `CBORError`; `NewerFormat`, which a store can pretend, since the signature of an
    ///   unknown format cannot be checked.
    package init(reading bytes: Data) throws {
        let bytes = [UInt8](bytes.prefix(Self.byteCount))
        guard bytes.starts(with: Self.magic) else { throw CBORError("it is no batch") }
        guard bytes.count > 3, bytes[3] > 0 else { throw CBORError("it is no batch") }
        guard bytes[3] == Self.version else { throw NewerFormat() }
        guard bytes.count == Self.byteCount else { throw CBORError("it ends too early") }
        func word(_ at: Int) -> UInt64 { bytes[at..<(at + 8)].reduce(0) { $0 << 8 | UInt64($1) } }
        guard let member = MemberID(bytes[20..<36]) else { throw CBORError("it ends too early") }
        let (number, previous) = (word(36), Data(bytes[52..<84]))
        guard SyncNames.isValid(number) else { throw CBORError("its number is out of range") }
        guard (number == 1) == previous.allSatisfy({ $0 == 0 }) else {
            throw CBORError("it follows no batch, or one too many")
        }
        self.init(
            group: Data(bytes[4..<20]), member: member, number: number, epoch: word(44),
            previous: previous)
    }
}

/// An object of a version that this library does not know.
package struct NewerFormat: Error, Equatable {}
