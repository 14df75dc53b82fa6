internal import Crypto
public import Foundation

/// Data of any length, sealed in chunks: what writer and reader have in common.
///
/// The construction is that of [age](https://age-encryption.org/v1)'s STREAM, with AES-256-GCM: the
/// key belongs to one stream alone, since it is derived from the data key and a random salt of 16
/// bytes; a chunk has 65,536 bytes but for the last one; its nonce is its number, 11 bytes, and a
/// byte that is 1 for the last chunk. So chunks that are missing, added, repeated or in another
/// order do not open.
///
/// A stream is at most 2³² chunks long, 256 TiB. The bytes are in `Docs/FileFormats.md`.
public enum SealedStream {
    /// The length of every chunk of plaintext but the last, in bytes.
    public static let chunkLength = 65_536

    static let magic: StaticString = "SSST"
    static let version: UInt8 = 1
    static let saltLength = 16
    static let sealedChunkLength = chunkLength + AESGCM.tagLength
    static let mostChunks: UInt64 = 1 << 32

    /// Seals a file's bytes from where it stands to its end.
    ///
    /// Needs the memory of a few chunks, whatever the length.
    ///
    /// - Parameters:
    ///   - source: Is read to its end.
    ///   - destination: Is written to; it is neither synced nor closed.
    ///   - key: The data key.
    ///   - context: What the stream is authenticated with besides; not stored, and needed for
    ///     opening.
    /// - Throws: `EnvelopeError`, or what reading and writing throw: `destination` is then of no
    ///   use.
    public static func seal(
        _ source: FileHandle, to destination: FileHandle, with key: DataEncryptionKey,
        context: Data = Data()
    ) throws {
        let writer = try SealedStreamWriter(with: key, context: context) {
            try destination.write(contentsOf: $0)
        }
        try writer.writeAll(of: source)
    }

    /// Opens what `seal` has written.
    ///
    /// Needs the memory of a few chunks, whatever the length.
    ///
    /// - Parameters:
    ///   - source: Is read to its end: nothing may follow the stream.
    ///   - destination: Is written to. What has been written when an error is thrown is authentic,
    ///     but not all: remove it.
    ///   - key: The data key.
    ///   - context: As for sealing.
    /// - Throws: `EnvelopeError`, or what reading and writing throw.
    public static func open(
        _ source: FileHandle, to destination: FileHandle, with key: DataEncryptionKey,
        context: Data = Data()
    ) throws {
        let reader = try SealedStreamReader(with: key, context: context) {
            try source.read(upToCount: $0) ?? Data()
        }
        try reader.readAll(to: destination)
    }

    /// The first bytes of a stream.
    static func header(keyName: String, salt: [UInt8]) -> [UInt8] {
        var writer = RecordFrame.begin(magic, version: version)
        writer.name(keyName)
        writer.raw(salt)
        return writer.bytes
    }
}

/// The key of one stream, and what its next chunk is sealed with.
final class SealedStreamCipher: @unchecked Sendable {
    // @unchecked: `key` is only touched under `lock`, the rest by the one thread that has the
    // stream.
    private let lock = NSLock()
    private var key: SymmetricKey?
    private let keyName: String
    private let context: [UInt8]
    private(set) var chunks: UInt64 = 0
    /// Whoever lends the key says before each chunk whether it may still be used.
    var willUse: () throws -> Void = {}

    init(_ dataKey: DataEncryptionKey, header: [UInt8], salt: [UInt8], context: Data) throws {
        key = try dataKey.subkey("stream", salt: salt)
        keyName = dataKey.name
        var writer = ByteWriter(capacity: 64 + header.count + context.count)
        writer.part("SecureStorage stream")
        writer.part(header)
        writer.part(context)
        self.context = writer.bytes
    }

    deinit {
        // The last chunk's expanded key.
        Scrubbing.encryption()
    }

    /// Takes the key away, on whatever thread, after the chunk that is at work.
    func clear() {
        lock.withLock { key = nil }
        Scrubbing.encryption()
    }

    func seal(_ plaintext: Data, isLast: Bool) throws -> Data {
        let nonce = try nonce(isLast: isLast)
        let box = try withKey {
            try AESGCM.seal(plaintext, key: $0, nonce: nonce, authenticating: context)
        }
        chunks += 1
        return box.dropFirst(AESGCM.nonceLength)
    }

    func open(_ sealed: Data, isLast: Bool) throws -> Data {
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
                    + "or the key or the context is another one")
        }
        chunks += 1
        return plaintext
    }

    private func withKey<R>(_ body: (SymmetricKey) throws -> R) throws -> R {
        try willUse()
        if let result = try lock.withLock({ try key.map(body) }) { return result }
        // Taken away since that look: who has lent it tells why.
        try willUse()
        throw EnvelopeError.cleared(name: keyName)
    }

    /// 11 bytes of number, one that tells the last chunk.
    private func nonce(isLast: Bool) throws -> [UInt8] {
        guard chunks < SealedStream.mostChunks else {
            throw EnvelopeError.limitReached(reason: "a stream has 2^32 chunks, 256 TiB, at most")
        }
        var writer = ByteWriter(capacity: 12)
        writer.raw([0, 0, 0])
        writer.integer(chunks)
        writer.byte(isLast ? 1 : 0)
        return writer.bytes
    }
}
