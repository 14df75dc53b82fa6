internal import Foundation
internal import SecureStorage

/// The 256 bits of a key, which can be cleared while others still refer to the key.
final class KeyMaterial: @unchecked Sendable {
    // @unchecked: `bytes` and `cipher` are only touched under `lock`.
    static let length = 32

    private let name: String
    private let lock = NSLock()
    private var bytes: SecretBytes?
    private var cipher: ExtendedNonceCipher?

    /// - Throws: `.unacceptableKey` for another length, for zeros, and for a name of another
    ///   length.
    init(name: String, bytes: SecretBytes) throws {
        guard (1...255).contains(name.utf8.count) else {
            throw EnvelopeError.unacceptableKey(
                reason: "a name is 1 to 255 bytes of UTF-8 long, not \(name.utf8.count)")
        }
        guard bytes.count == Self.length else {
            throw EnvelopeError.unacceptableKey(
                reason: "a key is exactly 32 bytes (256 bits) long, not \(bytes.count)")
        }
        // Memory that nobody has filled, or that was cleared: the comparison is one in constant
        // time.
        guard bytes != SecretBytes(count: Self.length, initialize: { _ in }) else {
            throw EnvelopeError.unacceptableKey(reason: "all of its bytes are zero")
        }
        self.name = name
        self.bytes = bytes
    }

    var isCleared: Bool { lock.withLock { bytes == nil } }

    /// The bytes; who has them keeps them until it lets go, `clear()` or not.
    func secret() throws -> SecretBytes {
        guard let bytes = lock.withLock({ bytes }) else { throw EnvelopeError.cleared(name: name) }
        return bytes
    }

    /// The cipher that `make` derives from the bytes, once.
    func cipher(
        _ make: (SecretBytes) throws -> ExtendedNonceCipher
    ) throws -> ExtendedNonceCipher {
        try lock.withLock {
            if let cipher { return cipher }
            guard let bytes else { throw EnvelopeError.cleared(name: name) }
            let made = try make(bytes)
            cipher = made
            return made
        }
    }

    func clear() {
        lock.withLock {
            bytes = nil
            cipher = nil
        }
    }
}
