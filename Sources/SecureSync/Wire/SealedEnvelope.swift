internal import Crypto
package import Foundation

/// The common part of batches and manifests of all versions: the object's place, and its member's
/// signature.
///
/// So a store cannot pass off an object as one of a future version.
package struct SealedEnvelope {
    let kind: SealedKind
    let version: UInt8
    package let group: Data
    package let member: MemberID
    package let number: UInt64
    private let bytes: Data

    static let byteCount = 4 + 16 + 16 + 8

    /// - Throws: `CBORError`.
    package init(reading bytes: Data, _ kind: SealedKind) throws {
        let position = [UInt8](bytes.prefix(Self.byteCount))
        guard position.starts(with: kind.magic) else { throw CBORError("it is no \(kind.name)") }
        guard bytes.count > Self.byteCount + SealedObject.signatureCount, position[3] > 0,
            let member = MemberID(position[20..<36])
        else { throw CBORError("it ends too early") }
        guard bytes.count <= SealedObject.longest else { throw CBORError("it is too large") }
        number = position[36..<44].reduce(0) { $0 << 8 | UInt64($1) }
        guard SyncNames.isValid(number) else { throw CBORError("its number is out of range") }
        (version, group, self.member) = (position[3], Data(position[4..<20]), member)
        (self.kind, self.bytes) = (kind, bytes)
    }

    /// Whether the member signed the object.
    ///
    /// - Parameter isValid: Whether a signature is the member's for a message.
    /// - Returns: Whether the signature is valid.
    package func isSigned(_ isValid: (_ signature: Data, _ message: Data) -> Bool) -> Bool {
        let message = Self.message(bytes.dropLast(SealedObject.signatureCount), kind)
        return isValid(bytes.suffix(SealedObject.signatureCount), message)
    }

    /// The signed message: a label, so that no other signature by the key fits, and the hash of the
    /// bytes before the signature.
    static func message(_ signed: Data, _ kind: SealedKind) -> Data {
        Data(kind.label.utf8) + Data(SHA256.hash(data: signed))
    }
}
