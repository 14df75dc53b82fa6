internal import Crypto
internal import CryptoExtras
internal import Foundation

/// [XAES-256-GCM](https://c2sp.org/XAES-256-GCM): AES-256-GCM under a per-message key, which is
/// derived from the first half of a 192-bit nonce.
///
/// With random 96-bit nonces, NIST SP 800-38D, section 8.3, limits a key to 2³² messages, which
/// cannot be counted across several processes and restored backups. With 192 bits the same
/// collision risk, 2⁻³², is reached at 2⁸⁰ messages.
struct ExtendedNonceCipher: Sendable {
    static let nonceLength = 24
    static let overhead = nonceLength + AESGCM.tagLength

    private let key: SymmetricKey
    /// The CMAC subkey (NIST SP 800-38B, section 6.1), as two numbers.
    private let subkey: (high: UInt64, low: UInt64)

    init(key: SymmetricKey) throws {
        self.key = key
        let (high, low) = try Self.encrypt((0, 0), key)
        subkey = (
            high << 1 | low >> 63, low << 1 ^ (high >> 63 == 1 ? 0b1000_0111 : 0)
        )
    }

    /// Returns `prefix`, followed by the nonce, the ciphertext and the tag.
    func seal(
        _ plaintext: some DataProtocol, authenticating context: [UInt8], after prefix: [UInt8],
        nonce: [UInt8] = Self.randomNonce()
    ) throws -> Data {
        let box = try AESGCM.seal(
            plaintext, key: messageKey(nonce[..<12]), nonce: nonce[12...], authenticating: context)
        var sealed = Data(capacity: prefix.count + 12 + box.count)
        sealed.append(contentsOf: prefix)
        sealed.append(contentsOf: nonce[..<12])
        sealed.append(box)
        return sealed
    }

    /// Returns the plaintext of the bytes that `seal` appended to its prefix; nil if they are not
    /// authentic or too short.
    func open(_ sealed: Data, authenticating context: [UInt8]) throws -> Data? {
        guard sealed.count >= Self.overhead else { return nil }
        let nonce = [UInt8](sealed.prefix(12))
        return AESGCM.open(
            sealed.dropFirst(12), key: try messageKey(nonce[...]), authenticating: context)
    }

    static func randomNonce() -> [UInt8] {
        RandomBytes.make(nonceLength)
    }

    /// Returns the key of the messages whose nonces begin with these 12 bytes.
    private func messageKey(_ nonce: ArraySlice<UInt8>) throws -> SymmetricKey {
        let (high, low) = nonce.prefix(12).enumerated().reduce(
            into: (high: UInt64(0), low: UInt64(0))
        ) { words, next in
            // Four bytes of the block precede the nonce.
            if next.offset < 4 {
                words.high = words.high << 8 | UInt64(next.element)
            } else {
                words.low = words.low << 8 | UInt64(next.element)
            }
        }
        func block(_ counter: UInt64) throws -> (UInt64, UInt64) {
            // The 16-bit counter, the label X, and a zero.
            let first = counter << 48 | 0x58 << 40 | high
            return try Self.encrypt((first ^ subkey.high, low ^ subkey.low), key)
        }
        let (one, two) = try (block(1), block(2))
        var words = (one.0.bigEndian, one.1.bigEndian, two.0.bigEndian, two.1.bigEndian)
        return withUnsafeBytes(of: &words) { SymmetricKey(data: $0) }
    }

    /// Encrypts one AES-256 block, given and returned as two big-endian numbers.
    private static func encrypt(
        _ block: (UInt64, UInt64), _ key: SymmetricKey
    ) throws -> (UInt64, UInt64) {
        var bytes = BlockBytes(words: (block.0.bigEndian, block.1.bigEndian))
        try AES.permute(&bytes, key: key)
        return (UInt64(bigEndian: bytes.words.0), UInt64(bigEndian: bytes.words.1))
    }
}

/// The 16 bytes of a block, on the stack.
///
/// swift-crypto passes on the storage of any collection; for the standard library's buffer pointer,
/// the generic code of that takes longer than the cipher.
private struct BlockBytes: MutableCollection, RandomAccessCollection {
    var words: (UInt64, UInt64)

    var startIndex: Int { 0 }
    var endIndex: Int { 16 }

    subscript(index: Int) -> UInt8 {
        get { Swift.withUnsafeBytes(of: words) { $0[index] } }
        set { withUnsafeMutableBytes(of: &words) { $0[index] = newValue } }
    }

    mutating func withContiguousMutableStorageIfAvailable<R>(
        _ body: (inout UnsafeMutableBufferPointer<UInt8>) throws -> R
    ) rethrows -> R? {
        try withUnsafeMutableBytes(of: &words) { bytes in
            var bytes = bytes.bindMemory(to: UInt8.self)
            return try body(&bytes)
        }
    }
}

/// Random bytes for nonces and salts.
package enum RandomBytes {
    /// Draws eight bytes at a time: each call of the generator is a system call.
    package static func make(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var position = 0
            while position < count {
                var word: UInt64 = generator.next()
                withUnsafeBytes(of: &word) { word in
                    for byte in word.prefix(count - position) {
                        buffer.initializeElement(at: position, to: byte)
                        position += 1
                    }
                }
            }
            initialized = count
        }
    }
}
