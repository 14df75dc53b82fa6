internal import Crypto
internal import CryptoExtras
internal import Foundation

/// Repeats cryptographic operations with a public key to overwrite what a secret key left behind.
///
/// swift-crypto does not overwrite the expanded keys that it leaves on the heap and on the stack.
/// Repeating the same operation immediately reuses the same memory. The allocator does not
/// guarantee that: the tests search the memory of the process.
package enum Scrubbing {
    private static let publicKey = SecretBytes(count: KeyMaterial.length) { bytes in
        for index in bytes.indices { bytes[index] = 0xa5 }
    }

    /// Scrubs after HMAC or HKDF.
    @inline(never)
    package static func messageAuthentication() {
        _ = KeyDerivation.expandUnscrubbed(publicKey, info: [])
        _ = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: publicKey), salt: [] as [UInt8],
            info: [] as [UInt8], outputByteCount: KeyMaterial.length)
    }

    /// Scrubs after SHA-512.
    @inline(never)
    package static func hash() {
        var hash = SHA512()
        publicKey.withUnsafeBytes { for _ in 0..<8 { hash.update(bufferPointer: $0) } }
        _ = hash.finalize()
    }

    /// Scrubs after AES-GCM under a key that is used more than once.
    @inline(never)
    package static func encryption() {
        // The result and the error do not matter.
        _ = try? AES.GCM.seal([] as [UInt8], using: SymmetricKey(data: publicKey))
    }
}
