internal import CPlatform
internal import Foundation
internal import SecureStorage

/// The open directory of a ``FileKeyStore`` during one call; files are opened relative to it, not
/// by path.
final class KeyDirectory {
    private static let draftPrefix = ".new-"
    /// The time that a call waits for other processes.
    private static let patience: Duration = .seconds(10)

    private let descriptor: Int32
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
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(errno, "open the directory", path) }
        var status = stat()
        let hasStatus = fstat(descriptor, &status) == 0
        self.status = status
        guard hasStatus else { throw Self.failure(errno, "examine the directory", path) }
        if let objection = access.objection(toDirectory: status) {
            throw KeyStoreError.refused(reason: "the directory \"\(path)\" \(objection)")
        }
        if isLocked { try lock() }
    }

    deinit {
        guard descriptor >= 0 else { return }
        // A child forked in the meantime shares the descriptor and would keep the lock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Creates the directory with mode 0700 if the path does not exist.
    static func create(_ path: String) throws {
        guard mkdir(path, 0o700) == 0 else {
            guard errno == EEXIST else { throw failure(errno, "create the directory", path) }
            return
        }
        // A umask may also remove rights of the owner.
        guard chmod(path, 0o700) == 0 else { throw failure(errno, "create the directory", path) }
        let parent = open(path + "/..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { return }  // a parent that may be searched, not read
        defer { close(parent) }
        guard cplatform_sync(parent) == 0 else { throw failure(errno, "sync the parent of", path) }
    }

    // MARK: - Reading

    /// Returns whether a file exists, and refuses anything that this store would not have created.
    func contains(_ fileName: String) throws -> Bool {
        var status = stat()
        guard fstatat(descriptor, fileName, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            guard errno == ENOENT else { throw failure(errno, "examine", fileName) }
            return false
        }
        try check(status, fileName)
        return true
    }

    /// Returns up to `maximum` bytes of a file and its size, or nil when it does not exist.
    func read(_ fileName: String, maximum: Int) throws -> (bytes: SecretBytes, size: Int)? {
        // O_NONBLOCK: opening a FIFO would wait for a writer before it could be refused.
        let file = openat(
            descriptor, fileName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            guard errno == ENOENT else { throw failure(errno, "open", fileName) }
            return nil
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw failure(errno, "examine", fileName) }
        try check(status, fileName)
        let size = Int(status.st_size)
        let bytes = try SecretBytes(count: min(size, maximum)) { buffer in
            var done = 0
            while done < buffer.count {
                let count = pread(
                    file, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(done))
                // If the file has been truncated, the rest stays zero, which the checksum detects.
                if count == 0 { break }
                guard count > 0 else {
                    if errno == EINTR { continue }
                    throw failure(errno, "read", fileName)
                }
                done += count
            }
        }
        return (bytes, size)
    }

    /// Returns the names of all files.
    func fileNames() throws -> [String] {
        // A separate descriptor, because the read position in the directory belongs to the
        // descriptor.
        let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
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
        let file = openat(
            descriptor, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(errno, "make", draft) }
        do {
            defer { close(file) }
            // Grants the group's rights, and those of the owner that the umask removed.
            guard fchmod(file, access.fileMode) == 0 else { throw failure(errno, "make", draft) }
            try contents.withUnsafeBytes { bytes in
                var rest = bytes
                while !rest.isEmpty {
                    let count = Foundation.write(file, rest.baseAddress, rest.count)
                    guard count >= 0 else {
                        if errno == EINTR { continue }
                        throw failure(errno, "write", draft)
                    }
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                }
            }
            guard cplatform_sync(file) == 0 else { throw failure(errno, "sync", draft) }
            guard renameat(descriptor, draft, descriptor, fileName) == 0 else {
                throw failure(errno, "rename", draft)
            }
        } catch {
            unlinkat(descriptor, draft, 0)
            throw error
        }
        try sync()
    }

    /// Removes any file but a directory; returns false when it does not exist.
    func remove(_ fileName: String) throws -> Bool {
        guard unlinkat(descriptor, fileName, 0) == 0 else {
            guard errno == ENOENT else { throw failure(errno, "remove", fileName) }
            return false
        }
        try sync()
        return true
    }

    /// Removes the drafts of killed writers; the caller holds the lock, so no other writer is
    /// active.
    func removeDrafts() throws {
        for name in try fileNames() where name.hasPrefix(Self.draftPrefix) {
            guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
                throw failure(errno, "remove", name)
            }
        }
    }

    private func lock() throws {
        let start = ContinuousClock.now
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK:
                guard ContinuousClock.now - start < Self.patience else {
                    throw KeyStoreError.unavailable(
                        reason: "another process has been holding the lock on \"\(path)\"")
                }
                usleep(1000)
            default: throw Self.failure(errno, "lock", path)
            }
        }
    }

    private func sync() throws {
        guard cplatform_sync(descriptor) == 0 else { throw Self.failure(errno, "sync", path) }
    }

    // MARK: - Errors

    private func failure(_ code: Int32, _ action: String, _ fileName: String) -> KeyStoreError {
        Self.failure(code, action, "\(path)/\(fileName)")
    }

    private static func failure(_ code: Int32, _ action: String, _ path: String) -> KeyStoreError {
        let reason = "cannot \(action) \"\(path)\": \(String(cString: strerror(code)))"
        return switch code {
        case EACCES, EPERM, EROFS, ELOOP, ENOTDIR, EISDIR, ENAMETOOLONG, EINVAL, ENXIO:
            .refused(reason: reason)
        default: .unavailable(reason: reason)
        }
    }
}
