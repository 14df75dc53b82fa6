package import Foundation

/// Everything below a directory that an unwanted write would change.
package struct DirectorySnapshot: Equatable, CustomStringConvertible {
    package struct Entry: Equatable {
        package let type: mode_t
        package let mode: mode_t
        package let inode: UInt64
        /// Seconds and nanoseconds; empty for a directory, where temporary files may be created and
        /// removed.
        package let modified: [Int]
        /// The bytes of a file, or the target of a link.
        package let content: Data
    }

    package let entries: [String: Entry]

    package init(of directory: URL) throws {
        var entries: [String: Entry] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
            entries[name] = try Entry(path: directory.path + "/" + name)
        }
        self.entries = entries
    }

    /// One line per name.
    package var description: String {
        entries.sorted { $0.key < $1.key }
            .map { name, entry in
                "\(name): mode \(String(entry.mode, radix: 8)), \(entry.content.count) bytes, "
                    + "modified \(entry.modified)"
            }
            .joined(separator: "\n")
    }
}

extension DirectorySnapshot.Entry {
    package init(path: String) throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw CocoaError(.fileNoSuchFile) }
        type = status.st_mode & S_IFMT
        mode = status.st_mode & 0o7777
        inode = UInt64(status.st_ino)
        #if canImport(Darwin)
            let time = status.st_mtimespec
        #else
            let time = status.st_mtim
        #endif
        modified = type == S_IFDIR ? [] : [time.tv_sec, time.tv_nsec]
        content =
            switch type {
            case S_IFREG: try Data(contentsOf: URL(fileURLWithPath: path))
            case S_IFLNK:
                Data(try FileManager.default.destinationOfSymbolicLink(atPath: path).utf8)
            default: Data()
            }
    }
}

extension TemporaryDatabase {
    /// Returns the permission bits of a file in the directory, or nil if it does not exist.
    package func mode(of name: String) -> mode_t? {
        var status = stat()
        return lstat(directory.path + "/" + name, &status) == 0 ? status.st_mode & 0o7777 : nil
    }
}
