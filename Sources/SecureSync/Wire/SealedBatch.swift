internal import Crypto
package import Foundation
package import SecureKeys

/// A batch as it is stored: header, sealed body, signature.
package struct SealedBatch: Equatable, Sendable {
    package let header: BatchHeader
    package let bytes: Data

    /// The bytes that a batch has beside its body.
    package static let overhead =
        BatchHeader.byteCount + DataEncryptionKey.valueOverhead + signatureCount
    package static let signatureCount = 64
    /// The largest object that is read: a row of 16 MiB with all its stamps, padded.
    package static let longest = 24 << 20

    /// The SHA-256 of the bytes.
    package var hash: Data { Data(SHA256.hash(data: bytes)) }

    /// Seals and signs a body.
    ///
    /// - Parameters:
    ///   - body: What the batch says.
    ///   - header: Where it belongs.
    ///   - key: The key of the header's epoch.
    ///   - sign: Returns the Ed25519 signature of a message, 64 bytes.
    /// - Returns: The batch, which has other bytes each time: it is stored before it is sent.
    /// - Throws: `EnvelopeError`; what `sign` throws.
    package static func seal(
        _ body: BatchBody, _ header: BatchHeader, key: DataEncryptionKey,
        sign: (Data) throws -> Data
    ) throws -> SealedBatch {
        let head = header.bytes
        let sealed = try key.seal(
            Data(Padding.padded(body.encoded())), table: place, column: "body",
            row: row(head))
        let bytes = head + sealed
        return SealedBatch(header: header, bytes: bytes + (try sign(message(bytes))))
    }

    private init(header: BatchHeader, bytes: Data) {
        self.header = header
        self.bytes = bytes
    }

    /// Reads a batch's structure; nothing of it is trusted before `verify` and `open`.
    ///
    /// - Throws: `CBORError`; `NewerFormat`.
    package init(reading bytes: Data) throws {
        header = try BatchHeader(reading: bytes)
        guard bytes.count <= Self.longest else { throw CBORError("it is too large") }
        guard bytes.count > Self.overhead else { throw CBORError("it ends too early") }
        self.bytes = bytes
    }

    /// Checks the signature.
    ///
    /// - Parameter isValid: Whether a signature is the member's for a message.
    /// - Throws: `CBORError`.
    package func verify(isValid: (_ signature: Data, _ message: Data) -> Bool) throws {
        guard isValid(bytes.suffix(Self.signatureCount), Self.message(signed)) else {
            throw CBORError("its signature is not valid")
        }
    }

    /// Opens the body.
    ///
    /// - Throws: `CBORError` if the key or the bytes are wrong; `EnvelopeError.cleared`.
    package func open(key: DataEncryptionKey) throws -> BatchBody {
        let sealed = signed.dropFirst(BatchHeader.byteCount)
        let padded: Data
        do {
            padded = try key.open(
                Data(sealed), table: Self.place, column: "body", row: Self.row(header.bytes))
        } catch EnvelopeError.cleared(let name) {
            throw EnvelopeError.cleared(name: name)
        } catch is EnvelopeError {
            throw CBORError("its seal does not open")
        }
        guard let content = Padding.removed(from: [UInt8](padded)) else {
            throw CBORError("its padding is wrong")
        }
        return try BatchBody(decoding: content)
    }

    private var signed: Data { bytes.dropLast(Self.signatureCount) }

    private static let place = "SecureStorage sync batch 1"

    /// What is signed: a name of its own, so that no other signature of the key fits, and the hash.
    private static func message(_ bytes: Data) -> Data {
        Data("SecureStorage sync batch 1".utf8) + Data(SHA256.hash(data: bytes))
    }

    /// What the seal is bound to: the whole header.
    private static func row(_ header: Data) -> RowIdentity { .text(header.base64EncodedString()) }
}
