internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import SecureStoragePlatform

/// A key in the form a connection needs: 32 bytes and the salt of its file.
///
/// SQLCipher would run a passphrase through PBKDF2 for every connection (a tenth of a second each).
/// Deriving it here once gives the same key, and lets every further connection, including one
/// reopened after a failed rekey, be keyed immediately without keeping the passphrase.
struct DerivedKey: Sendable {
    let key: SecretBytes
    let salt: [UInt8]

    /// Passes SQLCipher's notation of a raw key with its salt, `x'` + 96 hex digits + `'`, and
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
        case .raw(let key), .rawWithSalt(let key, _): DerivedKey(key: key, salt: salt)
        case .passphrase(let passphrase): try passphrase.derived(salt: salt, cipher: cipher)
        }
    }
}

/// A passphrase, and the keys that were derived from it.
///
/// A call that finds a key to be wrong then diagnoses the file, and reads a file in the middle
/// of a transaction several times: it needs the same keys again. They are cleared with the
/// passphrase, when the call ends.
final class Passphrase: Sendable {
    let bytes: SecretBytes
    private let derivations = Locked<[(inputs: Inputs, key: DerivedKey)]>([])

    private struct Inputs: Equatable {
        let salt: [UInt8]
        let algorithm: CipherConfiguration.KDFAlgorithm
        let iterations: Int
    }

    init(_ bytes: SecretBytes) { self.bytes = bytes }

    fileprivate func derived(salt: [UInt8], cipher: CipherConfiguration) throws -> DerivedKey {
        let inputs = Inputs(
            salt: salt, algorithm: cipher.kdfAlgorithm, iterations: cipher.kdfIterations)
        return try derivations.withLock { derivations in
            if let known = derivations.first(where: { $0.inputs == inputs }) { return known.key }
            let derived = try bytes.withUnsafeBytes { bytes in
                try KDF.Insecure.PBKDF2.deriveKey(
                    from: bytes, salt: salt, using: cipher.kdfAlgorithm.hashFunction,
                    outputByteCount: EncryptionKey.rawKeyLength,
                    // Unchecked: other programs' files may have fewer rounds than advised today.
                    unsafeUncheckedRounds: cipher.kdfIterations)
            }
            let key = DerivedKey(
                key: derived.withUnsafeBytes { SecretBytes(copying: $0) }, salt: salt)
            derivations.append((inputs, key))
            return key
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
