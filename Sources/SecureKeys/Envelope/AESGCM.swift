package import Crypto
package import Foundation

/// AES-256-GCM ([NIST SP 800-38D](https://csrc.nist.gov/pubs/sp/800/38/d/final)), the only cipher
/// of this folder.
///
/// A sealed box is the nonce, the ciphertext (as long as the plaintext) and the tag.
package enum AESGCM {
    package static let nonceLength = 12
    package static let tagLength = 16
    package static let overhead = nonceLength + tagLength

    /// Returns the sealed box of a plaintext.
    package static func seal(
        _ plaintext: some DataProtocol, key: SymmetricKey, nonce: some DataProtocol,
        authenticating context: [UInt8]
    ) throws -> Data {
        let box = try AES.GCM.seal(
            plaintext, using: key, nonce: AES.GCM.Nonce(data: nonce), authenticating: context)
        // Never nil for nonces of 12 bytes.
        guard let combined = box.combined else { throw CryptoKitError.incorrectParameterSize }
        return combined
    }

    /// Returns the plaintext of a sealed box, or nil if it is not authentic or too short.
    package static func open(_ box: Data, key: SymmetricKey, authenticating context: [UInt8])
        -> Data?
    {
        guard let box = try? AES.GCM.SealedBox(combined: box) else { return nil }
        return try? AES.GCM.open(box, using: key, authenticating: context)
    }
}
