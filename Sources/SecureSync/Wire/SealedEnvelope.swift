internal import Crypto
package import Foundation
internal import SecureStoragePlatform

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
        guard bytes.starts(with: kind.magic) else { throw CBORError("it is no \(kind.name)") }
        guard bytes.count > Self.byteCount + SealedObject.signatureCount else {
            throw CBORError("it ends too early")
        }
        guard bytes.count <= SealedObject.longest else { throw CBORError("it is too large") }
        var reader = ByteReader([UInt8](bytes.prefix(Self.byteCount))[3...]) { CBORError($0) }
        version = try reader.byte()
        group = Data(try reader.take(16))
        let member = MemberID(try reader.take(16))
        number = try reader.integer(UInt64.self)
        guard version > 0, let member else { throw CBORError("it is no \(kind.name)") }
        guard SyncNames.isValid(number) else { throw CBORError("its number is out of range") }
        (self.kind, self.member, self.bytes) = (kind, member, bytes)
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
