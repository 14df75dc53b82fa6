internal import CPlatform
internal import Crypto
internal import Foundation

/// A hidden directory beside a file that is made, for what is written before the file has its name.
///
/// Its name follows from the file's, so that what a killed call has left is removed by the next
/// one. Nothing in it is ever plaintext.
final class BackupWorkspace {
    /// The file that is made: absolute, its directory without links.
    let target: URL

    private let path: String
    private let descriptor: Int32

    /// Makes the directory, or takes over that of a killed call.
    ///
    /// - Throws: `.inUse` when another call or process makes the same file.
    init(for url: URL) throws {
        let name = url.lastPathComponent
        guard url.isFileURL, !["", "/", ".", ".."].contains(name), !url.path.utf8.contains(0) else {
            throw VaultBackupError.fileFailed(
                reason: "\(KeyStoreError.quoted(url.path)) is no path of a file")
        }
        let parent = url.deletingLastPathComponent().path
        guard let resolved = realpath(parent, nil) else {
            throw BackupFile.failure(errno, "find the directory", parent)
        }
        defer { free(resolved) }
        let directory = URL(fileURLWithPath: String(cString: resolved), isDirectory: true)
        target = directory.appendingPathComponent(name)
        // A hash: the name itself may be as long as a name can be.
        let hash = SHA256.hash(data: Data(name.utf8)).prefix(8)
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        path = directory.appendingPathComponent(".securestorage-vault-\(hash)").path
        descriptor = try Self.open(path, target.path)
        try empty()
    }

    deinit {
        try? empty()
        // Before the lock goes: who waits for a lock on a removed directory notices.
        rmdir(path)
        // A child that was forked meanwhile has the descriptor too, and would keep the lock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// A place in the directory.
    func url(_ name: String) -> URL { URL(fileURLWithPath: path).appendingPathComponent(name) }

    /// Removes all files.
    func empty() throws {
        // By the descriptor: what has taken the directory's name is none of ours.
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0, let list = fdopendir(copy) else {
            throw BackupFile.failure(errno, "look into", path)
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

    /// Refuses early what `publish` would refuse.
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
            // A link is refused where there is a file, a rename replaces it.
            if link(draft, target.path) == 0 {
                unlink(draft)
            } else {
                switch errno {
                case EEXIST: throw isTaken
                case EPERM, ENOTSUP, EMLINK:
                    // No hard links here; nobody of ours comes in between.
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
        guard parent >= 0 else { return }  // a directory that may be searched, not read
        _ = cplatform_sync(parent)  // some file systems cannot; then there is nothing to be done
        close(parent)
    }

    private var isTaken: VaultBackupError {
        .taken(reason: "there is something at \(KeyStoreError.quoted(target.path))")
    }

    private static func open(_ path: String, _ target: String) throws -> Int32 {
        for _ in 1...100 {
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw BackupFile.failure(errno, "make the directory", path)
            }
            let descriptor = Foundation.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else {
                // Removed meanwhile by whoever has used it.
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
