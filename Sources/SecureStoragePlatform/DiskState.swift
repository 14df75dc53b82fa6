internal import Foundation

/// Whether files of a directory can be written.
package enum DiskState {
    /// Returns whether a directory's file system is read-only, or too full for the smallest files,
    /// or its permissions refuse this process.
    package static func refusesWrites(inDirectory path: String) -> Bool {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return access(path, W_OK) != 0 }
        // Enough for the log and its index.
        let needed: UInt64 = 128 << 10
        return access(path, W_OK) != 0
            || UInt64(space.f_bavail) * UInt64(space.f_frsize) < needed
    }
}
