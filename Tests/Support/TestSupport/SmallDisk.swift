package import Foundation

#if os(Linux)
    /// A file system of a few hundred kilobytes in memory, mounted for the lifetime of the
    /// instance.
    package final class SmallDisk: Sendable {
        package let directory: URL

        /// Only root may mount, and not in every container.
        package static let isAvailable = (try? SmallDisk(kilobytes: 64)) != nil

        package init(kilobytes: Int) throws {
            directory = FileManager.default.temporaryDirectory
                .appendingPathComponent("SecureStorageTests-disk-\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: false)
            let mount = try ChildProcess(
                "mount", ["-t", "tmpfs", "-o", "size=\(kilobytes)k", "tmpfs", directory.path])
            guard mount.status == 0 else {
                try FileManager.default.removeItem(at: directory)
                throw CocoaError(.featureUnsupported)
            }
        }

        deinit {
            // Lazily: a descriptor that is still open must not leave the mount in place.
            _ = try? ChildProcess("umount", ["-l", directory.path])
            rmdir(directory.path)
        }
    }

    /// Fills a directory's file system, except for a given number of bytes.
    ///
    /// For exit tests. A process that a test starts has a copy of every descriptor for a moment,
    /// which keeps the space of removed files allocated; other tests must not cause that.
    package struct Ballast {
        package let directory: String

        package init(directory: String) { self.directory = directory }

        package var path: String { directory + "/ballast" }

        /// Uses all remaining space except `spare` bytes.
        package func fill(leaving spare: Int = 0) throws {
            var space = statvfs()
            guard statvfs(directory, &space) == 0 else { throw CocoaError(.fileReadUnknown) }
            let size = max(Int(space.f_bavail) * Int(space.f_frsize) - spare, 0)
            try Data(repeating: 0, count: size).write(to: URL(fileURLWithPath: path))
        }

        package func remove() throws {
            try FileManager.default.removeItem(atPath: path)
        }
    }
#endif
