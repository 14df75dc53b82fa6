internal import CSecureStoragePlatform
internal import Foundation

extension DatabaseFile {
    /// Renames the file and its sidecar files to `target`; requires the creation locks of both.
    ///
    /// With a log or a journal beside the file, one rename is not enough. The file then has both
    /// names during the move, and `open` refuses a file with two names. A kill therefore leaves
    /// nothing that opens without its log, and the next call detects the two names and continues.
    func move(to target: DatabaseFile) throws {
        try dropKeptName()
        guard let own = try status() else { throw failure("the file does not exist") }
        let isHalfMoved =
            try own.st_nlink == 2
            && target.status().map { $0.st_ino == own.st_ino && $0.st_dev == own.st_dev } == true
        if !isHalfMoved {
            _ = try state()
            guard try target.status() == nil else { throw target.failure("it already exists") }
            if let suffix = try target.sideFiles.first {
                throw target.failure(
                    "its sidecar \(suffix) already exists; remove the leftovers there first")
            }
        }
        try withoutOthers {
            let salts = try SaltFile(of: self).salts()
            if let salts { try beginMovingSalt(salts, to: target) }
            do {
                if try isHalfMoved || !sideFiles.filter({ $0 != "-shm" }).isEmpty {
                    if !isHalfMoved { try addName(of: target) }
                    try moveSideFiles(to: target)
                    target.syncDirectory()
                    try removeFile("")
                } else {
                    try removeFile("-shm")
                    guard cplatform_rename_exclusive(path, target.path) == 0 else {
                        throw moveFailure(errno, target)
                    }
                }
            } catch {
                if salts != nil { takeBackSalt(of: target) }
                throw error
            }
            target.syncDirectory()
            // The database has moved. A salt that remains is recognised as a leftover.
            if salts != nil {
                if (try? SaltFile(of: self).remove()) != nil { try? SaltFile(of: draft).remove() }
                try? SaltFile(of: target.draft).remove()
            }
            syncDirectory()
        }
    }

    /// Writes the salt beside the new name before the file has it; after the move, the old copy is
    /// useless.
    ///
    /// Also writes it beside both temporary files: a kill leaves one salt without its file, which
    /// the temporary file's copy identifies.
    private func beginMovingSalt(_ salts: [[UInt8]], to target: DatabaseFile) throws {
        let new = SaltFile(of: target)
        let begun = SaltFile(of: target.draft)
        if try target.status(SaltFile.suffix) != nil {
            let known = try new.readable()
            guard try known == salts || known != nil && known == begun.readable() else {
                throw target.failure(
                    "its salt file \(SaltFile.suffix) already exists, and may be needed if its file is brought "
                        + "back; remove it first")
            }
        }
        try begun.replace(with: salts)
        try SaltFile(of: draft).replace(with: salts)
        try new.replace(with: salts)
    }

    /// Rolls the salt back after a failure before the file has its new name.
    private func takeBackSalt(of target: DatabaseFile) {
        guard (try? target.status() == nil) == true, (try? SaltFile(of: target).remove()) != nil
        else { return }
        try? SaltFile(of: target.draft).remove()
        try? SaltFile(of: draft).remove()
    }

    private func moveSideFiles(to target: DatabaseFile) throws {
        for suffix in try sideFiles where suffix != "-shm" {
            guard try target.status(suffix) == nil else {
                throw failure("both it and \"\(target.path)\" have a sidecar \(suffix)")
            }
            guard rename(path + suffix, target.path + suffix) == 0 else {
                throw failure(
                    "\(suffix): \(Self.reason(errno)); it is partly moved; call again to continue")
            }
        }
        // The index of the log, which SQLite rebuilds.
        try removeFile("-shm")
    }

    private func addName(of target: DatabaseFile) throws {
        guard link(path, target.path) != 0 else { return }
        guard ![EPERM, ENOTSUP, EMLINK].contains(errno) else {
            throw failure(
                "it has a log or a journal beside it, and the file system does not support hard links; open "
                    + "and close it first")
        }
        throw moveFailure(errno, target)
    }

    private func moveFailure(_ code: Int32, _ target: DatabaseFile) -> SecureStorageError {
        guard code == EXDEV else { return failure("to \"\(target.path)\": \(Self.reason(code))") }
        return failure(
            "\"\(target.path)\" is on another volume; make a copy there with vacuum(into:), then "
                + "remove this one")
    }
}
