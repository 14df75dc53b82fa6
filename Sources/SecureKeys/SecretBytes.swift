internal import CSecureStoragePlatform
public import Foundation

/// Secret bytes, such as a key or a password, in memory that is cleared after use.
///
/// ```swift
/// var typed = Data("correct horse battery staple".utf8)  // as a terminal gives it
/// try db.open(with: .passphrase(SecretBytes(erasing: &typed)))
/// ```
///
/// The bytes are in memory pages for secrets alone, which, where the system supports it, are never
/// swapped out or included in a core dump. They are overwritten when the last reference is
/// released. A million secrets of 32 bytes fit into 100 MB. The system limits how much memory it
/// keeps from being swapped out (`RLIMIT_MEMLOCK`, often 8 MiB); beyond that, and where a process
/// may have no more mappings, secrets are in memory that is cleared but not protected from it.
///
/// There is no conversion to `Data` or `String`, which could not be cleared: a closure borrows the
/// bytes. The time of a comparison does not depend on where the bytes differ. They print as
/// `<redacted>`.
///
/// Thread-safe, since it is immutable.
public final class SecretBytes: @unchecked Sendable {
    // @unchecked: the buffer is written in init and deinit only.
    private let buffer: UnsafeMutableRawBufferPointer

    /// The number of bytes.
    public var count: Int { buffer.count }

    /// Creates bytes that a closure writes.
    ///
    /// - Parameters:
    ///   - count: The number of bytes, 0 or more.
    ///   - initialize: Receives the zeroed memory; the pointer must not escape.
    /// - Throws: Errors thrown by `initialize`.
    public init<E: Error>(
        count: Int, initialize: (UnsafeMutableRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        buffer = Self.memory(count)
        try initialize(buffer)
    }

    deinit {
        cplatform_free_secret(buffer.baseAddress, UInt(buffer.count))
    }

    private static func memory(_ count: Int) -> UnsafeMutableRawBufferPointer {
        guard let base = cplatform_allocate_secret(UInt(count)) else {
            preconditionFailure("cannot allocate \(count) secret bytes")
        }
        return UnsafeMutableRawBufferPointer(start: base, count: count)
    }

    /// Copies bytes; the caller remains responsible for clearing the original.
    ///
    /// - Parameter bytes: A `Data`, `[UInt8]`, `SymmetricKey`, raw buffer or similar.
    public init(copying bytes: some ContiguousBytes) {
        buffer = bytes.withUnsafeBytes { bytes in
            let memory = Self.memory(bytes.count)
            memory.copyMemory(from: bytes)
            return memory
        }
    }

    /// Moves bytes out of `data`, which is overwritten with zeros and left empty.
    ///
    /// - Parameter data: The only copy: others share memory with it until one of them changes.
    public convenience init(erasing data: inout Data) {
        self.init(copying: data)
        data.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { cplatform_erase(base, UInt(bytes.count)) }
        }
        data = Data()
    }

    /// Moves bytes out of `bytes`, which is overwritten with zeros and left empty.
    ///
    /// - Parameter bytes: The only copy: others share memory with it until one of them changes.
    public convenience init(erasing bytes: inout [UInt8]) {
        self.init(copying: bytes)
        bytes.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { cplatform_erase(base, UInt(bytes.count)) }
        }
        bytes = []
    }

    /// Copies the UTF-8 bytes of a string exactly as given: not normalised, NULs included.
    ///
    /// - Parameter string: Its own memory cannot be cleared: a password received as bytes is safer.
    public convenience init(utf8 string: String) {
        var string = string
        self.init(count: string.utf8.count) { buffer in
            string.withUTF8 { buffer.copyMemory(from: UnsafeRawBufferPointer($0)) }
        }
    }

    /// Returns random bytes from the system's generator, which is suitable for keys.
    ///
    /// - Parameter count: The number of bytes, 0 or more; 32 for a raw key.
    /// - Returns: New bytes each time.
    public static func random(count: Int) -> SecretBytes {
        SecretBytes(count: count) { buffer in
            var generator = SystemRandomNumberGenerator()
            for index in buffer.indices { buffer[index] = generator.next() }
        }
    }
}

extension SecretBytes: ContiguousBytes {
    /// Passes the bytes to a closure.
    ///
    /// - Parameter body: Receives the bytes; the pointer must not escape.
    /// - Returns: The result of `body`.
    /// - Throws: Errors thrown by `body`.
    public func withUnsafeBytes<R>(
        _ body: (UnsafeRawBufferPointer) throws -> R
    ) rethrows -> R {
        try body(UnsafeRawBufferPointer(buffer))
    }
}

extension SecretBytes: Equatable {
    /// Whether the bytes are the same; the time depends only on their number.
    ///
    /// - Parameters:
    ///   - left: One value.
    ///   - right: The other value.
    /// - Returns: False immediately if the numbers of bytes differ.
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
