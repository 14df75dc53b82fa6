import Crypto
import CryptoExtras
import Foundation
@testable import SecureStorageTests

/// Changes pages of an encrypted file as an attacker with its key would: decrypts, changes,
/// encrypts and authenticates each.
///
/// For files with a raw key and SQLCipher 4's defaults.
struct PageForge {
    static let pageSize = 4096
    private static let trailer = 80
    private let key: SymmetricKey
    private let hmacKey: SymmetricKey

    init(key: Data, of file: Data) throws {
        self.key = SymmetricKey(data: key)
        hmacKey = try KDF.Insecure.PBKDF2.deriveKey(
            from: key, salt: file.prefix(16).map { $0 ^ 0x3a }, using: .sha512,
            outputByteCount: 32, unsafeUncheckedRounds: 2)
    }

    /// Lets `change` modify the 4016 content bytes of a file's page `number`, counted from 1.
    ///
    /// The first 16 bytes of page 1 are the salt in the file, and zeros in the content.
    func forge(_ number: Int, of file: inout Data, _ change: (inout [UInt8]) -> Void) throws {
        let start = file.startIndex + (number - 1) * Self.pageSize
        let clear = number == 1 ? 16 : 0
        let end = start + Self.pageSize - Self.trailer
        let vector = try AES._CBC.IV(ivBytes: Array(file[end..<(end + 16)]))
        var content =
            [UInt8](repeating: 0, count: clear)
            + (try AES._CBC.decrypt(
                Array(file[(start + clear)..<end]), using: key, iv: vector, noPadding: true))
        change(&content)
        let encrypted = try AES._CBC.encrypt(
            content[clear...], using: key, iv: vector, noPadding: true)
        file.replaceSubrange((start + clear)..<end, with: encrypted)
        var code = HMAC<SHA512>(key: hmacKey)
        code.update(data: file[(start + clear)..<(end + 16)])
        withUnsafeBytes(of: UInt32(number).littleEndian) { code.update(data: $0) }
        file.replaceSubrange((end + 16)..<(end + 80), with: Data(code.finalize()))
    }
}
