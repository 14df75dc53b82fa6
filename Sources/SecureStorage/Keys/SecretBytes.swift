internal import CPlatform
internal import Foundation

/// Key bytes in memory that this library owns: never swapped out where the system allows it, and
/// overwritten when the last reference goes.
///
/// It has no description, no copy and no conversion to `Data` or `String`: bytes are lent to a
/// closure. Immutable once made, so it may be shared between threads.
final class SecretBytes: @unchecked Sendable {
    // @unchecked: the buffer is written in init and deinit only.
    private let buffer: UnsafeMutableRawBufferPointer

    /// The number of bytes.
    var count: Int { buffer.count }

    /// A buffer of `count` bytes that `initialize` fills; it starts as zeros.
    init<E: Error>(
        count: Int, initialize: (UnsafeMutableRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        buffer = .allocate(byteCount: count, alignment: 16)
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        // A refusal (a small RLIMIT_MEMLOCK) is not an error: the bytes are then as safe as any.
        if let base = buffer.baseAddress { _ = mlock(base, count) }
        try initialize(buffer)
    }

    deinit {
        if let base = buffer.baseAddress {
            cplatform_erase(base, UInt(buffer.count))
            _ = munlock(base, buffer.count)
        }
        buffer.deallocate()
    }

    /// A copy of `bytes`; the caller's own copy stays the caller's to clear.
    convenience init(copying bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
    }

    /// The UTF-8 bytes of `string`, exactly as given: no normalisation, a NUL counts.
    convenience init(utf8 string: String) {
        var string = string
        self.init(count: string.utf8.count) { buffer in
            string.withUTF8 { buffer.copyMemory(from: UnsafeRawBufferPointer($0)) }
        }
    }

    /// Lends the bytes; the pointer must not leave `body`.
    func withUnsafeBytes<R, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try body(UnsafeRawBufferPointer(buffer))
    }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    var description: String { "<redacted>" }

    var customMirror: Mirror { Mirror(self, children: []) }
}
