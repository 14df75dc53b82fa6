internal import CSecureStoragePlatform
internal import Foundation
internal import SecureStoragePlatform

/// The state of a database file that this process may read but whose sidecar files it cannot create
/// or remove, be it for a full disk, and that no connection has open: SQLite then reads it as
/// immutable, without locks.
///
/// Otherwise a file in WAL mode is unreadable (SQLite needs its index, `-shm`), or sidecar files
/// owned by the wrong user are left behind. Data read from the file is valid only while the stamp
/// is current.
struct FileStamp: Equatable {
    private let path: String
    private let inode: UInt64
    private let size: Int64
    private let modified: [Int64]

    /// Returns the stamp of such a file, or nil for any other, which is opened normally.
    static func ofUntouchable(
        _ path: String, _ configuration: SecureDatabaseConfiguration
    ) -> FileStamp? {
        guard configuration.isReadOnly,
            configuration.use == .readingOnFullDisk || access(path, W_OK) != 0
                || access(DatabaseFile(resolvedPath: path).directoryPath, W_OK) != 0
        else { return nil }
        return FileStamp(path)
    }

    /// nil if the file does not exist, or has a log or a journal: a connection has it open or has
    /// left them behind.
    private init?(_ path: String) {
        var status = stat()
        guard access(path + "-wal", F_OK) != 0, access(path + "-journal", F_OK) != 0,
            lstat(path, &status) == 0
        else { return nil }
        self.path = path
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        var modified: [Int64] = [0, 0]
        cplatform_modified(&status, &modified)
        self.modified = modified
    }

    /// Whether the file is unchanged.
    func isCurrent() -> Bool { FileStamp(path) == self }

    /// Returns a name for `sqlite3_open_v2` with which SQLite takes no locks and creates no
    /// sidecar files.
    static func immutableURI(_ path: String) -> String {
        // Escape every byte, so that none has a special meaning in the URI.
        let escaped = path.utf8.map { "%" + Hex.text([$0]) }
        return "file:\(escaped.joined())?immutable=1"
    }
}
