internal import Crypto
public import Foundation
internal import SecureStoragePlatform

/// The format of data of any length, sealed in chunks, as shared by writer and reader.
///
/// The construction is the STREAM of [age](https://age-encryption.org/v1), with AES-256-GCM. The
/// key belongs to one stream only: it is derived from the data key and a random salt of 16 bytes.
/// Every chunk but the last has 65,536 bytes. Its nonce is its number, 11 bytes, and a byte that is
/// 1 for the last chunk. Missing, added, repeated or reordered chunks therefore do not open.
///
/// A stream has at most 2³² chunks, 256 TiB. The byte format is in `Docs/FileFormats.md`.
public enum SealedStream {
    /// The length of every plaintext chunk but the last, in bytes.
    public static let chunkLength = 65_536

    static let magic: StaticString = "SSST"
    static let version: UInt8 = 1
    static let saltLength = 16
    static let sealedChunkLength = chunkLength + AESGCM.tagLength
    static let mostChunks: UInt64 = 1 << 32

    /// Seals a file from its current position to its end.
    ///
    /// Needs the memory of a few chunks, regardless of the length.
    ///
    /// - Parameters:
    ///   - source: Read to its end.
    ///   - destination: Written to, but neither synced nor closed.
    ///   - key: The data key.
    ///   - context: Additional data that the stream is authenticated with; not stored, and required
    ///     for opening.
    /// - Throws: `EnvelopeError`, or errors of reading and writing: `destination` is then unusable.
    public static func seal(
        _ source: FileHandle, to destination: FileHandle, with key: DataEncryptionKey,
        context: Data = Data()
    ) throws {
        let writer = try SealedStreamWriter(with: key, context: context) {
            try destination.write(contentsOf: $0)
        }
        try writer.writeAll(of: source)
    }

    /// Opens a stream written by `seal`.
    ///
    /// Needs the memory of a few chunks, regardless of the length.
    ///
    /// - Parameters:
    ///   - source: Read to its end: nothing may follow the stream.
    ///   - destination: Written to. If an error is thrown, the data written so far is authentic but
    ///     incomplete: remove it.
    ///   - key: The data key.
    ///   - context: The same as for sealing.
    /// - Throws: `EnvelopeError`, or errors of reading and writing.
    public static func open(
        _ source: FileHandle, to destination: FileHandle, with key: DataEncryptionKey,
        context: Data = Data()
    ) throws {
        let reader = try SealedStreamReader(with: key, context: context) {
            try source.read(upToCount: $0) ?? Data()
        }
        try reader.readAll(to: destination)
    }

    /// Returns the first bytes of a stream.
    static func header(keyName: String, salt: [UInt8]) -> [UInt8] {
        var writer = RecordFrame.begin(magic, version: version)
        writer.name(keyName)
        writer.raw(salt)
        return writer.bytes
    }
}

/// The key of one stream, and the state that its next chunk is sealed with.
package final class SealedStreamCipher: @unchecked Sendable {
    // @unchecked: `key` is accessed only under `lock`, everything else only by the one thread that
    // has the stream.
    private let lock = NSLock()
    private var key: SymmetricKey?
    private let keyName: String
    private let context: [UInt8]
    private(set) var chunks: UInt64 = 0
    /// Set by the lender of the key; throws before a chunk if the key may no longer be used.
    package var willUse: () throws -> Void = {}

    package init(_ dataKey: DataEncryptionKey, header: [UInt8], salt: [UInt8], context: Data) throws
    {
        key = try dataKey.subkey("stream", salt: salt)
        keyName = dataKey.name
        var writer = ByteWriter(capacity: 64 + header.count + context.count)
        writer.part("SecureStorage stream")
        writer.part(header)
        writer.part(context)
        self.context = writer.bytes
    }

    deinit {
        // Scrubs the expanded key of the last chunk.
        Scrubbing.encryption()
    }

    /// Revokes the key, on any thread, after the chunk in progress.
    package func clear() {
        lock.withLock { key = nil }
        Scrubbing.encryption()
    }

    package func seal(_ plaintext: Data, isLast: Bool) throws -> Data {
        let nonce = try nonce(isLast: isLast)
        let box = try withKey {
            try AESGCM.seal(plaintext, key: $0, nonce: nonce, authenticating: context)
        }
        chunks += 1
        return box.dropFirst(AESGCM.nonceLength)
    }

    package func open(_ sealed: Data, isLast: Bool) throws -> Data {
        guard sealed.count >= AESGCM.tagLength else {
            throw EnvelopeError.notAuthentic(reason: "the stream was cut short")
        }
        let nonce = try nonce(isLast: isLast)
        var box = Data(count: nonce.count + sealed.count)
        box.withUnsafeMutableBytes { box in
            box.copyBytes(from: nonce)
            sealed.copyBytes(to: UnsafeMutableRawBufferPointer(rebasing: box[nonce.count...]))
        }
        let opened = try withKey { AESGCM.open(box, key: $0, authenticating: context) }
        guard let plaintext = opened else {
            throw EnvelopeError.notAuthentic(
                reason: "chunk \(chunks) of the stream was changed, moved or cut short, "
                    + "or the key or the context differs")
        }
        chunks += 1
        return plaintext
    }

    private func withKey<R>(_ body: (SymmetricKey) throws -> R) throws -> R {
        try willUse()
        if let result = try lock.withLock({ try key.map(body) }) { return result }
        // Revoked since the check above: let the lender throw its reason.
        try willUse()
        throw EnvelopeError.cleared(name: keyName)
    }

    /// Returns 11 bytes of chunk number and one that marks the last chunk.
    private func nonce(isLast: Bool) throws -> [UInt8] {
        guard chunks < SealedStream.mostChunks else {
            throw EnvelopeError.limitReached(reason: "a stream has at most 2^32 chunks, 256 TiB")
        }
        var writer = ByteWriter(capacity: 12)
        writer.raw([0, 0, 0])
        writer.integer(chunks)
        writer.byte(isLast ? 1 : 0)
        return writer.bytes
    }
}
