internal import CPlatform
internal import Foundation

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The file of a database as the file system sees it: whether it can be opened, and how it is made.
///
/// A database file is never opened and closed here: closing any descriptor of a file drops the POSIX
/// locks that this process holds on it, those of SQLite's connections among them.
struct DatabaseFile {
    /// Absolute, its directory without links.
    let path: String

    /// What stands at the path.
    enum State: Equatable {
        case missing
        case present
    }

    /// Names the file at `url`; its directory must exist or be creatable with one step.
    ///
    /// - Throws: `.openFailed` when it cannot be.
    init(at url: URL, creatingDirectory: Bool) throws {
        let name = url.lastPathComponent
        guard !name.isEmpty, name != "/", name != "..", name != "."
        else { throw Self.failure(url.path, "that is no path of a file") }
        let directory = url.deletingLastPathComponent().path
        if creatingDirectory, access(directory, F_OK) != 0, mkdir(directory, 0o700) != 0,
            errno != EEXIST
        {
            throw Self.failure(
                url.path,
                "its directory cannot be made: \(Self.reason(errno))"
                    + (errno == ENOENT ? "; make the directory's parent first" : ""))
        }
        guard let resolved = realpath(directory, nil) else {
            throw Self.failure(url.path, "its directory: \(Self.reason(errno))")
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
        guard status.st_nlink == 1 else {
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

    // MARK: - Making a new one

    /// Side files that SQLite keeps beside a database.
    static let sideFileSuffixes = ["-wal", "-shm", "-journal"]

    /// Makes an empty file (mode 0600) beside this one, to be filled and then published under this
    /// name: a kill before that leaves nothing under this name.
    func makeDraft() throws -> DatabaseFile {
        for suffix in Self.sideFileSuffixes where access(path + suffix, F_OK) == 0 {
            // SQLite would apply it to the new file, or delete what may be the last copy of data.
            throw failure(
                "the file is missing but its side file \(suffix) exists; bring the file back, or "
                    + "remove the side file to start anew")
        }
        removeStaleDrafts()
        let draft = DatabaseFile(
            resolvedPath: "\(directoryPath)/\(Self.draftPrefix)\(getpid())-\(UUID().uuidString)")
        // SQLite gives its side files the mode of the file.
        let descriptor = Self.createExclusively(draft.path)
        guard descriptor >= 0 else { throw failure("it cannot be made: \(Self.reason(errno))") }
        _ = fchmod(descriptor, 0o600)  // whatever the umask took away
        _ = close(descriptor)
        return draft
    }

    /// Gives the draft, which is closed and complete, this file's name.
    ///
    /// - Returns: false when somebody else has made a file of this name meanwhile; it is untouched.
    func publish(_ draft: DatabaseFile) throws -> Bool {
        guard cplatform_rename_exclusive(draft.path, path) == 0 else {
            guard errno == EEXIST else { throw failure("it cannot be made: \(Self.reason(errno))") }
            return false
        }
        // The name itself is durable only when its directory is.
        let directory = open(directoryPath, O_RDONLY | O_CLOEXEC)
        if directory >= 0 {
            _ = fsync(directory)  // some file systems cannot; then there is nothing to be done
            _ = close(directory)
        }
        return true
    }

    /// Whether a draft holds everything in itself, nothing in a side file.
    func isComplete() -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_size > 1
            && !["-wal", "-journal"].contains { access(path + $0, F_OK) == 0 }
    }

    /// Removes a draft with its side files.
    func removeDraft() {
        for suffix in [""] + Self.sideFileSuffixes { _ = unlink(path + suffix) }
    }

    /// Removes drafts that a killed process left: its process is gone and they are an hour old.
    private func removeStaleDrafts() {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directoryPath)) ?? []
        for name in names where name.hasPrefix(Self.draftPrefix) {
            let draft = DatabaseFile(resolvedPath: directoryPath + "/" + name)
            let process = name.dropFirst(Self.draftPrefix.count).prefix { $0.isNumber }
            var status = stat()
            guard let process = pid_t(process), kill(process, 0) != 0, errno == ESRCH,
                lstat(draft.path, &status) == 0,
                Date().timeIntervalSince1970 - Double(status.modificationSeconds) > 3600
            else { continue }
            _ = unlink(draft.path)
        }
    }

    private init(resolvedPath: String) { path = resolvedPath }

    private var directoryPath: String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }

    /// Without the database's name, which may be as long as a name can be.
    private static let draftPrefix = ".securestorage-draft-"

    private static func createExclusively(_ path: String) -> Int32 {
        open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    }

    // MARK: - Errors

    private static func reason(_ code: Int32) -> String {
        String(cString: strerror(code))
    }

    private func failure(_ reason: String) -> SecureStorageError {
        Self.failure(path, reason)
    }

    private static func failure(_ path: String, _ reason: String) -> SecureStorageError {
        .openFailed(
            code: Int(ResultCode.cannotOpen.rawValue), message: "cannot open \"\(path)\": \(reason)"
        )
    }
}

extension stat {
    fileprivate var modificationSeconds: Int {
        #if canImport(Darwin)
            st_mtimespec.tv_sec
        #else
            st_mtim.tv_sec
        #endif
    }
}
