public import Foundation

/// Opens what a ``SealedStreamWriter`` has written, chunk by chunk.
///
/// Each chunk is authentic when ``read()`` returns it. Whether the stream is whole is known when it
/// returns nil: until then do nothing with the data that cannot be undone.
///
/// For one thread at a time.
public final class SealedStreamReader {
    /// The name of the key that the stream was sealed with.
    public let keyName: String

    private let input: (Int) throws -> Data
    private let cipher: SealedStreamCipher
    /// The next chunk, sealed: whether it is the last shows when another one follows.
    private var next = Data()
    private var state = State.open

    private enum State { case open, ended, failed }

    /// Begins to read a stream.
    ///
    /// - Parameters:
    ///   - key: The data key; only used here, and may be cleared afterwards.
    ///   - context: As for writing.
    ///   - input: Returns the stream's next bytes: at most as many as it is asked for, none at the
    ///     end.
    /// - Throws: `EnvelopeError`: `.damaged` for what is no stream, `.unsupportedVersion`,
    ///   `.wrongKey` for a stream of a key of another name, `.cleared`; what `input` throws.
    public convenience init(
        with key: DataEncryptionKey, context: Data = Data(),
        from input: @escaping (Int) throws -> Data
    ) throws {
        try self.init(with: key, context: context, lending: { _ in }, from: input)
    }

    /// As the other one; `lending` gets the key of the stream before it is used.
    init(
        with key: DataEncryptionKey, context: Data, lending: (SealedStreamCipher) throws -> Void,
        from input: @escaping (Int) throws -> Data
    ) throws {
        self.input = input
        func take(_ count: Int) throws -> [UInt8] {
            let bytes = try Self.fill(count, from: input)
            guard bytes.count == count else {
                throw EnvelopeError.damaged(reason: "the stream ends in its header")
            }
            return Array(bytes)
        }
        let begin = try take(6)
        guard SealedStream.magic.withUTF8Buffer({ begin.prefix(4).elementsEqual($0) }) else {
            throw EnvelopeError.damaged(reason: "it does not begin like a sealed stream")
        }
        guard begin[4] == SealedStream.version else {
            throw EnvelopeError.unsupportedVersion(Int(begin[4]))
        }
        let rest = try take(Int(begin[5]) + SealedStream.saltLength)
        var reader = ByteReader((begin[5...] + rest)[...])
        keyName = try reader.name()
        let salt = Array(try reader.take(SealedStream.saltLength))
        // Bytes, not characters: what is authenticated are the bytes.
        guard keyName.utf8.elementsEqual(key.name.utf8) else {
            throw EnvelopeError.wrongKey(name: keyName)
        }
        cipher = try SealedStreamCipher(
            key, header: begin + rest, salt: salt, context: context)
        try lending(cipher)
        next = try Self.fill(SealedStream.sealedChunkLength, from: input)
    }

    /// The next part of the data.
    ///
    /// - Returns: At most ``SealedStream/chunkLength`` bytes; nil when the stream has ended, and is
    ///   whole.
    /// - Throws: `EnvelopeError.notAuthentic` when it was changed or cut short, or the key is
    ///   another one; `.streamEnded` after an error; what the input throws.
    public func read() throws -> Data? {
        switch state {
        case .open: break
        case .ended: return nil
        case .failed: throw EnvelopeError.streamEnded
        }
        // Until the chunk has been opened.
        state = .failed
        let following =
            next.count < SealedStream.sealedChunkLength
            ? Data() : try Self.fill(SealedStream.sealedChunkLength, from: input)
        let isFirst = cipher.chunks == 0
        let plaintext = try cipher.open(next, isLast: following.isEmpty)
        // An empty last chunk after a full one would be a second way to write the same data.
        guard !plaintext.isEmpty || isFirst else {
            throw EnvelopeError.notAuthentic(reason: "the last chunk of the stream is empty")
        }
        state = following.isEmpty ? .ended : .open
        next = following
        return plaintext.isEmpty ? nil : plaintext
    }

    /// Reads the whole stream.
    func readAll(to destination: FileHandle) throws {
        while let bytes = try read() { try destination.write(contentsOf: bytes) }
    }

    /// As many bytes as asked for, fewer at the end only.
    private static func fill(_ count: Int, from input: (Int) throws -> Data) throws -> Data {
        var bytes = Data()
        while bytes.count < count {
            let part = try input(count - bytes.count)
            guard !part.isEmpty else { break }
            guard part.count <= count - bytes.count else {
                throw EnvelopeError.damaged(reason: "the input gave more bytes than asked for")
            }
            // Mostly it is all at once, and not copied.
            if bytes.isEmpty { bytes = part } else { bytes.append(part) }
        }
        return bytes
    }
}

extension SealedStreamReader: CustomStringConvertible, CustomReflectable {
    /// `<redacted>`, always.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

@available(*, unavailable)
extension SealedStreamReader: Sendable {}
