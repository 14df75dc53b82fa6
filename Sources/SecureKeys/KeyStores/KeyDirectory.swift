internal import Foundation
internal import SecureStoragePlatform

/// The open directory of a ``FileKeyStore`` during one call; files are opened relative to it, not
/// by path.
final class KeyDirectory {
    private static let draftPrefix = ".new-"
    /// The time that a call waits for other processes.
    private static let patience: Duration = .seconds(10)

    private let descriptor: Descriptor
    private let lock: LockFile?
    private let path: String
    private let access: FileAccess
    private let status: stat

    /// Opens the directory, and refuses one in which others could create or read files.
    ///
    /// With `isLocked`, other writers are excluded. The lock is the kernel's (`flock` on the
    /// directory): it is released with this object or when the process dies.
    init(_ path: String, for access: FileAccess, isLocked: Bool) throws {
        self.path = path
        self.access = access
        do {
            if isLocked {
                lock = try LockFile.take(path, patience: Self.patience) {
                    try Self.open(path, for: access)
                }
                guard lock != nil else {
                    throw KeyStoreError.unavailable(
                        reason: "another process has been holding the lock on \"\(path)\"")
                }
            } else {
                lock = nil
            }
            descriptor = try lock?.descriptor ?? Self.open(path, for: access)
            status = try descriptor.status()
        } catch let error as SystemError {
            throw Self.failure(error.code, "\(error.action) the directory", path)
        }
    }

    private static func open(_ path: String, for access: FileAccess) throws -> Descriptor {
        let directory = try Descriptor(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        if let objection = try access.objection(toDirectory: directory.status()) {
            throw KeyStoreError.refused(reason: "the directory \"\(path)\" \(objection)")
        }
        return directory
    }

    /// Creates the directory with mode 0700 if the path does not exist.
    static func create(_ path: String) throws {
        guard mkdir(path, 0o700) == 0 else {
            guard errno == EEXIST else { throw failure(errno, "create the directory", path) }
            return
        }
        // A umask may also remove rights of the owner.
        guard chmod(path, 0o700) == 0 else { throw failure(errno, "create the directory", path) }
        do {
            try Descriptor(path + "/..", O_RDONLY | O_DIRECTORY).sync()
        } catch let error as SystemError where error.action == "open" {
            // A parent that may be searched, not read.
        } catch let error as SystemError {
            throw failure(error.code, "sync the parent of", path)
        }
    }

    // MARK: - Reading

    /// Returns whether a file exists, and refuses anything that this store would not have created.
    func contains(_ fileName: String) throws -> Bool {
        var status = stat()
        guard fstatat(descriptor.number, fileName, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            guard errno == ENOENT else { throw failure(errno, "examine", fileName) }
            return false
        }
        try check(status, fileName)
        return true
    }

    /// Returns up to `maximum` bytes of a file and its size, or nil when it does not exist.
    func read(_ fileName: String, maximum: Int) throws -> (bytes: SecretBytes, size: Int)? {
        do {
            // O_NONBLOCK: opening a FIFO would wait for a writer before it could be refused.
            let file = try Descriptor(
                fileName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, in: descriptor)
            let status = try file.status()
            try check(status, fileName)
            let size = Int(status.st_size)
            let bytes = try SecretBytes(count: min(size, maximum)) { buffer in
                // If the file has been truncated, the rest stays zero, which the checksum detects.
                _ = try file.read(into: buffer, at: 0)
            }
            return (bytes, size)
        } catch let error as SystemError {
            guard error.code == ENOENT else { throw failure(error, fileName) }
            return nil
        }
    }

    /// Returns the names of all files.
    func fileNames() throws -> [String] {
        // A separate descriptor, because the read position in the directory belongs to the
        // descriptor.
        let copy = openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { throw failure(errno, "list", ".") }
        guard let stream = fdopendir(copy) else {
            defer { close(copy) }
            throw failure(errno, "list", ".")
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            names.append(name)
        }
        guard errno == 0 else { throw failure(errno, "list", ".") }
        return names
    }

    private func check(_ status: stat, _ fileName: String) throws {
        let reason: String? =
            switch status.st_mode & S_IFMT {
            // A link count of 0 is valid: the file was replaced or removed after it was opened.
            case S_IFREG where status.st_nlink > 1: "has a second hard link"
            case S_IFREG: access.objection(toFile: status, in: self.status)
            case S_IFLNK: "is a symbolic link"
            default: "is not a regular file"
            }
        guard let reason else { return }
        throw KeyStoreError.refused(
            reason:
                "\"\(path)/\(fileName)\" \(reason), which this store never creates; find out what did"
        )
    }

    // MARK: - Writing, with the lock

    /// Replaces the contents of `fileName` atomically.
    func write(_ contents: SecretBytes, as fileName: String) throws {
        let draft = Self.draftPrefix + UUID().uuidString.lowercased()
        do {
            try contents.withUnsafeBytes {
                try AtomicFile.write(
                    $0, as: fileName, draft: draft, in: descriptor, mode: access.fileMode)
            }
        } catch let error as SystemError {
            throw failure(error, draft)
        }
        try sync()
    }

    /// Removes any file but a directory; returns false when it does not exist.
    func remove(_ fileName: String) throws -> Bool {
        guard unlinkat(descriptor.number, fileName, 0) == 0 else {
            guard errno == ENOENT else { throw failure(errno, "remove", fileName) }
            return false
        }
        try sync()
        return true
    }

    /// Removes the temporary files of killed writers; the caller holds the lock, so no other writer
    /// is active.
    func removeDrafts() throws {
        for name in try fileNames() where name.hasPrefix(Self.draftPrefix) {
            guard unlinkat(descriptor.number, name, 0) == 0 || errno == ENOENT else {
                throw failure(errno, "remove", name)
            }
        }
    }

    private func sync() throws {
        do {
            try descriptor.sync()
        } catch let error as SystemError {
            throw Self.failure(error.code, "sync", path)
        }
    }

    // MARK: - Errors

    private func failure(_ error: SystemError, _ fileName: String) -> KeyStoreError {
        failure(error.code, error.action, fileName)
    }

    private func failure(_ code: Int32, _ action: String, _ fileName: String) -> KeyStoreError {
        Self.failure(code, action, "\(path)/\(fileName)")
    }

    private static func failure(_ code: Int32, _ action: String, _ path: String) -> KeyStoreError {
        let reason = "cannot \(action) \"\(path)\": \(String(cString: strerror(code)))"
        return switch code {
        case EACCES, EPERM, EROFS, ELOOP, ENOTDIR, EISDIR, ENAMETOOLONG, EINVAL, ENXIO:
            .refused(reason: reason)
        case ENOSPC, EDQUOT: .unavailable(reason: reason + "; free some space")
        default: .unavailable(reason: reason)
        }
    }
}
