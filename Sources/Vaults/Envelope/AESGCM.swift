internal import Crypto
internal import Foundation

/// AES-256-GCM ([NIST SP 800-38D](https://csrc.nist.gov/pubs/sp/800/38/d/final)), the one cipher of this folder.
enum AESGCM {
    static let nonceLength = 12
    static let tagLength = 16

    /// The ciphertext, as long as the plaintext, and the tag.
    static func seal(
        _ plaintext: some DataProtocol, key: SymmetricKey, nonce: some DataProtocol,
        authenticating context: [UInt8]
    ) throws -> (ciphertext: Data, tag: Data) {
        let box = try AES.GCM.seal(
            plaintext, using: key, nonce: AES.GCM.Nonce(data: nonce), authenticating: context)
        return (box.ciphertext, box.tag)
    }

    /// The plaintext, or nil when it is not authentic.
    static func open(
        _ ciphertext: some DataProtocol, tag: some DataProtocol, key: SymmetricKey,
        nonce: some DataProtocol, authenticating context: [UInt8]
    ) -> Data? {
        // Nothing but a false tag, or one of a wrong length, makes these throw.
        guard let nonce = try? AES.GCM.Nonce(data: nonce),
            let box = try? AES.GCM.SealedBox(nonce: nonce, ciphertext: ciphertext, tag: tag)
        else { return nil }
        return try? AES.GCM.open(box, using: key, authenticating: context)
    }
}
