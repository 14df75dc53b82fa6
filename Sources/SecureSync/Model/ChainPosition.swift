package import Foundation
internal import SecureKeys

/// An entry of the chain of members and, through its hash, all earlier objects of the chain.
///
/// Each batch and manifest has the last one that its writer knew, so objects by members or under
/// keys of another chain are not accepted. (RFC 9420 binds messages to a group's history in the
/// same way, with its confirmed transcript hash.)
package struct ChainPosition: Hashable, Sendable {
    /// From 1.
    package var number: UInt64
    /// The hash of all objects up to that one, 32 bytes: see ``MembershipState/last``.
    package var hash: Data

    /// The size of a SHA-256.
    static let hashCount = 32

    package init(number: UInt64, hash: Data) {
        self.number = number
        self.hash = hash
    }

    /// Reads a ``keyStoreValue``; zeros for anything else, which is not a position.
    init(keyStoreValue value: SecretBytes) {
        let bytes = value.withUnsafeBytes { Data($0) }
        guard bytes.count == 8 + Self.hashCount else {
            self.init(number: 0, hash: Data(count: Self.hashCount))
            return
        }
        self.init(
            number: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }, hash: bytes.dropFirst(8))
    }

    /// The number, big-endian, and the hash.
    var keyStoreValue: SecretBytes {
        SecretBytes(copying: withUnsafeBytes(of: number.bigEndian) { Array($0) } + hash)
    }
}

/// A snapshot, by its number and the SHA-256 of its manifest.
package struct SnapshotPin: Hashable, Sendable {
    /// From 1; 0 before the first.
    package var number: UInt64
    /// 32 bytes; zeros before the first.
    package var hash: Data

    package init(number: UInt64, hash: Data) {
        self.number = number
        self.hash = hash
    }

    package static let none = SnapshotPin(number: 0, hash: Data(count: 32))
}
