internal import CPlatform
internal import Crypto
internal import Foundation
internal import Platform

/// A hidden directory beside a target file, for drafts that are written before the file gets its
/// name.
///
/// Its name is derived from the file's, so the next call removes the remains of a killed one. It
/// never contains plaintext.
final class BackupWorkspace {
    /// The target file: an absolute path, with links in its directory resolved.
    let target: URL

    private let path: String
    private let descriptor: Int32

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
            throw BackupFile.failure(errno, "find the directory", parent)
        }
        defer { free(resolved) }
        let directory = URL(fileURLWithPath: String(cString: resolved), isDirectory: true)
        target = directory.appendingPathComponent(name)
        // A hash, because the name itself may already have the maximum length.
        let hash = Hex.text(SHA256.hash(data: Data(name.utf8)).prefix(8))
        path = directory.appendingPathComponent(".securestorage-vault-\(hash)").path
        descriptor = try Self.open(path, target.path)
        try empty()
    }

    deinit {
        try? empty()
        // Remove it before unlocking: a caller that locks a removed directory detects that.
        rmdir(path)
        // A child forked in the meantime also has the descriptor, which would keep the lock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Returns the URL of a file in the directory.
    func url(_ name: String) -> URL { URL(fileURLWithPath: path).appendingPathComponent(name) }

    /// Removes all files.
    func empty() throws {
        // Through the descriptor: another directory may have taken the name.
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0, let list = fdopendir(copy) else {
            throw BackupFile.failure(errno, "list", path)
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
            guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
                throw BackupFile.failure(errno, "remove", "\(path)/\(name)")
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
        let draft = url(name).path
        if replacing {
            guard rename(draft, target.path) == 0 else {
                throw BackupFile.failure(errno, "replace", target.path)
            }
        } else {
            // `link` fails if the name exists; `rename` would replace the file.
            if link(draft, target.path) == 0 {
                unlink(draft)
            } else {
                switch errno {
                case EEXIST: throw isTaken
                case EPERM, ENOTSUP, EMLINK:
                    // No hard links here; the workspace lock keeps other calls of this library out.
                    try requireFree(replacing: false)
                    guard rename(draft, target.path) == 0 else {
                        throw BackupFile.failure(errno, "make", target.path)
                    }
                default: throw BackupFile.failure(errno, "make", target.path)
                }
            }
        }
        let parent = Foundation.open(
            target.deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { return }  // it may be searched but not read
        _ = cplatform_sync(parent)  // ignored: some file systems cannot sync directories
        close(parent)
    }

    private var isTaken: VaultBackupError {
        .taken(reason: "\(KeyStoreError.quoted(target.path)) already exists")
    }

    private static func open(_ path: String, _ target: String) throws -> Int32 {
        for _ in 1...100 {
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw BackupFile.failure(errno, "create the directory", path)
            }
            let descriptor = Foundation.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else {
                // Removed in the meantime by the caller that used it.
                if errno == ENOENT { continue }
                throw BackupFile.failure(errno, "open the directory", path)
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                close(descriptor)
                throw VaultBackupError.inUse(path: target)
            }
            var own = stat()
            var named = stat()
            if fstat(descriptor, &own) == 0, lstat(path, &named) == 0, own.st_ino == named.st_ino,
                own.st_dev == named.st_dev
            {
                guard own.st_uid == geteuid(), fchmod(descriptor, 0o700) == 0 else {
                    close(descriptor)
                    throw VaultBackupError.fileFailed(
                        reason:
                            "the directory \(KeyStoreError.quoted(path)) belongs to another user")
                }
                return descriptor
            }
            close(descriptor)
        }
        throw VaultBackupError.inUse(path: target)
    }
}
