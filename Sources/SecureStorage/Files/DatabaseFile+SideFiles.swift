internal import Foundation

extension DatabaseFile {
    /// Locates the file of a closed database.
    ///
    /// - Returns: nil if not even its directory exists.
    static func existing(at url: URL, for purpose: Purpose) throws -> DatabaseFile? {
        guard url.isFileURL, !url.path.utf8.contains(0) else {
            throw SecureStorageError.backingStoreError(
                code: ResultCode.misuse.rawValue,
                message: "cannot \(purpose) \"\(url.absoluteString)\": it is not a file URL")
        }
        let directory = url.deletingLastPathComponent().path
        guard access(directory, F_OK) == 0 || errno != ENOENT else { return nil }
        return try DatabaseFile(at: url, creatingDirectory: false, for: purpose)
    }

    /// Returns the total size in bytes of the file and its sidecar files, including the salt file.
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

    /// The suffixes of the existing sidecar files.
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

    func removeFile(_ suffix: String) throws {
        guard unlink(path + suffix) == 0 || errno == ENOENT else {
            throw failure("\(suffix.isEmpty ? "it" : suffix): \(Self.reason(errno))")
        }
    }
}
