internal import CPlatform
internal import Foundation

extension DatabaseFile {
    /// Gives the file and those beside it the names of `target`; under its creation lock.
    ///
    /// With a log or a journal beside it, one rename is not all. Then the file has both names meanwhile, and
    /// `open` refuses a file with two. So a kill leaves nothing that opens without its log, and the next call finds
    /// the two names and goes on.
    func move(to target: DatabaseFile) throws {
        guard let own = status() else { throw failure("there is no such file") }
        let isHalfMoved =
            own.st_nlink == 2
            && target.status().map { $0.st_ino == own.st_ino && $0.st_dev == own.st_dev } == true
        if !isHalfMoved {
            _ = try state()
            guard target.status() == nil else { throw target.failure("it exists already") }
            if let suffix = target.sideFiles.first {
                throw target.failure(
                    "its side file \(suffix) exists already; remove what is left there first")
            }
        }
        try withoutOthers {
            // Before the file has its new name; the old one's is of no use after it.
            let salts = try SaltFile(of: self).salts()
            if let salts { try SaltFile(of: target).replace(with: salts) }
            if isHalfMoved || !sideFiles.filter({ $0 != "-shm" }).isEmpty {
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
            target.syncDirectory()
            try SaltFile(of: self).remove()
            syncDirectory()
        }
    }

    private func moveSideFiles(to target: DatabaseFile) throws {
        for suffix in sideFiles where suffix != "-shm" {
            guard target.status(suffix) == nil else {
                throw failure("both it and \"\(target.path)\" have a side file \(suffix)")
            }
            guard rename(path + suffix, target.path + suffix) == 0 else {
                throw failure(
                    "\(suffix): \(Self.reason(errno)); it is half moved, the next call goes on")
            }
        }
        // An index of the log that SQLite makes anew.
        try removeFile("-shm")
    }

    private func addName(of target: DatabaseFile) throws {
        guard link(path, target.path) != 0 else { return }
        guard ![EPERM, ENOTSUP, EMLINK].contains(errno) else {
            throw failure(
                "it has a log or a journal beside it, and the file system makes no hard links; open "
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
