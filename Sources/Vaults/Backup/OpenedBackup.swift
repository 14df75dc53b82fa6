internal import Foundation
internal import SecureStorage

/// A backup file, read from its beginning: first its header, then its keys, then its database.
final class OpenedBackup {
    let header: VaultBackupHeader
    private let file: SequentialFile

    init(at url: URL) throws {
        let path = url.path
        guard url.isFileURL, !path.utf8.contains(0) else {
            throw VaultBackupError.fileFailed(
                reason: "\(KeyStoreError.quoted(path)) is not a file path")
        }
        file = try SequentialFile(reading: path)
        let begin = try file.read(VaultBackupHeader.beginLength)
        let magic = VaultBackupHeader.magic.withUTF8Buffer { Data($0) }
        guard begin.prefix(4) == magic else {
            throw VaultBackupError.notABackup(path: path)
        }
        let length = begin.dropFirst(5).reduce(0) { $0 << 8 | Int($1) }
        guard begin.count == VaultBackupHeader.beginLength,
            VaultBackupHeader.lengths.contains(length)
        else { throw VaultBackupError.damaged(reason: "its header has an impossible length") }
        let rest = try file.read(length - begin.count)
        do {
            header = try VaultBackupHeader(bytes: begin + rest)
        } catch EnvelopeError.unacceptableParameters(let reason) {
            throw VaultBackupError.key(.unacceptableParameters(reason: reason))
        } catch EnvelopeError.unsupportedVersion(let version) {
            throw VaultBackupError.unsupportedVersion(version)
        } catch let error as EnvelopeError {
            try VaultBackupError.asDamage { throw error }
            throw error
        }
    }

    /// Unwraps the keys, which is how a wrong password is detected.
    func unlock(with source: any KeyEncryptionKeySource) throws -> BackupKeys {
        let key = try header.keySet.unwrap(with: source)
        try authenticateHeader(with: key)
        let keys = try BackupKeys(key)
        for wrapped in header.keys {
            switch wrapped {
            case .key(let record):
                let wrapping = keys.wrapping
                keys.dataKeys.append(
                    try VaultBackupError.asDamage { try record.unwrap(with: wrapping) })
            case .set(let set):
                keys.dataKeys.append(try set.unwrap(with: source))
            }
        }
        return keys
    }

    /// Reads the first part of the stream, which is bound to the header.
    ///
    /// Runs before anything else that the header requests is derived: a forged header could request
    /// expensive derivations.
    private func authenticateHeader(with key: DataEncryptionKey) throws {
        let begin = try file.position()
        try VaultBackupError.asDamage {
            let reader = try SealedStreamReader(with: key, context: header.bytes) {
                [file] in try file.read(upTo: $0)
            }
            _ = try reader.read()
        }
        try file.seek(to: begin)
    }

    /// Writes the database, which is encrypted with the backup's key.
    func extract(
        to url: URL, with keys: BackupKeys, _ progress: FileProgress.Handler
    ) throws {
        let target = try SequentialFile(making: url.path)
        let size = Int(header.metadata.databaseSize)
        var done = 0
        try VaultBackupError.asDamage {
            let reader = try SealedStreamReader(with: keys.key, context: header.bytes) {
                [file] in try file.read(upTo: $0)
            }
            try progress(FileProgress(0, of: size, step: .opening))
            while let part = try reader.read() {
                done += part.count
                // Never write more to the disk than announced.
                guard done <= size else { break }
                try target.write(part)
                // Once per megabyte.
                if done % (1 << 20) < SealedStream.chunkLength {
                    try progress(FileProgress(done, of: size, step: .opening))
                }
            }
        }
        guard done == size else {
            throw VaultBackupError.damaged(
                reason: "the size of its database differs from its header")
        }
        try progress(FileProgress(size, of: size, step: .opening))
    }
}

/// The key of one backup, the keys derived from it, and the data keys stored in the backup.
final class BackupKeys {
    let key: DataEncryptionKey
    let wrapping: KeyEncryptionKey
    var dataKeys: [DataEncryptionKey] = []

    private let raw: SecretBytes
    private let salt: Data

    init(_ key: DataEncryptionKey) throws {
        self.key = key
        wrapping = try KeyEncryptionKey(
            name: VaultBackupHeader.keyName, bytes: key.derivedKey(for: "vault backup keys 1"))
        raw = try key.derivedKey(for: "vault backup database 1")
        salt = try key.derivedKey(for: "vault backup salt 1").withUnsafeBytes {
            Data($0.prefix(16))
        }
    }

    /// Returns the key of the database in the backup.
    ///
    /// A file with a plaintext header does not contain its salt, so there the salt is derived from
    /// the key.
    func databaseKey(_ configuration: SecureDatabaseConfiguration) -> DatabaseKey {
        configuration.cipher.plaintextHeaderSize > 0 ? .raw(raw, salt: salt) : .raw(raw)
    }
}
