internal import CSecureStoragePlatform
internal import Foundation

/// The file of an open database, for checking whether it still exists.
///
/// A process that destroys a vault removes the name. Another process with the file open could
/// continue as if nothing had happened, so each use of a vault checks first.
final class VaultFile: Sendable {
    private let path: String
    private let identity: (device: dev_t, inode: ino_t)

    // Where the system has it, checking is three times as fast as by path. Closing it releases none
    // of SQLite's locks, as closing another descriptor of the file would (open(2), fcntl(2)).
    private let descriptor: Int32

    /// nil if no such file exists.
    init?(_ path: String) {
        self.path = path
        guard let status = Self.status(path) else { return nil }
        identity = (status.st_dev, status.st_ino)
        descriptor = cplatform_open_name(path)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Whether the file has a name, even a different one.
    var isThere: Bool {
        guard descriptor >= 0 else { return isInPlace }
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink > 0
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
