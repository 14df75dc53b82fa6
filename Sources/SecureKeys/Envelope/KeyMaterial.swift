internal import SecureStoragePlatform

/// The 256 bits of a key, which can be cleared while the key is still referenced.
package final class KeyMaterial: Sendable {
    package static let length = 32

    private let name: String
    private let state: Locked<State>

    private struct State {
        var bytes: SecretBytes?
        var cipher: ExtendedNonceCipher?
    }

    /// - Throws: `.unacceptableKey` for a wrong length, for zeros, and for a name of a wrong
    ///   length.
    package init(name: String, bytes: SecretBytes) throws {
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
        state = Locked(State(bytes: bytes))
    }

    package var isCleared: Bool { state.withLock { $0.bytes == nil } }

    /// Returns the bytes; a caller that holds them keeps them even after `clear()`.
    package func secret() throws -> SecretBytes {
        guard let bytes = state.withLock({ $0.bytes }) else {
            throw EnvelopeError.cleared(name: name)
        }
        return bytes
    }

    /// Returns the cipher that `make` derives from the bytes, once.
    func cipher(
        _ make: (SecretBytes) throws -> ExtendedNonceCipher
    ) throws -> ExtendedNonceCipher {
        try state.withLock { state in
            if let cipher = state.cipher { return cipher }
            guard let bytes = state.bytes else { throw EnvelopeError.cleared(name: name) }
            let made = try make(bytes)
            state.cipher = made
            return made
        }
    }

    package func clear() {
        state.withLock { state in
            state.bytes = nil
            state.cipher = nil
        }
    }
}
