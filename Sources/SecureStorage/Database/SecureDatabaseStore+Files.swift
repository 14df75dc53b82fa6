public import Foundation

// What can be done to a database that is closed. Nothing is moved or removed on doubt.

extension SecureDatabaseStore {
    /// Whether there is a database file, or what is left of one.
    ///
    /// Looks at the place only: what no key opens is a file as well.
    ///
    /// - Parameter url: A file URL.
    /// - Returns: True for a regular file of more than 1 byte, which `open` opens or refuses;
    ///   `open` would make a new one where this is false and nothing stands. False also for a
    ///   directory, a link, a file of 0 or 1 byte and for side files without their file, all of
    ///   which `open` refuses.
    public static func exists(at url: URL) -> Bool {
        guard let status = try? DatabaseFile.existing(at: url, for: .open)?.status() else {
            return false
        }
        return status.st_mode & S_IFMT == S_IFREG && status.st_size > 1
    }

    /// Removes a closed database: the file, its log, index and journal, and what a killed `open`
    /// has left.
    ///
    /// Side files without their file are removed too. After a kill in the middle no file opens that
    /// lacks its log; the next call removes the rest. Nothing is overwritten: without the key the
    /// bytes on the medium are as good as random.
    ///
    /// It cannot be told whether another process has an idle connection to a file with a rollback
    /// journal, nor whether another SQLite library in this process has the file open.
    ///
    /// - Parameter url: A file URL. Any regular file is taken for a database, also one of 0 bytes.
    /// - Returns: Whether there was anything.
    /// - Throws: `.backingStoreError`, and nothing was removed: code 5 while a store of this
    ///   process has the file open, read-only ones included, or another connection holds a lock on
    ///   it, as one in WAL mode does all the time; code 8 for a file that may not be written; code
    ///   14 for a directory, a link, a file with several hard links, a directory that cannot be
    ///   written, and a creation by another user, whether that process still runs or was killed;
    ///   code 21 for another URL. Code 14 also when the disk fails in the middle: the next call
    ///   removes the rest.
    @discardableResult
    public static func remove(at url: URL) throws -> Bool {
        guard let file = try DatabaseFile.existing(at: url, for: .remove), try file.hasRemains
        else {
            return false
        }
        try file.requireWritableDirectory()
        return try file.withCreationLock(timeout: fileTimeout) {
            // Somebody else may have been faster.
            guard try file.hasRemains else { return false }
            try file.remove()
            return true
        }
    }

    /// Gives a closed database another name, in the same directory or elsewhere on the same volume.
    ///
    /// The log and the journal that a crash may have left go with it. A kill in the middle loses no
    /// committed row: the database is under the old name, or under the new one, or `open` refuses
    /// both and another call with the same arguments finishes the move.
    ///
    /// - Parameters:
    ///   - url: A file URL.
    ///   - target: A file URL where nothing stands. Its directory is made (mode 0700) when only
    ///     that is missing.
    /// - Throws: `.backingStoreError`, and nothing was moved: as ``remove(at:)``, and code 14 when
    ///   there is no such file, when something has the new name or a side file of that name, and
    ///   for another volume: there ``vacuum(into:replacing:)`` makes a copy, after which this one
    ///   can be removed.
    ///
    /// The system calls are `rename`, and `link` and `unlink` where there are side files.
    public static func move(at url: URL, to target: URL) throws {
        guard let file = try DatabaseFile.existing(at: url, for: .move) else {
            throw SecureStorageError.backingStoreError(
                code: ResultCode.cannotOpen.rawValue,
                message: "cannot move \"\(url.path)\": there is no such file")
        }
        let place = try newFile(at: target)
        guard place.path != file.path else {
            throw place.failure("it is moved to itself", .misuse)
        }
        try file.requireWritableDirectory()
        try place.requireWritableDirectory()
        // In one order, so that two moves never wait for each other.
        let (first, second) = file.path < place.path ? (file, place) : (place, file)
        try first.withCreationLock(timeout: fileTimeout) {
            try second.withCreationLock(timeout: fileTimeout) { try file.move(to: place) }
        }
    }

    /// The bytes of a database's file, its log, index and journal.
    ///
    /// - Parameter url: A file URL.
    /// - Returns: The sum of their lengths, whatever their volume takes for them.
    /// - Throws: `.backingStoreError` code 14 when there is no such file, code 21 for another URL.
    public static func sizeOnDisk(at url: URL) throws -> Int {
        guard let file = try DatabaseFile.existing(at: url, for: .measure) else {
            throw SecureStorageError.backingStoreError(
                code: ResultCode.cannotOpen.rawValue,
                message: "cannot measure \"\(url.path)\": there is no such file")
        }
        return try file.sizeWithSideFiles()
    }

    /// The bytes of this store's file, its log, index and journal.
    ///
    /// - Returns: The sum of their lengths.
    /// - Throws: `.closed`; `.backingStoreError` code 14 when the file has gone.
    public func sizeOnDisk() throws -> Int {
        // While the initialization handler runs, the file has another name.
        try Self.sizeOnDisk(at: URL(fileURLWithPath: try openConnection().path))
    }

    /// The place of a file that is to be made.
    static func newFile(at url: URL) throws -> DatabaseFile {
        guard url.isFileURL, !url.path.utf8.contains(0) else {
            throw SecureStorageError.backingStoreError(
                code: ResultCode.misuse.rawValue,
                message: "cannot write \"\(url.absoluteString)\": that is no URL of a file")
        }
        return try DatabaseFile(at: url, creatingDirectory: true, for: .write)
    }

    /// How long to wait for who makes a file of the same name: as an `open` does by default.
    static let fileTimeout = Duration.seconds(5)
}
