internal import ArgumentParser
internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// The file's cipher settings where they differ from SQLCipher 4's defaults.
struct CipherOptions: ParsableArguments {
    static let title = "Cipher (for files made with other settings)"

    @Option(help: ArgumentHelp("Bytes per page (default: 4096).", valueName: "bytes"))
    var pageSize: Int?

    @Option(
        help: ArgumentHelp("Iterations of the key derivation (default: 256000).", valueName: "n"))
    var kdfIterations: Int?

    @Option(help: ArgumentHelp("Hash of the page HMACs: sha1, sha256, sha512.", valueName: "hash"))
    var hmac: HashName?

    @Option(help: ArgumentHelp("Hash of the key derivation.", valueName: "hash"))
    var kdf: HashName?

    @Option(help: ArgumentHelp("Unencrypted bytes at the start of the file.", valueName: "bytes"))
    var plaintextHeader: Int?

    @Option(
        help: ArgumentHelp(
            "32 hex digits, with --plaintext-header; without it the salt is in FILE-salt.",
            valueName: "hex"))
    var salt: String?

    enum HashName: String, ExpressibleByArgument, CaseIterable {
        case sha1, sha256, sha512
    }

    func validate() throws {
        if let salt, Hex.decode(salt.utf8)?.count != 16 {
            throw ValidationError("--salt must be 32 hex digits (16 bytes)")
        }
    }

    var configuration: CipherConfiguration {
        var cipher = CipherConfiguration()
        if let pageSize { cipher.pageSize = pageSize }
        if let kdfIterations { cipher.kdfIterations = kdfIterations }
        if let plaintextHeader { cipher.plaintextHeaderSize = plaintextHeader }
        cipher.salt = salt.flatMap { Hex.decode($0.utf8) }.map { Data($0) }
        switch hmac {
        case .sha1: cipher.hmacAlgorithm = .sha1
        case .sha256: cipher.hmacAlgorithm = .sha256
        case .sha512: cipher.hmacAlgorithm = .sha512
        case nil: break
        }
        switch kdf {
        case .sha1: cipher.kdfAlgorithm = .pbkdf2HMACSHA1
        case .sha256: cipher.kdfAlgorithm = .pbkdf2HMACSHA256
        case .sha512: cipher.kdfAlgorithm = .pbkdf2HMACSHA512
        case nil: break
        }
        return cipher
    }

    /// Returns the options that a file with these settings needs instead of those that were given.
    func options(for found: CipherConfiguration) -> String {
        let given = configuration
        var options: [String] = []
        if found.pageSize != given.pageSize { options.append("--page-size \(found.pageSize)") }
        if found.kdfIterations != given.kdfIterations {
            options.append("--kdf-iterations \(found.kdfIterations)")
        }
        if found.hmacAlgorithm != given.hmacAlgorithm {
            let name: HashName =
                switch found.hmacAlgorithm {
                case .sha1: .sha1
                case .sha256: .sha256
                case .sha512: .sha512
                }
            options.append("--hmac \(name.rawValue)")
        }
        if found.kdfAlgorithm != given.kdfAlgorithm {
            let name: HashName =
                switch found.kdfAlgorithm {
                case .pbkdf2HMACSHA1: .sha1
                case .pbkdf2HMACSHA256: .sha256
                case .pbkdf2HMACSHA512: .sha512
                }
            options.append("--kdf \(name.rawValue)")
        }
        return options.joined(separator: " ")
    }
}
