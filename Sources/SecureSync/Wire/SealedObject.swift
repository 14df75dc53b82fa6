internal import Crypto
package import Foundation
package import SecureKeys

/// The kinds of sealed and signed objects.
package enum SealedKind: Equatable, Sendable {
    /// A batch of a member's log.
    case batch
    /// The manifest of a snapshot.
    case snapshot

    var magic: [UInt8] { Array((self == .batch ? "SSB" : "SSS").utf8) }
    var name: String { self == .batch ? "batch" : "snapshot" }
    /// The prefix of signed messages and seals, so that one kind cannot pass as the other.
    var label: String { "SecureStorage sync \(name) 1" }
}

/// A header, a sealed content and a signature: see `Docs/SyncFormat.md`.
package struct SealedObject: Equatable, Sendable {
    package let header: BatchHeader
    package let bytes: Data

    package static let overhead =
        BatchHeader.byteCount + DataEncryptionKey.valueOverhead + signatureCount
    package static let signatureCount = 64
    package static let longest = 24 << 20

    /// The SHA-256 of the bytes.
    package var hash: Data { Data(SHA256.hash(data: bytes)) }

    package static func seal(
        _ content: [UInt8], _ header: BatchHeader, key: DataEncryptionKey,
        sign: (Data) throws -> Data
    ) throws -> SealedObject {
        let position = header.bytes
        let sealed = try key.seal(
            Data(Padding.padded(content)), table: header.kind.label, column: "body",
            row: row(position))
        let bytes = position + sealed
        let signature = try sign(SealedEnvelope.message(bytes, header.kind))
        return SealedObject(header: header, bytes: bytes + signature)
    }

    private init(header: BatchHeader, bytes: Data) {
        self.header = header
        self.bytes = bytes
    }

    /// Reads the structure; nothing of it is trusted before `verify` and `open`.
    ///
    /// - Parameters:
    ///   - bytes: The object.
    ///   - kind: The required kind.
    /// - Throws: `CBORError`; `NewerFormat`.
    package init(reading bytes: Data, _ kind: SealedKind) throws {
        header = try BatchHeader(reading: bytes, kind)
        guard bytes.count <= Self.longest else { throw CBORError("it is too large") }
        guard bytes.count > Self.overhead else { throw CBORError("it ends too early") }
        self.bytes = bytes
    }

    package func verify(isValid: (_ signature: Data, _ message: Data) -> Bool) throws {
        guard try SealedEnvelope(reading: bytes, header.kind).isSigned(isValid) else {
            throw CBORError("its signature is not valid")
        }
    }

    package func open(key: DataEncryptionKey) throws -> [UInt8] {
        let sealed = signed.dropFirst(BatchHeader.byteCount)
        let padded: Data
        do {
            padded = try key.open(
                Data(sealed), table: header.kind.label, column: "body", row: Self.row(header.bytes))
        } catch EnvelopeError.cleared(let name) {
            throw EnvelopeError.cleared(name: name)
        } catch is EnvelopeError {
            throw CBORError("its seal does not open")
        }
        guard let content = Padding.removed(from: [UInt8](padded)) else {
            throw CBORError("its padding is wrong")
        }
        return content
    }

    private var signed: Data { bytes.dropLast(Self.signatureCount) }

    /// The seal is bound to the whole header.
    private static func row(_ header: Data) -> RowIdentity { .text(header.base64EncodedString()) }
}
