internal import Foundation

/// A file that is made whole before it has its name; see `DatabaseFile+Creation`.
struct NewFile {
    let target: DatabaseFile
    /// Whether an older file of the name gives way.
    let replacing: Bool

    /// Names the file at `url`; its directory must exist.
    init(at url: URL, replacing: Bool) throws {
        target = try DatabaseFile(at: url, creatingDirectory: false)
        self.replacing = replacing
        try target.requireWritableDirectory()
        try requireRoom()
    }

    /// Makes the file: `fill` writes the draft and closes it again, then the draft takes the name.
    ///
    /// A kill at any point, or an error, leaves what was there before.
    func make<R>(timeout: Duration, _ fill: (DatabaseFile) throws -> R) throws -> R {
        try target.withCreationLock(timeout: timeout) {
            try requireRoom()
            let draft = try target.makeDraft()
            do {
                let result = try fill(draft)
                guard draft.isComplete() else {
                    throw target.failure("its content could not be written; is the disk full?")
                }
                if replacing, target.status() != nil {
                    // Somebody may have opened it meanwhile.
                    try requireRoom()
                    try target.withoutOthers {
                        try requireNoSideFiles()
                        try target.publishReplacing(draft)
                    }
                } else {
                    try target.publish(draft)
                }
                return result
            } catch {
                draft.removeDraft()
                throw error
            }
        }
    }

    /// Refuses a name that is taken, or by whom it is.
    private func requireRoom() throws {
        var status = stat()
        guard lstat(target.path, &status) == 0 else { return }
        guard replacing else {
            throw target.failure("there is a file already; choose another name, or replace it")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw target.failure("it is no regular file, and will not be replaced")
        }
        guard !OpenFiles.shared.isOpen(FileIdentity(status)) else {
            throw target.failure("it is open in this process, and will not be replaced", .busy)
        }
        try requireNoSideFiles()
    }

    /// A log would be applied to the new file.
    private func requireNoSideFiles() throws {
        for suffix in DatabaseFile.sideFileSuffixes where access(target.path + suffix, F_OK) == 0 {
            throw target.failure(
                "it has a side file \(suffix), so somebody uses it or was killed; it will not be "
                    + "replaced", .busy)
        }
    }
}
