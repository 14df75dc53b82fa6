internal import CSecureStoragePlatform
internal import Foundation
internal import SecureStoragePlatform

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
    private let descriptor: Descriptor
    /// Whether the file currently has the hidden name.
    private var isHidden: Bool {
        didSet { RemovedOnSignal.path = isHidden ? strdup(hidden.path) : nil }
    }

    /// Whether a path has anything, also a link that leads nowhere.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// - Parameters:
    ///   - path: The name of the file.
    ///   - replaces: Whether an existing file may be replaced.
    /// - Throws: when a file exists that may not be replaced, or none can be created.
    init(_ path: String, replaces: Bool) throws {
        self.path = path
        self.replaces = replaces
        guard replaces || !Self.exists(path) else { throw Failure.exists(path) }
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
        output = Output(descriptor: descriptor.number)
        // The initializer does not trigger the property's observer.
        RemovedOnSignal.path = isHidden ? strdup(hidden.path) : nil
    }

    deinit {
        // Unlink first: no other export may lock a file that is about to be removed.
        if isHidden { unlink(hidden.path) }
        RemovedOnSignal.path = nil
    }

    /// Writes everything to the disk and gives the file its name.
    func finish() throws {
        try output.flush()
        do {
            try descriptor.sync()
            if isHidden || replaces {
                // A hard link never replaces a file, so an unnamed one gets the hidden name first.
                if !isHidden { try hidden.take(descriptor) { try link(to: hidden.path) } }
                isHidden = true
                try AtomicFile.rename(hidden.path, to: path, replacing: replaces)
                isHidden = false
            } else {
                try link(to: path)
                AtomicFile.syncDirectory(hidden.directory)
            }
        } catch let error as SystemError {
            guard replaces || error.code != EEXIST else { throw Failure.exists(path) }
            throw Failure("\"\(path)\": cannot \(error.action) it: \(error.reason)", .access)
        }
    }

    /// Gives the unnamed file a name.
    private func link(to name: String) throws {
        let own = "/proc/self/fd/\(descriptor.number)"
        guard linkat(AT_FDCWD, own, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 else {
            throw SystemError("create")
        }
    }

    /// Opens an unnamed file that disappears with its process; returns nil where this is
    /// unsupported.
    private static func openUnnamed(in directory: String) -> Descriptor? {
        let number = cplatform_open_unnamed(directory, 0o600)
        guard number >= 0 else { return nil }
        let descriptor = Descriptor(owning: number)
        var status = stat()
        // The file gets its name through /proc.
        guard fchmod(number, 0o600) == 0, stat("/proc/self/fd/\(number)", &status) == 0 else {
            return nil
        }
        return descriptor
    }

}

/// The name of a new file until it gets its final one: hidden, in the same directory, and constant.
///
/// A process that writes a file of this name holds a lock on it, which ends with the process. An
/// unlocked file of this name was thus left by a kill.
private struct HiddenName {
    let path: String
    let directory: String
    /// What the user calls the file.
    private let target: String

    init(of path: String) {
        target = path
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
        do {
            let file = try Descriptor(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            // The name may belong to another file by now, whose writer holds a lock on that file.
            guard try file.lock(), file.isNamed(path) else { return false }
            guard unlink(path) == 0 || errno == ENOENT else { throw SystemError("remove") }
        } catch let error as SystemError {
            guard error.code != ENOENT else { return true }
            throw Failure(
                "\"\(path)\", which an earlier export left behind, cannot be removed: "
                    + error.reason)
        }
        return true
    }

    /// Creates an empty file of the name and locks it.
    func makeFile() throws -> Descriptor {
        try whenFree {
            let file = try Descriptor(creating: path)
            // Before it is locked, another export may mistake it for that of a killed one.
            guard try file.lock(), file.isNamed(path) else {
                throw SystemError("create", code: EEXIST)
            }
            return file
        }
    }

    /// Gives the name to a complete file by calling `link`.
    func take(_ descriptor: Descriptor, _ link: () throws -> Void) throws {
        guard try descriptor.lock() else { throw Failure("the new file cannot be locked", .access) }
        try whenFree(link)
    }

    /// Runs `take` as soon as no other file has the name.
    private func whenFree<R>(_ take: () throws -> R) throws -> R {
        let end = ContinuousClock.now + .seconds(5)
        while true {
            do {
                return try take()
            } catch let error as SystemError {
                guard error.code == EEXIST else {
                    throw Failure("\"\(target)\" cannot be created: \(error.reason)", .access)
                }
            }
            if try clear() { continue }
            guard ContinuousClock.now < end else {
                throw Failure("another export is writing the same file; try again later", .busy)
            }
            usleep(2000)
        }
    }
}
