package import Foundation
package import SecureKeys

/// A stored batch: header, sealed body, signature.
package struct SealedBatch: Equatable, Sendable {
    package let object: SealedObject

    package var header: BatchHeader { object.header }
    package var bytes: Data { object.bytes }
    /// The SHA-256 of the bytes.
    package var hash: Data { object.hash }

    /// The bytes of a batch besides its body.
    package static let overhead = SealedObject.overhead
    package static let signatureCount = SealedObject.signatureCount
    /// The largest object that is read: a row of 16 MiB with all its timestamps, padded.
    package static let longest = SealedObject.longest

    /// Seals and signs a body.
    ///
    /// - Parameters:
    ///   - body: The batch's content.
    ///   - header: The batch's header.
    ///   - key: The key of the header's epoch.
    ///   - sign: Returns the Ed25519 signature of a message, 64 bytes.
    /// - Returns: The batch. Its bytes differ each time, so it is saved before it is sent.
    /// - Throws: `EnvelopeError`; what `sign` throws.
    package static func seal(
        _ body: BatchBody, _ header: BatchHeader, key: DataEncryptionKey,
        sign: (Data) throws -> Data
    ) throws -> SealedBatch {
        SealedBatch(object: try SealedObject.seal(body.encoded(), header, key: key, sign: sign))
    }

    private init(object: SealedObject) { self.object = object }

    /// Reads a batch's structure; nothing of it is trusted before `verify` and `open`.
    ///
    /// - Throws: `CBORError`; `NewerFormat`.
    package init(reading bytes: Data) throws {
        object = try SealedObject(reading: bytes, .batch)
    }

    /// Checks the signature.
    ///
    /// - Parameter isValid: Whether a signature is the member's for a message.
    /// - Throws: `CBORError`.
    package func verify(isValid: (_ signature: Data, _ message: Data) -> Bool) throws {
        try object.verify(isValid: isValid)
    }

    /// Opens the body.
    ///
    /// - Throws: `CBORError` if the key or the bytes are wrong; `EnvelopeError.cleared`.
    package func open(key: DataEncryptionKey) throws -> BatchBody {
        try BatchBody(decoding: object.open(key: key))
    }
}
