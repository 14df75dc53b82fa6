internal import CPlatform
internal import Foundation
internal import SecureStorage

/// The open directory of a ``FileKeyStore``, for one call: all names are looked up in it, not by
/// path.
final class KeyDirectory {
    private static let draftPrefix = ".new-"
    /// How long a call waits for those of other processes.
    private static let patience: Duration = .seconds(10)

    private let descriptor: Int32
    private let path: String
    private let access: FileAccess
    private let status: stat

    /// Opens the directory, and refuses one in which others could put or read files.
    ///
    /// With `isLocked` all others are kept out who change something. The lock is the kernel's
    /// (`flock` on the directory): it goes with this object, and with a process that dies.
    init(_ path: String, for access: FileAccess, isLocked: Bool) throws {
        self.path = path
        self.access = access
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(errno, "open the directory", path) }
        var status = stat()
        let hasStatus = fstat(descriptor, &status) == 0
        self.status = status
        guard hasStatus else { throw Self.failure(errno, "look at the directory", path) }
        if let objection = access.objection(toDirectory: status) {
            throw KeyStoreError.refused(reason: "the directory \"\(path)\" \(objection)")
        }
        if isLocked { try lock() }
    }

    deinit {
        guard descriptor >= 0 else { return }
        // A child that was forked meanwhile has the descriptor too, and would keep the lock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Makes the directory with mode 0700 when there is nothing of its name.
    static func create(_ path: String) throws {
        guard mkdir(path, 0o700) == 0 else {
            guard errno == EEXIST else { throw failure(errno, "make the directory", path) }
            return
        }
        // A umask may take more away than others' rights.
        guard chmod(path, 0o700) == 0 else { throw failure(errno, "make the directory", path) }
        let parent = open(path + "/..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { return }  // a parent that may be searched, not read
        defer { close(parent) }
        guard cplatform_sync(parent) == 0 else { throw failure(errno, "sync the parent of", path) }
    }

    // MARK: - Reading

    /// Whether there is a file; refuses anything that this store does not make.
    func contains(_ fileName: String) throws -> Bool {
        var status = stat()
        guard fstatat(descriptor, fileName, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            guard errno == ENOENT else { throw failure(errno, "look at", fileName) }
            return false
        }
        try check(status, fileName)
        return true
    }

    /// The first bytes of a file, up to `maximum`, and its size; nil when there is none.
    func read(_ fileName: String, maximum: Int) throws -> (bytes: SecretBytes, size: Int)? {
        // O_NONBLOCK: a FIFO would wait for a writer before it can be refused.
        let file = openat(
            descriptor, fileName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            guard errno == ENOENT else { throw failure(errno, "open", fileName) }
            return nil
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw failure(errno, "look at", fileName) }
        try check(status, fileName)
        let size = Int(status.st_size)
        let bytes = try SecretBytes(count: min(size, maximum)) { buffer in
            var done = 0
            while done < buffer.count {
                let count = pread(
                    file, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(done))
                // A file that has become shorter is left as zeros, which the checksum finds.
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

    /// The names of all files.
    func fileNames() throws -> [String] {
        // A descriptor of its own: the position in the directory is the descriptor's.
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
            // None is fine: it was replaced or removed after it had been opened.
            case S_IFREG where status.st_nlink > 1: "has a second name, a hard link"
            case S_IFREG: access.objection(toFile: status, in: self.status)
            case S_IFLNK: "is a symbolic link"
            default: "is no file"
            }
        guard let reason else { return }
        throw KeyStoreError.refused(
            reason:
                "\"\(path)/\(fileName)\" \(reason), which this store never makes; find out who did")
    }

    // MARK: - Writing, with the lock

    /// Gives `fileName` new contents, all at once.
    func write(_ contents: SecretBytes, as fileName: String) throws {
        let draft = Self.draftPrefix + UUID().uuidString.lowercased()
        let file = openat(
            descriptor, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(errno, "make", draft) }
        do {
            defer { close(file) }
            // The group's rights come now, and what the umask has taken away.
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

    /// Removes a name, whatever it stands for but a directory; false when there is none.
    func remove(_ fileName: String) throws -> Bool {
        guard unlinkat(descriptor, fileName, 0) == 0 else {
            guard errno == ENOENT else { throw failure(errno, "remove", fileName) }
            return false
        }
        try sync()
        return true
    }

    /// Removes what a writer has left behind that was killed: with the lock there is no other one.
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
