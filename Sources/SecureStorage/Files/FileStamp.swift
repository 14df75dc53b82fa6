internal import Foundation

/// The state of a database file that this process may read but whose side files it could not make
/// or remove, and that nobody has open: SQLite then reads it as immutable, without locks.
///
/// A file in WAL mode cannot be read otherwise (SQLite needs its index, `-shm`), or leaves side
/// files that belong to the wrong user. What was read is believed only while the file is as it was.
struct FileStamp: Equatable {
    private let path: String
    private let inode: UInt64
    private let size: Int64
    private let modified: [Int]

    /// The stamp of such a file; nil for every other, which is opened normally.
    static func ofUntouchable(
        _ path: String, _ configuration: SecureDatabaseConfiguration
    ) -> FileStamp? {
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard configuration.isReadOnly,
            access(path, W_OK) != 0 || access(directory, W_OK) != 0
        else { return nil }
        return FileStamp(path)
    }

    /// nil when the file is not there, or somebody has it open or has left a journal.
    private init?(_ path: String) {
        var status = stat()
        guard access(path + "-wal", F_OK) != 0, access(path + "-journal", F_OK) != 0,
            lstat(path, &status) == 0
        else { return nil }
        self.path = path
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        #if canImport(Darwin)
            modified = [status.st_mtimespec.tv_sec, status.st_mtimespec.tv_nsec]
        #else
            modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        #endif
    }

    /// Whether the file is still as it was.
    func isCurrent() -> Bool { FileStamp(path) == self }

    /// A name for `sqlite3_open_v2` with which SQLite takes no lock and makes no side file.
    static func immutableURI(_ path: String) -> String {
        // Byte by byte: nothing is left that a URI would read as its own.
        let escaped = path.utf8.map { byte in
            "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return "file:\(escaped.joined())?immutable=1"
    }
}
