internal import ArgumentParser
internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// The source of the file's key.
struct KeyOptions: ParsableArguments {
    static let title = "Key"

    @Option(help: ArgumentHelp("Read the key from an open file descriptor.", valueName: "number"))
    var keyFd: Int32?

    @Option(
        help: ArgumentHelp("Read the key from a file that only you can access.", valueName: "file"))
    var keyFile: String?

    @Option(help: ArgumentHelp("Take the key from an environment variable.", valueName: "name"))
    var keyEnv: String?

    @Flag(
        help: "Accept key files that are links, root's, or readable by others, as in containers."
    )
    var insecureKeyFile = false

    @Flag(help: "The key is 64 hex digits (a raw key), or 96 (with its salt).")
    var rawKey = false

    func validate() throws {
        try requireOne("--key-fd, --key-file, --key-env", keyFd, keyFile, keyEnv)
    }

    /// Returns the key; the user has to enter it twice if a file is to be created with it.
    func key(of path: String, isNew: Bool) throws -> DatabaseKey {
        try KeyReading(
            source: source(keyFd, keyFile, keyEnv, isInsecure: insecureKeyFile), isRaw: rawKey
        )
        .key("key", of: path, isNew: isNew)
    }
}

/// The source of a file's new key.
struct NewKeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Read the new key from an open file descriptor.", valueName: "number"))
    var newKeyFd: Int32?

    @Option(
        help: ArgumentHelp(
            "Read the new key from a file that only you can access.", valueName: "file")
    )
    var newKeyFile: String?

    @Option(help: ArgumentHelp("Take the new key from an environment variable.", valueName: "name"))
    var newKeyEnv: String?

    @Flag(help: "The new key is 64 hex digits (a raw key).")
    var newRawKey = false

    func validate() throws {
        try requireOne(
            "--new-key-fd, --new-key-file, --new-key-env", newKeyFd, newKeyFile, newKeyEnv)
    }

    /// Whether any of the options was given.
    var areGiven: Bool {
        newKeyFd != nil || newKeyFile != nil || newKeyEnv != nil || newRawKey
    }

    /// Returns the new key; the user has to enter it twice.
    ///
    /// The rule for key files of `options`, those of the old key, holds for the new one too.
    func key(of path: String, like options: KeyOptions) throws -> DatabaseKey {
        let isInsecure = options.insecureKeyFile
        return try KeyReading(
            source: source(newKeyFd, newKeyFile, newKeyEnv, isInsecure: isInsecure),
            isRaw: newRawKey
        )
        .key("new key", of: path, isNew: true)
    }
}

private func requireOne(_ names: String, _ values: Any?...) throws {
    guard values.count(where: { $0 != nil }) <= 1 else {
        throw ValidationError("use only one of \(names)")
    }
}

private func source(
    _ descriptor: Int32?, _ file: String?, _ name: String?, isInsecure: Bool
) -> KeySource {
    descriptor.map { .descriptor($0) } ?? file.map { .file($0, isInsecure: isInsecure) }
        ?? name.map { .environment($0) } ?? .terminal
}

/// Reads and parses a key.
struct KeyReading {
    let source: KeySource
    let isRaw: Bool

    func key(_ name: String, of path: String, isNew: Bool) throws -> DatabaseKey {
        let file = URL(fileURLWithPath: path).lastPathComponent
        let bytes = try source.read(asking: "\(name) of \(file)\(isNew ? " (to be set)" : ""): ")
        guard bytes.count > 0 else {
            throw Failure("the \(name) is empty", hint: "an encrypted file needs one", .noKey)
        }
        if isNew, case .terminal = source {
            guard try source.read(asking: "\(name), once more: ") == bytes else {
                throw Failure(
                    "the two keys do not match", hint: "nothing was changed; try again", .noKey)
            }
        }
        return try isRaw ? raw(bytes, name) : .passphrase(bytes)
    }

    private func raw(_ digits: SecretBytes, _ name: String) throws -> DatabaseKey {
        let wrong = Failure(
            "the \(name) is neither 64 hex digits (32 bytes) nor 96 (with 16 bytes of salt)",
            hint: "omit --raw-key for a passphrase", .noKey)
        guard digits.count == 64 || digits.count == 96 else { throw wrong }
        let decoded = try SecretBytes(count: digits.count / 2) { buffer in
            try digits.withUnsafeBytes { digits in
                for index in buffer.indices {
                    guard let high = Hex.value(digits[2 * index]),
                        let low = Hex.value(digits[2 * index + 1])
                    else { throw wrong }
                    buffer[index] = high << 4 | low
                }
            }
        }
        guard decoded.count > 32 else { return .raw(decoded) }
        let salt = decoded.withUnsafeBytes { Data($0[32...]) }
        return .raw(decoded.prefix(32), salt: salt)
    }
}
