import Foundation
import Testing
import TestSupport

@testable import SecureStorage

struct SecretPrintingTests {
    @Test func `nothing that prints a secret prints its bytes`() throws {
        let secret = SecretBytes(utf8: "hunter2")
        var dumped = ""
        dump(secret, to: &dumped)
        let key = try EncryptionKey(.passphrase("hunter2"))
        let derived = DerivedKey(key: secret, salt: Array("salt".utf8))
        for text in [
            "\(secret)", String(reflecting: secret), String(describing: secret), dumped, "\(key)",
            String(reflecting: key), "\(derived)", String(reflecting: derived),
        ] {
            check(!text.contains("hunter2"))
            check(!text.contains("104, 117"))
        }
        check("\(secret)", equals: "<redacted>")
    }
}

struct EncryptionKeyTests {
    private let digits = "2DD29CA851E7B56E4697B0E1F08507293D761A05CE4D1B628663F411A8086D99"
    private let salt = "000102030405060708090a0b0c0d0e0f"

    @Test func `64 hex digits in SQLCipher's notation are a raw key`() throws {
        guard case .raw(let key) = try EncryptionKey(.passphrase("x'\(digits)'")) else {
            Issue.record("not a raw key")
            return
        }
        check(key.withUnsafeBytes { Array($0.prefix(3)) }, equals: [0x2d, 0xd2, 0x9c])
        check(key.count, equals: 32)
    }

    @Test func `96 hex digits are a raw key and its salt`() throws {
        guard
            case .rawWithSalt(let key, let salt) = try EncryptionKey(
                .passphrase("X'\(digits)\(salt)'"))
        else {
            Issue.record("not a raw key with a salt")
            return
        }
        check(key.withUnsafeBytes { $0.last }, equals: 0x99)
        check(salt, equals: Array(0...15))
    }

    @Test func `anything else is a passphrase`() throws {
        for text in [
            digits, "x'\(digits)", "x'\(digits.dropLast())'", "x'\(digits.dropLast())g'",
            "y'\(digits)'",
            "x'\(digits)00'", "x''",
        ] {
            guard case .passphrase(let passphrase) = try EncryptionKey(.passphrase(text)) else {
                Issue.record("\(text) is not a passphrase")
                continue
            }
            check(passphrase.bytes.count, equals: text.utf8.count)
        }
    }

    @Test func `an empty passphrase and raw keys of other lengths are refused`() {
        for count in [0, 16, 31, 33, 48, 64] {
            let error = storageError {
                _ = try EncryptionKey(.raw(SecretBytes(count: count) { _ in }))
            }
            check("\(error, default: "none")".contains("exactly 32 bytes"))
        }
        let error = storageError { _ = try EncryptionKey(.passphrase("")) }
        check("\(error, default: "none")".contains("empty"))
    }

    @Test func `a key specification is SQLCipher's text`() {
        let key = DerivedKey(
            key: SecretBytes(count: 32) { $0.copyBytes(from: 0..<32) }, salt: Array(240...255))
        let text = key.withKeySpecification { String(decoding: $0, as: UTF8.self) }
        check(
            text,
            equals: "x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
                + "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'")
    }

    /// The vectors are from RFC 6070 for SHA-1 and from Python's hashlib.pbkdf2_hmac (3.11) for the
    /// others.
    @Test(arguments: [
        (
            CipherConfiguration.KDFAlgorithm.pbkdf2HMACSHA1, "password", "salt", 4096,
            "4b007901b765489abead49d926f721d065a429c1"
        ),
        (.pbkdf2HMACSHA256, "password", "salt", 4096, "c5e478d59288c841aa530db6845c4c8d962893a0"),
        (.pbkdf2HMACSHA512, "password", "salt", 4096, "d197b1b33db0143e018b12f3d1d1479e6cdebdcc"),
    ])
    func `the derivation is PBKDF2`(
        _ algorithm: CipherConfiguration.KDFAlgorithm, _ passphrase: String, _ salt: String,
        _ rounds: Int, _ expected: String
    ) throws {
        var cipher = CipherConfiguration()
        cipher.kdfAlgorithm = algorithm
        cipher.kdfIterations = rounds
        let derived = try EncryptionKey(.passphrase(passphrase))
            .derived(salt: Array(salt.utf8), cipher: cipher)
        let hex = derived.key.withUnsafeBytes { $0.map { String(format: "%02x", $0) }.joined() }
        check(hex.hasPrefix(expected))
        check(hex.count, equals: 64)
    }
}
