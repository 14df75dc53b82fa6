internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import SecureStorage

/// The key derivations of this folder, over swift-crypto.
enum KeyDerivation {
    /// HKDF-Expand with HMAC-SHA256, one block of output ([RFC
    /// 5869](https://www.rfc-editor.org/rfc/rfc5869), section 2.3): a key for one purpose from a
    /// key that is uniformly random already.
    static func expand(_ key: SecretBytes, info: [UInt8]) -> SymmetricKey {
        defer { Scrubbing.messageAuthentication() }
        return expandUnscrubbed(key, info: info)
    }

    /// HKDF with HMAC-SHA256, both steps, 32 bytes of output.
    static func hkdf(_ key: SecretBytes, salt: [UInt8], info: [UInt8]) -> SymmetricKey {
        defer { Scrubbing.messageAuthentication() }
        return HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: key), salt: salt, info: info,
            outputByteCount: KeyMaterial.length)
    }

    /// scrypt ([RFC 7914](https://www.rfc-editor.org/rfc/rfc7914)); the parameters are not checked
    /// here.
    static func scrypt(
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

    static func expandUnscrubbed(_ key: SecretBytes, info: [UInt8]) -> SymmetricKey {
        // HMAC fills a short key up with zeros. swift-crypto does that in an array that is not
        // cleared, so it gets a key that has the length of a block already.
        let block = SecretBytes(count: SHA256.blockByteCount) { block in
            key.withUnsafeBytes { block.copyMemory(from: $0) }
        }
        var code = HMAC<SHA256>(key: SymmetricKey(data: block))
        code.update(data: info)
        code.update(data: [1] as [UInt8])
        return code.finalize().withUnsafeBytes { SymmetricKey(data: $0) }
    }
}
