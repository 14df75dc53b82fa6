internal import Foundation

/// A database file at the file system level: whether it can be opened, and how it is created.
///
/// This type never opens and closes a database file: closing any of its descriptors drops all POSIX
/// locks that this process holds on it, including those of SQLite's connections.
struct DatabaseFile {
    /// The absolute path, with links in the directory resolved.
    let path: String
    /// The intended operation, named in messages.
    private let purpose: Purpose

    enum Purpose: String {
        case open, remove, move, write, measure
    }

    /// Whether a file exists at the path.
    enum State: Equatable {
        case missing
        case present
    }

    /// Locates the file at `url`; its directory must exist, or its parent if the directory is to be
    /// created.
    ///
    /// - Throws: `.openFailed` (for another purpose, `.backingStoreError`) if the URL or its
    ///   directory is unusable.
    init(at url: URL, creatingDirectory: Bool, for purpose: Purpose = .open) throws {
        self.purpose = purpose
        let name = url.lastPathComponent
        func failure(_ path: String, _ reason: String) -> SecureStorageError {
            Self.failure(purpose, path, reason)
        }
        guard !name.isEmpty, name != "/", name != "..", name != "."
        else { throw failure(url.path, "it is not a file path") }
        let directory = url.deletingLastPathComponent().path
        if creatingDirectory, access(directory, F_OK) != 0, mkdir(directory, 0o700) != 0,
            errno != EEXIST
        {
            throw failure(
                url.path,
                "its directory cannot be created: \(Self.reason(errno))"
                    + (errno == ENOENT ? "; create the directory's parent first" : ""))
        }
        guard let resolved = realpath(directory, nil) else {
            throw failure(url.path, "its directory: \(Self.reason(errno))")
        }
        defer { free(resolved) }
        let parent = String(cString: resolved)
        path = parent == "/" ? "/\(name)" : "\(parent)/\(name)"
    }

    /// Examines the file without opening it.
    ///
    /// - Throws: `.openFailed` (for another purpose, `.backingStoreError`) if the path holds
    ///   anything that cannot be a database: a directory, a link, a device, one of several hard
    ///   links, a file of 0 or 1 byte.
    func state() throws -> State {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            guard errno == ENOENT else { throw failure(Self.reason(errno)) }
            return .missing
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw failure("it is a directory")
        case S_IFLNK: throw failure("it is a symbolic link; open the file that it points to")
        default: throw failure("it is not a regular file")
        }
        guard status.st_nlink == 1 || finishPublication(status) || hasKeptName(status) else {
            throw failure(
                "it is one of \(status.st_nlink) hard links to a file; under another name its "
                    + "journal would not be found")
        }
        // The engine would treat it as a new database and accept any key.
        guard status.st_size > 1 else {
            throw failure(
                "it has \(status.st_size) bytes: it was truncated, or never was a database; restore "
                    + "it from a backup, or remove it to start over")
        }
        return .present
    }

    /// Returns the size in bytes.
    func size() throws -> Int {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw failure(Self.reason(errno)) }
        return Int(status.st_size)
    }

    init(resolvedPath: String) {
        path = resolvedPath
        purpose = .open
    }

    var directoryPath: String {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    /// Throws if no sidecar file could be created in the directory.
    func requireWritableDirectory() throws {
        guard access(directoryPath, W_OK) == 0 else {
            throw failure("its directory cannot be written: \(Self.reason(errno))")
        }
    }

    // MARK: - Errors

    static func reason(_ code: Int32) -> String {
        String(cString: strerror(code))
    }

    func failure(
        _ reason: String, _ code: ResultCode = .cannotOpen
    ) -> SecureStorageError {
        Self.failure(purpose, path, reason, code)
    }

    private static func failure(
        _ purpose: Purpose, _ path: String, _ reason: String, _ code: ResultCode = .cannotOpen
    ) -> SecureStorageError {
        let code = code.rawValue
        let message = "cannot \(purpose) \"\(path)\": \(reason)"
        return purpose == .open
            ? .openFailed(code: code, message: message)
            : .backingStoreError(code: code, message: message)
    }
}
