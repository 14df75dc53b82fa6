internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import Platform

/// A key in the form a connection needs: 32 bytes and the salt of its file.
///
/// SQLCipher would run a passphrase through PBKDF2 for every connection (a tenth of a second each).
/// Deriving it here once gives the same key, and lets every further connection, including one
/// reopened after a failed rekey, be keyed immediately without keeping the passphrase.
struct DerivedKey: Sendable {
    let key: SecretBytes
    let salt: [UInt8]

    /// Lends SQLCipher's notation of a raw key with its salt, `x'` + 96 hex digits + `'`, and
    /// clears it afterwards.
    func withKeySpecification<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        let keyDigits = key.count * 2
        let specification = SecretBytes(count: keyDigits + salt.count * 2 + 3) { text in
            text[0] = UInt8(ascii: "x")
            text[1] = UInt8(ascii: "'")
            key.withUnsafeBytes { Hex.encode($0, into: text[2..<(2 + keyDigits)]) }
            Hex.encode(salt, into: text[(2 + keyDigits)..<(text.count - 1)])
            text[text.count - 1] = UInt8(ascii: "'")
        }
        return try specification.withUnsafeBytes(body)
    }
}

extension EncryptionKey {
    /// Derives the key for a file with this salt: by PBKDF2 from a passphrase, else the raw bytes.
    ///
    /// A passphrase takes about a tenth of a second of one core with the default configuration.
    func derived(salt: [UInt8], cipher: CipherConfiguration) throws -> DerivedKey {
        switch self {
        case .raw(let key), .rawWithSalt(let key, _):
            return DerivedKey(key: key, salt: salt)
        case .passphrase(let passphrase):
            let derived = try passphrase.withUnsafeBytes { passphrase in
                try KDF.Insecure.PBKDF2.deriveKey(
                    from: passphrase, salt: salt, using: cipher.kdfAlgorithm.hashFunction,
                    outputByteCount: Self.rawKeyLength,
                    // Unchecked: other programs' files may have fewer rounds than advised today.
                    unsafeUncheckedRounds: cipher.kdfIterations)
            }
            return DerivedKey(
                key: derived.withUnsafeBytes { SecretBytes(copying: $0) }, salt: salt)
        }
    }
}

extension CipherConfiguration.KDFAlgorithm {
    var hashFunction: KDF.Insecure.PBKDF2.HashFunction {
        switch self {
        case .pbkdf2HMACSHA1: .insecureSHA1
        case .pbkdf2HMACSHA256: .sha256
        case .pbkdf2HMACSHA512: .sha512
        }
    }
}
