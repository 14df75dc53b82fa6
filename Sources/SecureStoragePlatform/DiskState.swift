internal import Foundation

/// Whether files of a directory can be written.
package enum DiskState {
    /// Returns whether a directory's file system is read-only, or too full for the smallest files,
    /// or its permissions refuse this process.
    package static func refusesWrites(inDirectory path: String) -> Bool {
        // Enough for a log and its index.
        access(path, W_OK) != 0 || !hasSpace(for: 128 << 10, inDirectory: path)
    }

    /// Returns whether a directory's file system has room for another file of a size; true if it
    /// does not tell.
    package static func hasSpace(for bytes: UInt64, inDirectory path: String) -> Bool {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return true }
        if space.f_files > 0, space.f_favail == 0 { return false }
        let (free, overflows) = UInt64(space.f_bavail)
            .multipliedReportingOverflow(by: UInt64(space.f_frsize))
        return overflows || free >= bytes
    }
}
