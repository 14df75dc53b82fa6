public import Foundation

/// Seals data of any length in chunks, as it arrives: see ``SealedStream``.
///
/// The output is unusable before ``finish()``: a reader reports it as cut short.
///
/// For one thread at a time.
public final class SealedStreamWriter {
    private let output: (Data) throws -> Void
    private let cipher: SealedStreamCipher
    /// At most one chunk; a full one is held back because only `finish()` knows the last chunk.
    private var pending = Data()
    private var hasEnded = false

    /// Begins a stream, and writes its header.
    ///
    /// - Parameters:
    ///   - key: The data key; used only here, and may be cleared afterwards.
    ///   - context: Additional data that the stream is authenticated with; not stored, and required
    ///     for reading.
    ///   - output: Receives the bytes of the stream, in order. An error it throws ends the stream.
    /// - Throws: `EnvelopeError.cleared`; errors of `output`.
    public convenience init(
        with key: DataEncryptionKey, context: Data = Data(),
        to output: @escaping (Data) throws -> Void
    ) throws {
        try self.init(with: key, context: context, lending: { _ in }, to: output)
    }

    /// Like the other initialiser; `lending` receives the stream's cipher before it is used.
    package init(
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
    /// - Throws: `EnvelopeError.streamEnded` after ``finish()`` or an error; errors of the output.
    public func write(_ data: Data) throws {
        try endingOnError {
            var rest = data
            while !rest.isEmpty {
                if pending.count == SealedStream.chunkLength { try writePending(isLast: false) }
                if pending.isEmpty, rest.count > SealedStream.chunkLength {
                    // More data follows, so this chunk is not the last one.
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

    /// Writes the rest of a file and finishes the stream.
    package func writeAll(of source: FileHandle) throws {
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
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

@available(*, unavailable)
extension SealedStreamWriter: Sendable {}
