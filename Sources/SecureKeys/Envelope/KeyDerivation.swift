package import Crypto
internal import CryptoExtras
internal import Foundation

/// The key derivations of this folder, based on swift-crypto.
package enum KeyDerivation {
    /// Derives a key for one purpose from a uniformly random key by HKDF-Expand with HMAC-SHA256.
    ///
    /// One block of output ([RFC 5869](https://www.rfc-editor.org/rfc/rfc5869), section 2.3).
    package static func expand(_ key: SecretBytes, info: [UInt8]) -> SymmetricKey {
        defer { Scrubbing.messageAuthentication() }
        return expandUnscrubbed(key, info: info)
    }

    /// Derives 32 bytes by HKDF with HMAC-SHA256, both steps.
    package static func hkdf(_ key: SecretBytes, salt: [UInt8], info: [UInt8]) -> SymmetricKey {
        defer { Scrubbing.messageAuthentication() }
        return HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: key), salt: salt, info: info,
            outputByteCount: KeyMaterial.length)
    }

    /// Derives a key by scrypt ([RFC 7914](https://www.rfc-editor.org/rfc/rfc7914)); does not check
    /// the parameters.
    package static func scrypt(
        _ password: SecretBytes, salt: [UInt8], cost: Int, blockSize: Int, parallelism: Int,
        length: Int = KeyMaterial.length
    ) throws -> SecretBytes {
        let key = try password.withUnsafeBytes { password in
            try KDF.Scrypt.deriveKey(
                from: password, salt: salt, outputByteCount: length, rounds: cost,
                blockSize: blockSize, parallelism: parallelism)
        }
        return SecretBytes(copying: key)
    }

    package static func expandUnscrubbed(_ key: SecretBytes, info: [UInt8]) -> SymmetricKey {
        // HMAC pads a short key with zeros. swift-crypto does that in an array that it does not
        // clear, so the key is passed with the length of a block already.
        let block = SecretBytes(count: SHA256.blockByteCount) { block in
            key.withUnsafeBytes { block.copyMemory(from: $0) }
        }
        var code = HMAC<SHA256>(key: SymmetricKey(data: block))
        code.update(data: info)
        code.update(data: [1] as [UInt8])
        return code.finalize().withUnsafeBytes { SymmetricKey(data: $0) }
    }
}
