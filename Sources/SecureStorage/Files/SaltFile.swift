internal import Crypto
internal import Foundation
internal import SecureStoragePlatform

/// The salt of a database with a plaintext header, in a file beside it: `NAME-salt`.
///
/// SQLCipher keeps the salt in the first 16 bytes of the file. If SQLite's own header is there
/// instead, the file does not contain the salt, and without it no key opens the file. The salt is
/// not secret.
struct SaltFile {
    static let suffix = "-salt"
    private static let firstLine = "SecureStorage salt 1"

    private let file: DatabaseFile
    private var path: String { file.path + Self.suffix }

    init(of file: DatabaseFile) { self.file = file }

    /// Returns the salts that may be the file's, or nil if no salt file exists.
    ///
    /// There is one, or two after a kill while a new file was replacing an older one.
    ///
    /// - Throws: `.openFailed` (for another purpose, `.backingStoreError`) code `.corrupt` if the
    ///   checksum is wrong; code `.cannotOpen` if the file cannot be read.
    func salts() throws -> [[UInt8]]? {
        guard let text = try bytes().map({ String(decoding: $0, as: UTF8.self) }) else {
            return nil
        }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 4, lines.removeLast().isEmpty, let checksum = lines.popLast(),
            lines.first == Substring(Self.firstLine), checksum == Self.checksum(lines)
        else { throw damaged }
        let salts = lines.dropFirst().compactMap { Hex.decode($0.utf8) }
        guard salts.count == lines.count - 1,
            salts.allSatisfy({ $0.count == CipherConfiguration.saltLength })
        else { throw damaged }
        return salts
    }

    /// As ``salts()``, but returns nil also for a damaged file.
    ///
    /// - Throws: An error if the file currently cannot be read: it may hold the last copy of the
    ///   salt.
    func readable() throws -> [[UInt8]]? {
        do {
            return try salts()
        } catch let error as SecureStorageError where error == damaged {
            return nil
        }
    }

    private func bytes() throws -> Data? {
        do {
            let file = try Descriptor(path, O_RDONLY | O_NOFOLLOW)
            // Two salts make 159 bytes.
            var buffer = [UInt8](repeating: 0, count: 1024)
            let count = try buffer.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            return Data(buffer.prefix(count))
        } catch let error as SystemError {
            guard error.code == ENOENT else { throw failure(error.reason) }
            return nil
        }
    }

    /// Ensures that the salt file holds the open database's salt and no other.
    ///
    /// Writes nothing if it already does, so an ordinary open costs one read.
    func keep(_ salt: [UInt8], timeout: Duration) throws {
        let begun = SaltFile(of: file.draft)
        if (try? begun.readable()) == [salt] {
            // Left over from a creation or move that completed. If kept, it would falsely mark the
            // salt as that of unfinished work.
            try? file.withCreationLock(timeout: .zero) { try begun.remove() }
        }
        guard (try? salts()) != [salt] else { return }
        try file.withCreationLock(timeout: timeout) { try replace(with: [salt]) }
    }

    /// Rewrites the file as a whole; requires the creation lock of its database.
    func replace(with salts: [[UInt8]]) throws {
        let lines = [Substring(Self.firstLine)] + salts.map { Substring(Hex.text($0)) }
        let text = (lines + [Substring(Self.checksum(lines))]).joined(separator: "\n") + "\n"
        let draft = path + ".draft"
        _ = unlink(draft)
        do {
            try Array(text.utf8).withUnsafeBytes {
                try AtomicFile.write($0, as: path, draft: draft)
            }
        } catch let error as SystemError {
            throw failure(error.reason)
        }
        file.syncDirectory()
    }

    /// Removes the file, if it exists, and what a kill has left of it.
    func remove() throws {
        _ = unlink(path + ".draft")
        try file.removeFile(Self.suffix)
    }

    private static func checksum(_ lines: [Substring]) -> String {
        let text = lines.map { $0 + "\n" }.joined()
        return "sha256 " + Hex.text(SHA256.hash(data: Data(text.utf8)))
    }

    private var damaged: SecureStorageError {
        file.failure(
            "its salt file \(Self.suffix) is damaged, so its salt is unknown; restore the salt file from a "
                + "backup, or set cipher.salt", .corrupt)
    }

    private func failure(_ reason: String) -> SecureStorageError {
        file.failure("its salt file \(Self.suffix): \(reason)")
    }

    /// The error for a database that needs a salt but has none.
    var missing: SecureStorageError {
        file.failure(
            "its salt file \(Self.suffix) is missing. A database with a plaintext header does not contain its salt: "
                + "restore the salt file, set cipher.salt, or pass the key as 96 digits, which include the salt"
        )
    }
}
