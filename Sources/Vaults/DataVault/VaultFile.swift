internal import Foundation

/// The file of an open database, for checking whether it still exists.
///
/// A process that destroys a vault removes the name. Another process with the file open could
/// continue as if nothing had happened, so each use of a vault checks first.
final class VaultFile: Sendable {
    private let path: String
    private let identity: (device: dev_t, inode: ino_t)

    #if os(Linux)
        // O_PATH: checking is three times as fast as by path, and closing it releases none of
        // SQLite's locks, as closing another descriptor of the file would (open(2), fcntl(2)).
        private let descriptor: Int32
        /// As in asm-generic/fcntl.h; glibc defines it only for C programs that request its
        /// extensions.
        private static let openPath: Int32 = 0o10_000_000
    #endif

    /// nil if no such file exists.
    init?(_ path: String) {
        self.path = path
        guard let status = Self.status(path) else { return nil }
        identity = (status.st_dev, status.st_ino)
        #if os(Linux)
            descriptor = open(path, Self.openPath | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
        #endif
    }

    deinit {
        #if os(Linux)
            if descriptor >= 0 { close(descriptor) }
        #endif
    }

    /// Whether the file has a name, even a different one.
    var isThere: Bool {
        #if os(Linux)
            var status = stat()
            return fstat(descriptor, &status) == 0 && status.st_nlink > 0
        #else
            return isInPlace
        #endif
    }

    /// Whether the file still has its own name.
    var isInPlace: Bool {
        guard let status = Self.status(path) else { return false }
        return (status.st_dev, status.st_ino) == identity
    }

    /// Returns the status of the file at a path, without following a link; nil if nothing exists
    /// there.
    static func status(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }
}
