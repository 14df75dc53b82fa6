internal import Crypto
internal import Foundation
internal import SecureStoragePlatform

/// A hidden directory beside a target file, for files that are written before the file gets its
/// name.
///
/// Its name is derived from the file's, so the next call removes the remains of a killed one. It
/// never contains plaintext.
final class BackupWorkspace {
    /// The target file: an absolute path, with links in its directory resolved.
    let target: URL

    private let path: String
    private let lock: LockFile

    /// Creates the directory, or takes over that of a killed call.
    ///
    /// - Throws: `.inUse` if another call or process is making the same file.
    init(for url: URL) throws {
        let name = url.lastPathComponent
        guard url.isFileURL, !["", "/", ".", ".."].contains(name), !url.path.utf8.contains(0) else {
            throw VaultBackupError.fileFailed(
                reason: "\(KeyStoreError.quoted(url.path)) is not a file path")
        }
        let parent = url.deletingLastPathComponent().path
        guard let resolved = realpath(parent, nil) else {
            throw SequentialFile.failure(errno, "find the directory", parent)
        }
        defer { free(resolved) }
        let directory = URL(fileURLWithPath: String(cString: resolved), isDirectory: true)
        target = directory.appendingPathComponent(name)
        // A hash, because the name itself may already have the maximum length.
        let hash = Hex.text(SHA256.hash(data: Data(name.utf8)).prefix(8))
        path = directory.appendingPathComponent(".securestorage-vault-\(hash)").path
        do {
            let lock = try LockFile.take(path, patience: .zero) { [path] in try Self.open(path) }
            guard let lock else { throw VaultBackupError.inUse(path: target.path) }
            self.lock = lock
        } catch let error as SystemError {
            throw SequentialFile.failure(error.code, "\(error.action) the directory", path)
        }
        try empty()
    }

    deinit {
        try? empty()
        // Remove it before unlocking: a caller that locks a removed directory detects that.
        rmdir(path)
    }

    /// Returns the URL of a file in the directory.
    func url(_ name: String) -> URL { URL(fileURLWithPath: path).appendingPathComponent(name) }

    /// Removes all files.
    func empty() throws {
        // Through the descriptor: another directory may have taken the name.
        let copy = fcntl(lock.descriptor.number, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0, let list = fdopendir(copy) else {
            throw SequentialFile.failure(errno, "list", path)
        }
        defer { closedir(list) }
        rewinddir(list)
        while let entry = readdir(list) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) {
                    String(cString: $0)
                }
            }
            guard name != ".", name != ".." else { continue }
            guard unlinkat(lock.descriptor.number, name, 0) == 0 || errno == ENOENT else {
                throw SequentialFile.failure(errno, "remove", "\(path)/\(name)")
            }
        }
    }

    /// Rejects early what `publish` would reject.
    func requireFree(replacing: Bool) throws {
        var status = stat()
        guard lstat(target.path, &status) == 0 else { return }
        guard replacing, status.st_mode & S_IFMT == S_IFREG else { throw isTaken }
    }

    /// Gives a file of the directory the target's name.
    func publish(_ name: String, replacing: Bool) throws {
        do {
            try AtomicFile.rename(url(name).path, to: target.path, replacing: replacing)
        } catch let error as SystemError {
            guard error.code != EEXIST else { throw isTaken }
            throw SequentialFile.failure(error.code, error.action, target.path)
        }
    }

    private var isTaken: VaultBackupError {
        .taken(reason: "\(KeyStoreError.quoted(target.path)) already exists")
    }

    /// Opens the directory, and creates it if it does not exist.
    private static func open(_ path: String) throws -> Descriptor {
        while true {
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemError("create") }
            let directory: Descriptor
            do {
                directory = try Descriptor(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
            } catch let error as SystemError where error.code == ENOENT {
                // Removed in the meantime by the caller that used it.
                continue
            }
            guard try directory.status().st_uid == geteuid(), fchmod(directory.number, 0o700) == 0
            else {
                throw VaultBackupError.fileFailed(
                    reason: "the directory \(KeyStoreError.quoted(path)) belongs to another user")
            }
            return directory
        }
    }
}
