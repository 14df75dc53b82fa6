internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import SecureStorage

/// Work with a key that everybody knows, done where a secret key has just been at work.
///
/// swift-crypto does not overwrite the expanded keys that it leaves behind, on the heap and on the
/// stack. The same work, done again at once, gets the same places for what it leaves. That is no
/// guarantee of the allocator: the tests search the memory of the process.
enum Scrubbing {
    private static let publicKey = SecretBytes(count: KeyMaterial.length) { bytes in
        for index in bytes.indices { bytes[index] = 0xa5 }
    }

    /// After HMAC or HKDF.
    @inline(never)
    static func messageAuthentication() {
        _ = KeyDerivation.expandUnscrubbed(publicKey, info: [])
        _ = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: publicKey), salt: [] as [UInt8],
            info: [] as [UInt8], outputByteCount: KeyMaterial.length)
    }

    /// After AES-GCM under a key that is used more than once.
    @inline(never)
    static func encryption() {
        // What it returns or throws is of no interest.
        _ = try? AES.GCM.seal([] as [UInt8], using: SymmetricKey(data: publicKey))
    }
}
