public import Foundation

// Operations on closed databases. When in doubt, nothing is moved or removed.

extension SecureDatabaseStore {
    /// Returns whether a database file, or the remains of one, exists.
    ///
    /// Checks only the file system: a file that no key opens counts too.
    ///
    /// - Parameter url: A file URL.
    /// - Returns: true for a regular file of more than 1 byte, which `open` opens or refuses. If
    ///   false and nothing exists at the path, `open` creates a database. Also false for a
    ///   directory, a link, a file of 0 or 1 byte and for sidecar files without their file, all of
    ///   which `open` refuses.
    public static func exists(at url: URL) -> Bool {
        guard let status = try? DatabaseFile.existing(at: url, for: .open)?.status() else {
            return false
        }
        return status.st_mode & S_IFMT == S_IFREG && status.st_size > 1
    }

    /// Removes a closed database: the file, its log, index, journal and salt file, and the remains
    /// of a killed `open`.
    ///
    /// Sidecar files without their file are removed too. If the process is killed midway, no file
    /// remains that opens without its log; the next call removes the rest. Nothing is overwritten:
    /// without the key, the bytes on the medium are indistinguishable from random.
    ///
    /// This method cannot detect an idle connection of another process to a file with a rollback
    /// journal, nor that another SQLite library in this process has the file open.
    ///
    /// - Parameter url: A file URL. Any regular file is treated as a database, even one of 0 bytes.
    /// - Returns: Whether anything existed.
    /// - Throws: `.backingStoreError`, and nothing was removed: code `.busy` while a store of this
    ///   process, including a read-only one, has the file open, or while another connection holds a
    ///   lock on it, as a connection in WAL mode always does; code `.readOnly` for a file that is
    ///   not writable; code `.cannotOpen` for a directory, a link, a file with several hard links,
    ///   a directory that is not writable, and a creation by another user, whether that process
    ///   still runs or was killed; code `.misuse` for a URL that is not a file URL. Code
    ///   `.cannotOpen` also when the disk fails midway: the next call removes the rest.
    @discardableResult
    public static func remove(at url: URL) throws -> Bool {
        guard let file = try DatabaseFile.existing(at: url, for: .remove), try file.hasRemains
        else {
            return false
        }
        try file.requireWritableDirectory()
        return try file.withCreationLock(timeout: fileTimeout) {
            // Another process or thread might have removed it first.
            guard try file.hasRemains else { return false }
            try file.remove()
            return true
        }
    }

    /// Renames a closed database, in the same directory or to another one on the same volume.
    ///
    /// The log, the journal and the salt file, if any, move with it. If the process is killed
    /// midway, no committed row is lost: the database has the old name or the new one, or `open`
    /// refuses both and another call with the same arguments completes the move.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - target: A file URL at which nothing exists. If only its directory is missing, it is
    ///     created (mode 0700).
    /// - Throws: `.backingStoreError`, and nothing was moved: the errors of ``remove(at:)``, and
    ///   code `.cannotOpen` when the file does not exist, when the new name or a sidecar file of it
    ///   already exists, and for another volume: there, ``vacuum(into:replacing:)`` makes a copy,
    ///   after which the original can be removed.
    ///
    /// The system calls are `rename`, plus `link` and `unlink` when sidecar files exist.
    public static func move(at url: URL, to target: URL) throws {
        guard let file = try DatabaseFile.existing(at: url, for: .move) else {
            throw SecureStorageError.backingStoreError(
                code: ResultCode.cannotOpen.rawValue,
                message: "cannot move \"\(url.path)\": the file does not exist")
        }
        let place = try newFile(at: target)
        guard place.path != file.path else {
            throw place.failure("the source and the target are the same file", .misuse)
        }
        try file.requireWritableDirectory()
        try place.requireWritableDirectory()
        // Locking in a fixed order keeps two moves from deadlocking.
        let (first, second) = file.path < place.path ? (file, place) : (place, file)
        try first.withCreationLock(timeout: fileTimeout) {
            try second.withCreationLock(timeout: fileTimeout) { try file.move(to: place) }
        }
    }

    /// Returns the size in bytes of a database's file, log, index, journal and salt file.
    ///
    /// - Parameter url: A file URL.
    /// - Returns: The sum of their lengths, regardless of the space allocated on the volume.
    /// - Throws: `.backingStoreError` code `.cannotOpen` when the file does not exist, code
    ///   `.misuse` for a URL that is not a file URL.
    public static func sizeOnDisk(at url: URL) throws -> Int {
        guard let file = try DatabaseFile.existing(at: url, for: .measure) else {
            throw SecureStorageError.backingStoreError(
                code: ResultCode.cannotOpen.rawValue,
                message: "cannot measure \"\(url.path)\": the file does not exist")
        }
        return try file.sizeWithSideFiles()
    }

    /// Returns the size in bytes of this store's file, log, index, journal and salt file.
    ///
    /// - Returns: The sum of their lengths.
    /// - Throws: `.closed`; `.backingStoreError` code `.cannotOpen` when the file no longer exists.
    public func sizeOnDisk() throws -> Int {
        // The file has a temporary name while the initialization handler runs.
        try Self.sizeOnDisk(at: URL(fileURLWithPath: try openConnection().path))
    }

    /// Returns the location of a file that is about to be created.
    static func newFile(at url: URL) throws -> DatabaseFile {
        guard url.isFileURL, !url.path.utf8.contains(0) else {
            throw SecureStorageError.backingStoreError(
                code: ResultCode.misuse.rawValue,
                message: "cannot write \"\(url.absoluteString)\": it is not a file URL")
        }
        return try DatabaseFile(at: url, creatingDirectory: true, for: .write)
    }

    /// How long to wait for a concurrent creation of the same file; equals the default of `open`.
    static let fileTimeout = Duration.seconds(5)
}
