internal import Foundation

/// The file of an open database, to be asked whether it is still there.
///
/// A process that destroys a vault removes the name. Who has the file open could go on as if
/// nothing had happened: so each use of a vault asks first.
final class VaultFile: Sendable {
    private let path: String
    private let identity: (device: dev_t, inode: ino_t)

    #if os(Linux)
        // O_PATH: three times as fast to ask as the path; and closing it drops no lock of SQLite's,
        // as closing another descriptor of the file would (open(2), fcntl(2)).
        private let descriptor: Int32
        /// As in asm-generic/fcntl.h; glibc shows it to programs in C only that ask for its
        /// extensions.
        private static let openPath: Int32 = 0o10_000_000
    #endif

    /// nil when there is no such file.
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

    /// Whether the file has a name, be it another one.
    var isThere: Bool {
        #if os(Linux)
            var status = stat()
            return fstat(descriptor, &status) == 0 && status.st_nlink > 0
        #else
            return isInPlace
        #endif
    }

    /// Whether the file has its own name.
    var isInPlace: Bool {
        guard let status = Self.status(path) else { return false }
        return (status.st_dev, status.st_ino) == identity
    }

    /// What is at a path, and be it a link; nil for nothing.
    static func status(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }
}
