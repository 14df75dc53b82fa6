internal import CPlatform
internal import Foundation

/// A new file that gets its name only when it is complete, with mode 0600.
///
/// Exported data is not encrypted, so a kill must not leave it behind. Where the system supports
/// unnamed files, the file has no name until it is complete; elsewhere it has a hidden name, which
/// the next export to the same name clears.
final class OutputFile {
    let output: Output
    private let path: String
    private let replaces: Bool
    private let hidden: HiddenName
    private let descriptor: Int32
    /// Whether the file currently has the hidden name.
    private var isHidden: Bool {
        didSet { RemovedOnSignal.path = isHidden ? strdup(hidden.path) : nil }
    }

    /// - Parameters:
    ///   - path: The name of the file.
    ///   - replaces: Whether an existing file may be replaced.
    /// - Throws: when a file exists that may not be replaced, or none can be created.
    init(_ path: String, replaces: Bool) throws {
        self.path = path
        self.replaces = replaces
        var status = stat()
        if !replaces, lstat(path, &status) == 0 { throw Self.exists(path) }
        hidden = HiddenName(of: path)
        // Left by a killed export; a running one has another file.
        _ = try hidden.clear()
        if let unnamed = Self.openUnnamed(in: hidden.directory) {
            descriptor = unnamed
            isHidden = false
        } else {
            descriptor = try hidden.makeFile()
            isHidden = true
        }
        output = Output(descriptor: descriptor)
        // The initializer does not trigger the property's observer.
        RemovedOnSignal.path = isHidden ? strdup(hidden.path) : nil
    }

    deinit {
        // Unlink first: no other export may lock a draft that is about to be removed.
        if isHidden { unlink(hidden.path) }
        close(descriptor)
        RemovedOnSignal.path = nil
    }

    /// Writes everything to the disk and gives the file its name.
    func finish() throws {
        try output.flush()
        guard fsync(descriptor) == 0 else { throw Failure.system("\"\(path)\" cannot be written") }
        if replaces {
            if !isHidden {
                // A hard link never replaces a file, so the file is linked to the hidden name
                // first.
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
        // Where a directory cannot be synced, the system writes it at some later time.
        _ = fsync(directory)
        close(directory)
    }

    /// Gives the file its name, unless another file has it by now.
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
            else { throw Failure.system("\"\(path)\" cannot be created") }
            isHidden = false
        default: throw Failure.system("\"\(path)\" cannot be created")
        }
    }

    private func link(to name: String) -> Bool {
        guard !isHidden else { return Foundation.link(hidden.path, name) == 0 }
        return linkat(
            AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0
    }

    /// Opens an unnamed file that disappears with its process; returns nil where this is
    /// unsupported.
    private static func openUnnamed(in directory: String) -> Int32? {
        let descriptor = cplatform_open_unnamed(directory, 0o600)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        // The file gets its name through /proc.
        guard fchmod(descriptor, 0o600) == 0, stat("/proc/self/fd/\(descriptor)", &status) == 0
        else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    private static func exists(_ path: String) -> Failure {
        Failure("\"\(path)\" already exists", hint: "use --force to replace it")
    }
}

/// The name of a new file until it gets its final one: hidden, in the same directory, and constant.
///
/// A process that writes a file of this name holds a lock on it, which ends with the process. An
/// unlocked file of this name was thus left by a kill.
private struct HiddenName {
    let path: String
    let directory: String

    init(of path: String) {
        let url = URL(fileURLWithPath: path)
        directory = url.deletingLastPathComponent().path
        // A hash (FNV-1a), because the name itself may already have the maximum length.
        let hash = url.lastPathComponent.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        self.path = "\(directory)/.securestorage-\(String(hash, radix: 16)).export"
    }

    /// Removes the file that a killed export has left.
    ///
    /// - Returns: False when another process is writing it now.
    func clear() throws -> Bool {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno != ENOENT else { return true }
            throw Failure.system(
                "\"\(path)\", which an earlier export left behind, cannot be removed")
        }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
        // The name may belong to another file by now, whose writer holds a lock on that file.
        guard has(descriptor) else { return false }
        guard unlink(path) == 0 || errno == ENOENT else {
            throw Failure.system(
                "\"\(path)\", which an earlier export left behind, cannot be removed")
        }
        return true
    }

    /// Creates an empty file of the name and locks it.
    func makeFile() throws -> Int32 {
        var made: Int32 = -1
        try waitUntilFree {
            made = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard made >= 0 else { return false }
            // Before it is locked, another export may mistake it for that of a killed one.
            guard flock(made, LOCK_EX | LOCK_NB) == 0, has(made) else {
                close(made)
                errno = EEXIST
                return false
            }
            return true
        }
        return made
    }

    /// Gives the name to a complete file by calling `link`.
    func take(_ descriptor: Int32, _ link: () -> Bool) throws {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw Failure.system("the new file cannot be locked")
        }
        try waitUntilFree(link)
    }

    private func waitUntilFree(_ take: () -> Bool) throws {
        let end = ContinuousClock.now + .seconds(5)
        while !take() {
            guard errno == EEXIST else { throw Failure.system("\"\(path)\" cannot be created") }
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
