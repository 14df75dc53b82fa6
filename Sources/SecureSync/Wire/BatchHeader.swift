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
    /// - Throws: `CBORError`; `NewerFormat`.
    init(reading bytes: Data) throws {
        guard bytes.count >= Self.byteCount else { throw CBORError("ends too early") }
        guard bytes.starts(with: Self.magic) else { throw CBORError("is no batch") }
        let bytes = [UInt8](bytes.prefix(Self.byteCount))
        guard bytes[3] == Self.version else { throw NewerFormat() }
        func word(_ at: Int) -> UInt64 { bytes[at..<(at + 8)].reduce(0) { $0 << 8 | UInt64($1) } }
        guard let member = MemberID(bytes[20..<36]) else { throw CBORError("ends too early") }
        self.init(
            group: Data(bytes[4..<20]), member: member, number: word(36), epoch: word(44),
            previous: Data(bytes[52..<84]))
    }
}

/// An object of a version that this library does not know.
package struct NewerFormat: Error, Equatable {}
