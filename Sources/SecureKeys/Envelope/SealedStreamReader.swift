public import Foundation
internal import SecureStoragePlatform

/// Opens a stream written by a ``SealedStreamWriter``, chunk by chunk.
///
/// Each chunk is authentic when ``read()`` returns it. Only when it returns nil is the stream known
/// to be complete: until then, do nothing with the data that cannot be undone.
///
/// For one thread at a time.
public final class SealedStreamReader {
    /// The name of the key that the stream was sealed with.
    public let keyName: String

    private let input: (Int) throws -> Data
    private let cipher: SealedStreamCipher
    /// The next sealed chunk; it is the last one if no other follows.
    private var next = Data()
    private var state = State.open

    private enum State { case open, ended, failed }

    /// Begins to read a stream.
    ///
    /// - Parameters:
    ///   - key: The data key; used only here, and may be cleared afterwards.
    ///   - context: The same as for writing.
    ///   - input: Returns the next bytes of the stream: at most as many as requested, none at the
    ///     end.
    /// - Throws: `EnvelopeError`: `.damaged` if the bytes are not a stream, `.unsupportedVersion`,
    ///   `.wrongKey` for a stream of a key with another name, `.cleared`; errors of `input`.
    public convenience init(
        with key: DataEncryptionKey, context: Data = Data(),
        from input: @escaping (Int) throws -> Data
    ) throws {
        try self.init(choosing: { _ in key }, context: context, lending: { _ in }, from: input)
    }

    /// Like the other initialiser; `choose` returns the key for the name that the stream has, and
    /// `lending` receives the stream's cipher before it is used.
    package init(
        choosing choose: (String) -> DataEncryptionKey, context: Data,
        lending: (SealedStreamCipher) throws -> Void,
        from input: @escaping (Int) throws -> Data
    ) throws {
        self.input = input
        func take(_ count: Int) throws -> [UInt8] {
            let bytes = try Self.fill(count, from: input)
            guard bytes.count == count else {
                throw EnvelopeError.damaged(reason: "the stream ends within its header")
            }
            return Array(bytes)
        }
        let begin = try take(6)
        guard SealedStream.magic.withUTF8Buffer({ begin.prefix(4).elementsEqual($0) }) else {
            throw EnvelopeError.damaged(reason: "it does not start like a sealed stream")
        }
        guard begin[4] == SealedStream.version else {
            throw EnvelopeError.unsupportedVersion(Int(begin[4]))
        }
        let rest = try take(Int(begin[5]) + SealedStream.saltLength)
        var reader = ByteReader(ofRecord: (begin[5...] + rest)[...])
        keyName = try reader.name()
        let salt = Array(try reader.take(SealedStream.saltLength))
        let key = choose(keyName)
        // Compare bytes, not characters: the bytes are authenticated.
        guard keyName.utf8.elementsEqual(key.name.utf8) else {
            throw EnvelopeError.wrongKey(name: keyName)
        }
        cipher = try SealedStreamCipher(
            key, header: begin + rest, salt: salt, context: context)
        try lending(cipher)
        next = try Self.fill(SealedStream.sealedChunkLength, from: input)
    }

    /// Returns the next part of the data.
    ///
    /// - Returns: At most ``SealedStream/chunkLength`` bytes; nil when the stream has ended and is
    ///   complete.
    /// - Throws: `EnvelopeError.notAuthentic` if it was changed or cut short, or the key is another
    ///   one; `.streamEnded` after an error; errors of the input.
    public func read() throws -> Data? {
        switch state {
        case .open: break
        case .ended: return nil
        case .failed: throw EnvelopeError.streamEnded
        }
        // Stays this way unless the chunk opens.
        state = .failed
        let following =
            next.count < SealedStream.sealedChunkLength
            ? Data() : try Self.fill(SealedStream.sealedChunkLength, from: input)
        let isFirst = cipher.chunks == 0
        let plaintext = try cipher.open(next, isLast: following.isEmpty)
        // An empty last chunk after a full one would be a second encoding of the same data.
        guard !plaintext.isEmpty || isFirst else {
            throw EnvelopeError.notAuthentic(reason: "the last chunk of the stream is empty")
        }
        state = following.isEmpty ? .ended : .open
        next = following
        return plaintext.isEmpty ? nil : plaintext
    }

    /// Writes the rest of the stream to a file.
    package func readAll(to destination: FileHandle) throws {
        while let bytes = try read() { try destination.write(contentsOf: bytes) }
    }

    /// Returns as many bytes as requested, fewer only at the end.
    private static func fill(_ count: Int, from input: (Int) throws -> Data) throws -> Data {
        var bytes = Data()
        while bytes.count < count {
            let part = try input(count - bytes.count)
            guard !part.isEmpty else { break }
            guard part.count <= count - bytes.count else {
                throw EnvelopeError.damaged(reason: "the input returned more bytes than requested")
            }
            // Usually one part has all the bytes and is not copied.
            if bytes.isEmpty { bytes = part } else { bytes.append(part) }
        }
        return bytes
    }
}

extension SealedStreamReader: CustomStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

@available(*, unavailable)
extension SealedStreamReader: Sendable {}
