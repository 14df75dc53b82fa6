internal import Foundation

/// A new file that takes its name when it is complete, with mode 0600.
///
/// What is exported is not encrypted, so a kill must not leave it. Until it is complete the file
/// has no name at all where the system has such files, and else a hidden one that the next export
/// of the same name clears.
final class OutputFile {
    let output: Output
    private let path: String
    private let replaces: Bool
    private let hidden: HiddenName
    private let descriptor: Int32
    /// Whether the file has the hidden name.
    private var isHidden: Bool {
        didSet { RemovedOnSignal.path = isHidden ? strdup(hidden.path) : nil }
    }

    /// - Parameters:
    ///   - path: The name of the file.
    ///   - replaces: Whether a file of the name may go.
    /// - Throws: when there is one that may not go, or none can be made.
    init(_ path: String, replaces: Bool) throws {
        self.path = path
        self.replaces = replaces
        var status = stat()
        if !replaces, lstat(path, &status) == 0 { throw Self.exists(path) }
        hidden = HiddenName(of: path)
        // A killed export's; one that is running has another file.
        _ = try hidden.clear()
        if let unnamed = Self.openUnnamed(in: hidden.directory) {
            descriptor = unnamed
            isHidden = false
        } else {
            descriptor = try hidden.makeFile()
            isHidden = true
        }
        output = Output(descriptor: descriptor)
        // Not told to an observer of the property by the initializer.
        RemovedOnSignal.path = isHidden ? strdup(hidden.path) : nil
    }

    deinit {
        // The name first: nobody may lock a draft that is about to go.
        if isHidden { unlink(hidden.path) }
        close(descriptor)
        RemovedOnSignal.path = nil
    }

    /// Everything is on the disk, under its name, when it returns.
    func finish() throws {
        try output.flush()
        guard fsync(descriptor) == 0 else { throw Failure.system("\"\(path)\" cannot be written") }
        if replaces {
            if !isHidden {
                // A link never replaces a file, so it takes the hidden name first.
                try hidden.take(descriptor) { self.link(to: hidden.path) }
                isHidden = true
            }
            guard rename(hidden.path, path) == 0 else {
                throw Failure.system("\"\(path)\" cannot be replaced")
            }
            isHidden = false
        } else {
            try publish()
        }
        let directory = open(hidden.directory, O_RDONLY | O_CLOEXEC)
        // Where a directory cannot be synced, the system does it in its own time.
        _ = fsync(directory)
        close(directory)
    }

    /// Gives the file its name, unless another one has come to have it.
    private func publish() throws {
        if link(to: path) {
            guard isHidden else { return }
            unlink(hidden.path)
            isHidden = false
            return
        }
        switch errno {
        case EEXIST: throw Self.exists(path)
        // A file system without hard links.
        case EPERM, ENOTSUP, EMLINK:
            var status = stat()
            guard isHidden, lstat(path, &status) != 0, errno == ENOENT,
                rename(hidden.path, path) == 0
            else { throw Failure.system("\"\(path)\" cannot be made") }
            isHidden = false
        default: throw Failure.system("\"\(path)\" cannot be made")
        }
    }

    private func link(to name: String) -> Bool {
        guard !isHidden else { return Foundation.link(hidden.path, name) == 0 }
        return linkat(
            AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0
    }

    /// A file without a name, which goes with its process; nil where there are none.
    private static func openUnnamed(in directory: String) -> Int32? {
        #if os(Linux)
            // O_TMPFILE, which Swift does not import.
            let descriptor = open(directory, 0o20000000 | O_DIRECTORY | O_WRONLY | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return nil }
            var status = stat()
            // It gets its name through /proc.
            guard fchmod(descriptor, 0o600) == 0, stat("/proc/self/fd/\(descriptor)", &status) == 0
            else {
                close(descriptor)
                return nil
            }
            return descriptor
        #else
            return nil
        #endif
    }

    private static func exists(_ path: String) -> Failure {
        Failure("there is a \"\(path)\" already", hint: "--force replaces it")
    }
}

/// The name that a new file has until it takes its own: hidden, beside it, and always the same.
///
/// Whoever writes a file of the name holds a lock on it, which ends with the process. So what has
/// the name and no lock was left by a kill.
private struct HiddenName {
    let path: String
    let directory: String

    init(of path: String) {
        let url = URL(fileURLWithPath: path)
        directory = url.deletingLastPathComponent().path
        // A hash (FNV-1a): the name itself may be as long as a name can be.
        let hash = url.lastPathComponent.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        self.path = "\(directory)/.securestorage-\(String(hash, radix: 16)).export"
    }

    /// Removes what a killed export has left.
    ///
    /// - Returns: False when somebody is writing it now.
    func clear() throws -> Bool {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno != ENOENT else { return true }
            throw Failure.system("\"\(path)\", which an export has left, cannot be removed")
        }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
        // The name may be another file's by now, whose writer has a lock on that.
        guard has(descriptor) else { return false }
        guard unlink(path) == 0 || errno == ENOENT else {
            throw Failure.system("\"\(path)\", which an export has left, cannot be removed")
        }
        return true
    }

    /// Makes an empty file of the name, and locks it.
    func makeFile() throws -> Int32 {
        var made: Int32 = -1
        try waitUntilFree {
            made = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard made >= 0 else { return false }
            // Another one can take it for a killed export's before it is locked.
            guard flock(made, LOCK_EX | LOCK_NB) == 0, has(made) else {
                close(made)
                errno = EEXIST
                return false
            }
            return true
        }
        return made
    }

    /// Gives the name to a complete file with `link`.
    func take(_ descriptor: Int32, _ link: () -> Bool) throws {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw Failure.system("the new file cannot be locked")
        }
        try waitUntilFree(link)
    }

    private func waitUntilFree(_ take: () -> Bool) throws {
        let end = ContinuousClock.now + .seconds(5)
        while !take() {
            guard errno == EEXIST else { throw Failure.system("\"\(path)\" cannot be made") }
            if try clear() { continue }
            guard ContinuousClock.now < end else {
                throw Failure("another export is writing the same file; try again later")
            }
            usleep(2000)
        }
    }

    private func has(_ descriptor: Int32) -> Bool {
        var own = stat()
        var named = stat()
        return fstat(descriptor, &own) == 0 && lstat(path, &named) == 0
            && own.st_ino == named.st_ino && own.st_dev == named.st_dev
    }
}
