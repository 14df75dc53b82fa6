internal import Foundation

// Operations on all files of a database that no connection has open, ordered so that a kill leaves
// a database that is either whole or refused by `open`.

extension DatabaseFile {
    /// Runs `body` while neither this process nor, as far as can be detected, another one uses the
    /// file.
    func withoutOthers<R>(_ body: () throws -> R) throws -> R {
        guard let claim = FileClaim.alone(path) else {
            throw failure("this process has it open; close it first", .busy)
        }
        return try withExtendedLifetime(claim) {
            let lock: FileLock
            do {
                lock = try FileLock(path)
            } catch SecureStorageError.backingStoreError(ResultCode.busy.rawValue, _) {
                throw failure("another process has it open; close it there first", .busy)
            } catch SecureStorageError.backingStoreError(let code, let message) {
                throw failure(message, ResultCode(rawValue: code))
            }
            defer { lock.release() }
            return try body()
        }
    }

    /// Whether anything can be removed: the file, a sidecar file, its salt, or the temporary file
    /// of a killed creation.
    var hasRemains: Bool {
        get throws {
            try status() != nil || !sideFiles.isEmpty || draft.status() != nil
                || status(SaltFile.suffix) != nil
        }
    }

    /// Removes the file, then its sidecar files; requires the creation lock.
    func remove() throws {
        try dropKeptName()
        if let status = try status() {
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw failure("it is not a regular file")
            }
            guard status.st_nlink == 1 || finishPublication(status) else {
                throw failure("it is one of \(status.st_nlink) hard links to a file")
            }
            try withoutOthers {
                // The file first: without its log or journal it would open with rows missing.
                // `open` refuses sidecar files without a database, and the next call removes them.
                try removeFile("")
                try removeSideFiles()
            }
        } else {
            try removeSideFiles()
        }
        // The salt only now: without it the file could not be recovered.
        try SaltFile(of: self).remove()
        draft.removeDraft()
        guard try draft.status() == nil else {
            throw failure(
                "\"\(draft.path)\", which another user began to create, cannot be removed; have "
                    + "its owner remove it")
        }
        syncDirectory()
    }

    private func removeSideFiles() throws {
        for suffix in Self.sideFileSuffixes { try removeFile(suffix) }
    }
}
