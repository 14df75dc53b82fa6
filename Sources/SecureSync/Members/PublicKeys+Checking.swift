internal import Foundation

// The keys that a member may have: keys in their only form, on whose signatures all implementations
// agree.
extension PublicKeys {
    /// Whether the keys that this version knows are present and canonical, and the signing key is
    /// not a point of small order. (Nothing can be wrapped for an HPKE key of small order, which
    /// only harms its owner.)
    ///
    /// With a point of small order as a key, one signature is valid for many messages, and
    /// implementations differ on which (Chalkias and others, Taming the many EdDSAs, 2020). A key
    /// with two forms would count as the keys of two members.
    var areAllowed: Bool {
        guard let signing = self[.ed25519], signing.count == 32, let agreement = self[.x25519],
            agreement.count == 32
        else { return false }
        // The last bit of an Ed25519 key is a sign.
        var point = [UInt8](signing)
        point[31] &= 0x7f
        return Self.isBelowPrime(point) && !Self.smallOrder.contains(point)
            && Self.isBelowPrime([UInt8](agreement))
            && (self[.xWing].map { $0.count == Self.xWingCount } ?? true)
    }

    static let xWingCount = 1216

    /// Whether a number, the lowest byte first, is below 2^255 - 19.
    private static func isBelowPrime(_ bytes: [UInt8]) -> Bool {
        guard bytes[31] <= 0x7f else { return false }
        return bytes[31] < 0x7f || bytes[1..<31].contains { $0 < 0xff } || bytes[0] < 0xed
    }

    /// The y of the points whose order is 1, 2, 4 or 8.
    private static let smallOrder: Set<[UInt8]> = {
        var one = [UInt8](repeating: 0, count: 32)
        one[0] = 1
        var minusOne = [UInt8](repeating: 0xff, count: 32)
        (minusOne[0], minusOne[31]) = (0xec, 0x7f)
        let eighth: [UInt8] = [
            0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef,
            0x98, 0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88,
            0x6d, 0x53, 0xfc, 0x05,
        ]
        // The negative of that y.
        let other: [UInt8] = [
            0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10,
            0x67, 0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77,
            0x92, 0xac, 0x03, 0x7a,
        ]
        return [[UInt8](repeating: 0, count: 32), one, minusOne, eighth, other]
    }()
}
