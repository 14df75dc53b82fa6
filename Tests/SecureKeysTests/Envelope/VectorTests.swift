import Crypto
import Foundation
@testable import SecureStorage
import TestSupport
import Testing

@testable import SecureKeys

struct VectorTests {
    private struct Sealing: Decodable {
        let tcId: Int
        let key, iv, aad, msg, ct, tag: HexBytes
        let result: String
    }

    @Test func `AES-256-GCM passes the Wycheproof tests`() throws {
        let vectors = try Vectors.load("wycheproof_aes_256_gcm", as: Sealing.self)
        check(vectors.count, equals: 66)
        for vector in vectors {
            let key = SymmetricKey(data: vector.key.bytes)
            let box = Data(vector.iv.bytes + vector.ct.bytes + vector.tag.bytes)
            let opened = AESGCM.open(box, key: key, authenticating: vector.aad.bytes)
            let expected = vector.result == "valid" ? Data(vector.msg.bytes) : nil
            check(opened, equals: expected, "test \(vector.tcId)")
            guard vector.result == "valid" else { continue }
            let sealed = try AESGCM.seal(
                vector.msg.bytes, key: key, nonce: vector.iv.bytes,
                authenticating: vector.aad.bytes)
            check(sealed, equals: box, "test \(vector.tcId)")
        }
    }

    private struct ExtendedSealing: Decodable {
        let key, nonce, plaintext, aad, ciphertext: HexBytes
    }

    @Test func `XAES-256-GCM gives the published ciphertexts`() throws {
        let vectors = try Vectors.load("c2sp_xaes_256_gcm", as: ExtendedSealing.self)
        check(vectors.count, equals: 2)
        for vector in vectors {
            let cipher = try ExtendedNonceCipher(key: SymmetricKey(data: vector.key.bytes))
            let sealed = try cipher.seal(
                vector.plaintext.bytes, authenticating: vector.aad.bytes, after: [7],
                nonce: vector.nonce.bytes)
            check(Array(sealed), equals: [7] + vector.nonce.bytes + vector.ciphertext.bytes)
            try check(
                cipher.open(sealed.dropFirst(), authenticating: vector.aad.bytes),
                equals: Data(vector.plaintext.bytes))
        }
    }

    private struct Expansion: Decodable {
        let ikm, salt, info, okm: HexBytes
        let prk: HexBytes?
        let result: String?
    }

    // A longer output begins with the shorter one, so every test checks 32 bytes.
    @Test(arguments: ["rfc5869_hkdf_sha256", "wycheproof_hkdf_sha256"])
    func `HKDF gives the published keys`(_ file: String) throws {
        let vectors = try Vectors.load(file, as: Expansion.self)
        check(vectors.count >= 3)
        for vector in vectors where vector.result ?? "valid" == "valid" {
            let secret = SecretBytes(copying: vector.ikm.bytes)
            let key = KeyDerivation.hkdf(
                secret, salt: vector.salt.bytes, info: vector.info.bytes)
            let expected = Array(vector.okm.bytes.prefix(32))
            check(key.withUnsafeBytes { Array($0.prefix(expected.count)) }, equals: expected)
            guard let prk = vector.prk else { continue }
            let expanded = KeyDerivation.expand(
                SecretBytes(copying: prk.bytes), info: vector.info.bytes)
            check(expanded.withUnsafeBytes { Array($0) }, equals: expected)
        }
    }

    private struct Stretching: Decodable {
        let password, salt, key: HexBytes
        let cost, blockSize, parallelism: Int
    }

    @Test func `scrypt gives the published keys`() throws {
        let vectors = try Vectors.load("rfc7914_scrypt", as: Stretching.self)
        check(vectors.count, equals: 4)
        #if DEBUG
            let mostCost = 1 << 14
        #else
            let mostCost = 1 << 20
        #endif
        for vector in vectors where vector.cost <= mostCost {
            let key = try KeyDerivation.scrypt(
                SecretBytes(copying: vector.password.bytes), salt: vector.salt.bytes,
                cost: vector.cost, blockSize: vector.blockSize, parallelism: vector.parallelism,
                length: vector.key.bytes.count)
            check(key.withUnsafeBytes { Array($0) }, equals: vector.key.bytes)
        }
    }

    private struct Rounds: Decodable {
        let hash: String
        let password, salt, key: HexBytes
        let iterations: Int
    }

    @Test func `PBKDF2, which derives database keys, gives the published keys`() throws {
        let vectors = try Vectors.load("pbkdf2", as: Rounds.self)
        check(vectors.count, equals: 7)
        for vector in vectors {
            var cipher = CipherConfiguration()
            cipher.kdfIterations = vector.iterations
            cipher.kdfAlgorithm = vector.hash == "sha1" ? .pbkdf2HMACSHA1 : .pbkdf2HMACSHA256
            let passphrase = Passphrase(SecretBytes(copying: vector.password.bytes))
            let key = try EncryptionKey.passphrase(passphrase)
                .derived(salt: vector.salt.bytes, cipher: cipher).key
            let expected = Array(vector.key.bytes.prefix(32))
            check(key.withUnsafeBytes { Array($0.prefix(expected.count)) }, equals: expected)
        }
    }
}
