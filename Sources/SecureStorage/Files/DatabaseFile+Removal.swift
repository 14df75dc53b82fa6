internal import Foundation

// Operations on all files of a database that no connection has open, ordered so that a kill leaves
// a database that is either whole or refused by `open`.

extension DatabaseFile {
    /// Locates the file of a closed database.
    ///
    /// - Returns: nil if not even its directory exists.
    static func existing(at url: URL, for purpose: Purpose) throws -> DatabaseFile? {
        guard url.isFileURL, !url.path.utf8.contains(0) else {
            throw SecureStorageError.backingStoreError(
                code: ResultCode.misuse.rawValue,
                message: "cannot \(purpose) \"\(url.absoluteString)\": that is no URL of a file")
        }
        let directory = url.deletingLastPathComponent().path
        guard access(directory, F_OK) == 0 || errno != ENOENT else { return nil }
        return try DatabaseFile(at: url, creatingDirectory: false, for: purpose)
    }

    /// Returns the total size in bytes of the file and its side files, including the salt file.
    func sizeWithSideFiles() throws -> Int {
        try (Self.sideFileSuffixes + [SaltFile.suffix]).reduce(size()) { sum, suffix in
            try sum + (status(suffix).map { Int($0.st_size) } ?? 0)
        }
    }

    /// Returns the status of the file at the path with `suffix`, without following links; nil if
    /// none exists.
    ///
    /// - Throws: An error if the status cannot be read: an undetected log would be left behind, or
    ///   its rows would be lost.
    func status(_ suffix: String = "") throws -> stat? {
        var status = stat()
        guard lstat(path + suffix, &status) != 0 else { return status }
        guard errno == ENOENT else {
            throw failure("\(suffix.isEmpty ? "it" : suffix): \(Self.reason(errno))")
        }
        return nil
    }

    /// The suffixes of the existing side files.
    var sideFiles: [String] {
        get throws { try Self.sideFileSuffixes.filter { try status($0) != nil } }
    }

    /// Removes an empty log that was kept, with its index; requires that no connection uses the
    /// file.
    func removeEmptyLog() throws {
        guard try status("-wal")?.st_size == 0 else { return }
        try removeFile("-wal")
        try removeFile("-shm")
    }

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
                throw failure("somebody else has it open; close it there first", .busy)
            } catch SecureStorageError.backingStoreError(let code, let message) {
                throw failure(message, ResultCode(rawValue: code))
            }
            defer { lock.release() }
            return try body()
        }
    }

    // MARK: - Removing

    /// Whether anything can be removed: the file, a side file, its salt, or the draft of a killed
    /// creation.
    var hasRemains: Bool {
        get throws {
            try status() != nil || !sideFiles.isEmpty || draft.status() != nil
                || status(SaltFile.suffix) != nil
        }
    }

    /// Removes the file, then its side files; requires the creation lock.
    func remove() throws {
        try dropKeptName()
        if let status = try status() {
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw failure("it is no regular file")
            }
            guard status.st_nlink == 1 || finishPublication(status) else {
                throw failure("it is one of \(status.st_nlink) hard links to a file")
            }
            try withoutOthers {
                // The file first: without its log or journal it would open with rows missing.
                // `open` refuses side files without a database, and the next call removes them.
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
                "\"\(draft.path)\", which another user has begun to make, may not be removed; have "
                    + "its owner remove it")
        }
        syncDirectory()
    }

    private func removeSideFiles() throws {
        for suffix in Self.sideFileSuffixes { try removeFile(suffix) }
    }

    func removeFile(_ suffix: String) throws {
        guard unlink(path + suffix) == 0 || errno == ENOENT else {
            throw failure("\(suffix.isEmpty ? "it" : suffix): \(Self.reason(errno))")
        }
    }
}
