internal import Crypto
package import Foundation

/// The purpose of a public key.
///
/// The numbers are part of the format.
package enum KeyAlgorithm: UInt64, Sendable {
    /// Signatures, RFC 8032; 32 bytes.
    case ed25519 = 1
    /// HPKE with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305 (RFC 9180); 32 bytes.
    case x25519 = 2
    /// HPKE with X-Wing, which is ML-KEM-768 and X25519, HKDF-SHA256, AES-256-GCM; 1,216 bytes.
    ///
    /// A quantum computer cannot unwrap recorded keys.
    case xWing = 3
}

/// A member's public keys: a list, so that algorithms can be added.
package struct PublicKeys: Hashable, Sendable {
    /// By algorithm number, including algorithms that this version does not know.
    package var all: [UInt64: Data]

    package init(all: [UInt64: Data]) { self.all = all }

    package init(signing: Data, agreement: Data, xWing: Data? = nil) {
        all = [
            KeyAlgorithm.ed25519.rawValue: signing, KeyAlgorithm.x25519.rawValue: agreement,
        ]
        self[.xWing] = xWing
    }

    package subscript(_ algorithm: KeyAlgorithm) -> Data? {
        get { all[algorithm.rawValue] }
        set { all[algorithm.rawValue] = newValue }
    }

    package var signing: Data { self[.ed25519] ?? Data() }

    /// The algorithm for wrapping keys from this member to another: the strongest that both have,
    /// so that nobody can choose a weaker one.
    package func wrapping(for recipient: PublicKeys) -> KeyAlgorithm {
        self[.xWing] != nil && recipient[.xWing] != nil ? .xWing : .x25519
    }

    package func isValid(_ signature: Data, for message: Data) -> Bool {
        guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: signing) else {
            return false
        }
        return key.isValidSignature(signature, for: message)
    }
}
