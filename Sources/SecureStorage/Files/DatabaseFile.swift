internal import Foundation

/// The file of a database as the file system sees it: whether it can be opened, and how it is made.
///
/// A database file is never opened and closed here: closing any descriptor of a file drops the
/// POSIX locks that this process holds on it, those of SQLite's connections among them.
struct DatabaseFile {
    /// Absolute, its directory without links.
    let path: String
    /// What is to be done with it, for the messages.
    private let purpose: Purpose

    enum Purpose: String {
        case open, remove, move, write, measure
    }

    /// What stands at the path.
    enum State: Equatable {
        case missing
        case present
    }

    /// Names the file at `url`; its directory must exist or be creatable with one step.
    ///
    /// - Throws: `.openFailed` when it cannot be, `.backingStoreError` for another purpose.
    init(at url: URL, creatingDirectory: Bool, for purpose: Purpose = .open) throws {
        self.purpose = purpose
        let name = url.lastPathComponent
        func failure(_ path: String, _ reason: String) -> SecureStorageError {
            Self.failure(purpose, path, reason)
        }
        guard !name.isEmpty, name != "/", name != "..", name != "."
        else { throw failure(url.path, "that is no path of a file") }
        let directory = url.deletingLastPathComponent().path
        if creatingDirectory, access(directory, F_OK) != 0, mkdir(directory, 0o700) != 0,
            errno != EEXIST
        {
            throw failure(
                url.path,
                "its directory cannot be made: \(Self.reason(errno))"
                    + (errno == ENOENT ? "; make the directory's parent first" : ""))
        }
        guard let resolved = realpath(directory, nil) else {
            throw failure(url.path, "its directory: \(Self.reason(errno))")
        }
        defer { free(resolved) }
        path = URL(fileURLWithPath: String(cString: resolved)).appendingPathComponent(name).path
    }

    /// Looks without opening.
    ///
    /// - Throws: `.openFailed` for what exists and cannot be a database: a directory, a link, a
    ///   device, a file of 0 or 1 byte.
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
        // The engine would take it for a new database and accept any key.
        guard status.st_size > 1 else {
            throw failure(
                "it has \(status.st_size) bytes: it was cut off, or never was a database; restore "
                    + "it from a backup, or remove it to start anew")
        }
        return .present
    }

    /// The size in bytes.
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
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }

    /// Refuses a directory in which no side file could be made.
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
