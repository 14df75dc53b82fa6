internal import CPlatform
public import Foundation

/// Secret bytes, such as a key or a password, in memory that is cleared.
///
/// ```swift
/// var typed = Data("correct horse battery staple".utf8)  // as a terminal gives it
/// try db.open(with: .passphrase(SecretBytes(erasing: &typed)))
/// ```
///
/// The bytes lie in memory pages of their own. Where the system allows, those are never swapped out
/// and are no part of a core dump. They are overwritten when the last reference goes.
///
/// There is no conversion to `Data` or `String`, which could not be cleared: bytes are lent to a
/// closure. Two are compared in a time that does not depend on where they differ, and print as
/// `<redacted>`.
///
/// Thread-safe, since it never changes.
public final class SecretBytes: @unchecked Sendable {
    // @unchecked: the buffer is written in init and deinit only.
    private let buffer: UnsafeMutableRawBufferPointer

    /// The number of bytes.
    public var count: Int { buffer.count }

    /// Bytes that a closure writes.
    ///
    /// - Parameters:
    ///   - count: How many, 0 or more.
    ///   - initialize: Gets the memory, all of it zeros; the pointer must not leave it.
    /// - Throws: What `initialize` throws.
    public init<E: Error>(
        count: Int, initialize: (UnsafeMutableRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        buffer = Self.memory(count)
        try initialize(buffer)
    }

    deinit {
        cplatform_unmap_secret(buffer.baseAddress, UInt(buffer.count))
    }

    private static func memory(_ count: Int) -> UnsafeMutableRawBufferPointer {
        guard let base = cplatform_map_secret(UInt(count)) else {
            preconditionFailure("no memory for \(count) secret bytes")
        }
        return UnsafeMutableRawBufferPointer(start: base, count: count)
    }

    /// A copy of bytes; the original stays the caller's to clear.
    ///
    /// - Parameter bytes: A `Data`, `[UInt8]`, `SymmetricKey`, a raw buffer or the like.
    public init(copying bytes: some ContiguousBytes) {
        buffer = bytes.withUnsafeBytes { bytes in
            let memory = Self.memory(bytes.count)
            memory.copyMemory(from: bytes)
            return memory
        }
    }

    /// Moves bytes out of `data`, which is overwritten with zeros and empty afterwards.
    ///
    /// - Parameter data: Its only copy: others share their memory with it until one of them
    ///   changes.
    public convenience init(erasing data: inout Data) {
        let length = data.count
        self.init(count: length) { data.copyBytes(to: $0) }
        data.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { cplatform_erase(base, UInt(length)) }
        }
        data = Data()
    }

    /// Moves bytes out of `bytes`, which is overwritten with zeros and empty afterwards.
    ///
    /// - Parameter bytes: Its only copy: others share their memory with it until one of them
    ///   changes.
    public convenience init(erasing bytes: inout [UInt8]) {
        self.init(copying: bytes)
        bytes.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { cplatform_erase(base, UInt(bytes.count)) }
        }
        bytes = []
    }

    /// The UTF-8 bytes of a string, exactly as given: without normalisation, and a NUL counts.
    ///
    /// - Parameter string: Its own memory cannot be cleared: a password that comes as bytes is
    ///   safer.
    public convenience init(utf8 string: String) {
        var string = string
        self.init(count: string.utf8.count) { buffer in
            string.withUTF8 { buffer.copyMemory(from: UnsafeRawBufferPointer($0)) }
        }
    }

    /// Random bytes from the system's generator, good enough for keys.
    ///
    /// - Parameter count: How many, 0 or more; 32 for a raw key.
    /// - Returns: New bytes each time.
    public static func random(count: Int) -> SecretBytes {
        SecretBytes(count: count) { buffer in
            var generator = SystemRandomNumberGenerator()
            for index in buffer.indices { buffer[index] = generator.next() }
        }
    }
}

extension SecretBytes: ContiguousBytes {
    /// Lends the bytes.
    ///
    /// - Parameter body: The pointer must not leave it.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public func withUnsafeBytes<R>(
        _ body: (UnsafeRawBufferPointer) throws -> R
    ) rethrows -> R {
        try body(UnsafeRawBufferPointer(buffer))
    }
}

extension SecretBytes: Equatable {
    /// Whether the bytes are the same; the time depends on the number of bytes only.
    ///
    /// - Parameters:
    ///   - left: One.
    ///   - right: The other.
    /// - Returns: False at once when the numbers of bytes differ.
    public static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        left.count == right.count
            && cplatform_is_equal(
                left.buffer.baseAddress, right.buffer.baseAddress, UInt(left.count)) != 0
    }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    /// `<redacted>`, always.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
