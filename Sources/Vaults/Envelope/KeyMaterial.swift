internal import Foundation
internal import SecureStorage

/// The 256 bits of a key, which can be cleared while the key is still referenced.
final class KeyMaterial: @unchecked Sendable {
    // @unchecked: `bytes` and `cipher` are accessed only under `lock`.
    static let length = 32

    private let name: String
    private let lock = NSLock()
    private var bytes: SecretBytes?
    private var cipher: ExtendedNonceCipher?

    /// - Throws: `.unacceptableKey` for a wrong length, for zeros, and for a name of a wrong
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
        // All zeros means uninitialised or cleared memory. The comparison takes constant time.
        guard bytes != SecretBytes(count: Self.length, initialize: { _ in }) else {
            throw EnvelopeError.unacceptableKey(reason: "all of its bytes are zero")
        }
        self.name = name
        self.bytes = bytes
    }

    var isCleared: Bool { lock.withLock { bytes == nil } }

    /// Returns the bytes; a caller that holds them keeps them even after `clear()`.
    func secret() throws -> SecretBytes {
        guard let bytes = lock.withLock({ bytes }) else { throw EnvelopeError.cleared(name: name) }
        return bytes
    }

    /// Returns the cipher that `make` derives from the bytes, once.
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
