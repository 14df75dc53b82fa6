internal import CSecureStoragePlatform
package import Foundation

/// Files that have their names only when they are complete, also after a kill or a power cut.
package enum AtomicFile {
    /// Gives `contents` the name `name`.
    ///
    /// They are written to `draft`, in the same directory, and synced; then `draft` is renamed. The
    /// caller syncs the directory.
    ///
    /// - Parameters:
    ///   - contents: The whole file.
    ///   - name: A path, which begins in `directory` if there is one. An existing file is replaced.
    ///   - draft: A path that no other writer uses. An error leaves no file there.
    ///   - directory: The directory of both.
    ///   - mode: The file's mode, independent of the umask.
    /// - Throws: `SystemError`.
    package static func write(
        _ contents: UnsafeRawBufferPointer, as name: String, draft: String,
        in directory: Descriptor? = nil, mode: mode_t = 0o600
    ) throws {
        let place = directory?.number ?? AT_FDCWD
        let file = try Descriptor(creating: draft, mode: mode, in: directory)
        do {
            try file.write(contents)
            try file.sync()
            guard renameat(place, draft, place, name) == 0 else { throw SystemError("rename") }
        } catch {
            unlinkat(place, draft, 0)
            throw error
        }
    }

    /// Gives a complete and synced file its name, and makes the name durable.
    ///
    /// - Parameters:
    ///   - draft: The file's path.
    ///   - path: Its new path, in the same directory.
    ///   - replacing: Whether an existing file is replaced; otherwise that is an error (`EEXIST`).
    /// - Throws: `SystemError`.
    package static func rename(
        _ draft: String, to path: String, replacing: Bool
    ) throws {
        let isExclusive = !replacing && cplatform_rename_exclusive(draft, path) == 0
        if !isExclusive, !replacing {
            // A file system without exclusive renames and without hard links.
            var status = stat()
            guard [EPERM, ENOTSUP, EMLINK].contains(errno) else { throw SystemError("create") }
            guard lstat(path, &status) != 0 else { throw SystemError("create", code: EEXIST) }
        }
        guard isExclusive || Foundation.rename(draft, path) == 0 else {
            throw SystemError(replacing ? "replace" : "create")
        }
        syncDirectory(URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }

    /// Makes the names in a directory durable.
    ///
    /// - Returns: False if the disk failed. True also if a sync is impossible, since some file
    ///   systems cannot sync a directory and some directories may be searched but not read.
    @discardableResult
    package static func syncDirectory(_ path: String) -> Bool {
        do {
            try Descriptor(path, O_RDONLY | O_DIRECTORY).sync()
            return true
        } catch {
            return [EACCES, EINVAL, ENOTSUP].contains((error as? SystemError)?.code)
        }
    }
}
