public import Foundation

/// Seals data of any length in chunks, as it comes: see ``SealedStream``.
///
/// What was written is of no use before ``finish()``: a reader tells that it was cut short.
///
/// For one thread at a time.
public final class SealedStreamWriter {
    private let output: (Data) throws -> Void
    private let cipher: SealedStreamCipher
    /// At most one chunk; which is the last one is known by `finish()` only, so a full one waits.
    private var pending = Data()
    private var hasEnded = false

    /// Begins a stream, and writes its header.
    ///
    /// - Parameters:
    ///   - key: The data key; only used here, and may be cleared afterwards.
    ///   - context: What the stream is authenticated with besides; not stored, and needed for
    ///     reading.
    ///   - output: Gets the bytes of the stream, in order. What it throws ends the stream.
    /// - Throws: `EnvelopeError.cleared`; what `output` throws.
    public convenience init(
        with key: DataEncryptionKey, context: Data = Data(),
        to output: @escaping (Data) throws -> Void
    ) throws {
        try self.init(with: key, context: context, lending: { _ in }, to: output)
    }

    /// As the other one; `lending` gets the key of the stream before it is used.
    init(
        with key: DataEncryptionKey, context: Data, lending: (SealedStreamCipher) throws -> Void,
        to output: @escaping (Data) throws -> Void
    ) throws {
        let salt = RandomBytes.make(SealedStream.saltLength)
        let header = SealedStream.header(keyName: key.name, salt: salt)
        cipher = try SealedStreamCipher(key, header: header, salt: salt, context: context)
        try lending(cipher)
        self.output = output
        pending.reserveCapacity(SealedStream.chunkLength)
        try output(Data(header))
    }

    /// Adds data.
    ///
    /// - Parameter data: Of any length.
    /// - Throws: `EnvelopeError.streamEnded` after ``finish()`` or an error; what the output
    ///   throws.
    public func write(_ data: Data) throws {
        try endingOnError {
            var rest = data
            while !rest.isEmpty {
                if pending.count == SealedStream.chunkLength { try writePending(isLast: false) }
                if pending.isEmpty, rest.count > SealedStream.chunkLength {
                    // More follows: it need not wait.
                    let chunk = rest.prefix(SealedStream.chunkLength)
                    try output(cipher.seal(chunk, isLast: false))
                    rest = rest.dropFirst(chunk.count)
                } else {
                    let part = rest.prefix(SealedStream.chunkLength - pending.count)
                    pending.append(part)
                    rest = rest.dropFirst(part.count)
                }
            }
        }
    }

    /// Writes the last chunk, which ends the stream.
    ///
    /// - Throws: As ``write(_:)``.
    public func finish() throws {
        try endingOnError { try writePending(isLast: true) }
        hasEnded = true
    }

    /// Writes the whole stream.
    func writeAll(of source: FileHandle) throws {
        while let bytes = try source.read(upToCount: SealedStream.chunkLength), !bytes.isEmpty {
            try write(bytes)
        }
        try finish()
    }

    private func writePending(isLast: Bool) throws {
        try output(cipher.seal(pending, isLast: isLast))
        pending.removeAll(keepingCapacity: true)
    }

    private func endingOnError(_ body: () throws -> Void) throws {
        guard !hasEnded else { throw EnvelopeError.streamEnded }
        do {
            try body()
        } catch {
            hasEnded = true
            throw error
        }
    }
}

extension SealedStreamWriter: CustomStringConvertible, CustomReflectable {
    /// `<redacted>`, always.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

@available(*, unavailable)
extension SealedStreamWriter: Sendable {}
