package import Foundation

/// The name of a member of a group: 128 random bits, ordered by their bytes.
///
/// Not a name of a device or a person, which is secret and part of the member's sealed record.
package struct MemberID: Hashable, Sendable {
    package static let byteCount = 16

    private let high: UInt64
    private let low: UInt64

    /// Sorts before all others; no member has it.
    package static let none = MemberID(high: 0, low: 0)

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Returns nil unless there are 16 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    package static func random() -> MemberID {
        MemberID(high: .random(in: 1 ... .max), low: .random(in: 0 ... .max))
    }

    package var bytes: Data {
        var words = (high.bigEndian, low.bigEndian)
        return withUnsafeBytes(of: &words) { Data($0) }
    }
}

extension MemberID: Comparable {
    package static func < (left: MemberID, right: MemberID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension MemberID: CustomStringConvertible {
    /// 32 hexadecimal digits, as in the names of objects.
    package var description: String {
        [high, low].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
