internal import CPlatform
internal import Foundation

// How a new file is made: beside its place, as a draft, which takes its name when it is complete.
// One at a time per name, under a lock file that exists only meanwhile.

extension DatabaseFile {
    /// Side files that SQLite keeps beside a database.
    static let sideFileSuffixes = ["-wal", "-shm", "-journal"]

    /// Makes an empty file (mode 0600) beside this one, to be filled and then published under this
    /// name: a kill before that leaves nothing under this name.
    ///
    /// Under the creation lock, so that a draft of an earlier creation is a killed one's.
    private func makeDraft() throws -> DatabaseFile {
        if let suffix = try sideFiles.first {
            // SQLite would apply it to the new file, or delete what may be the last copy of data.
            guard try status() == nil else {
                throw failure("it has a side file \(suffix), so it was not closed; close it first")
            }
            throw failure(
                "the file is missing but its side file \(suffix) exists; bring the file back, or "
                    + "remove the side file to start anew")
        }
        let draft = draft
        try dropSaltOfBegunWork(draft)
        for suffix in [""] + Self.sideFileSuffixes { try draft.removeFile(suffix) }
        try SaltFile(of: draft).remove()
        let descriptor = Self.openFile(draft.path, O_RDWR | O_CREAT | O_EXCL)
        guard descriptor >= 0 else { throw failure("it cannot be made: \(Self.reason(errno))") }
        _ = fchmod(descriptor, 0o600)  // whatever the umask took away
        _ = close(descriptor)
        return draft
    }

    /// Lets `fill` write a draft and close it, and `publish` give it its name; an error leaves no
    /// draft.
    ///
    /// - Parameters:
    ///   - incomplete: The error for a draft that holds nothing, or not everything in itself.
    ///   - fill: Writes the draft and closes it.
    ///   - publish: Is given what `fill` has returned.
    /// - Returns: What `publish` returns.
    /// - Throws: `incomplete`; `.openFailed`; what the closures throw.
    func make<Content, R>(
        incomplete: @autoclosure () -> SecureStorageError,
        _ fill: (DatabaseFile) throws -> Content,
        publish: (DatabaseFile, Content) throws -> R
    ) throws -> R {
        let draft = try makeDraft()
        do {
            let content = try fill(draft)
            guard try draft.isComplete() else { throw incomplete() }
            return try publish(draft, content)
        } catch {
            // A salt that could not be taken back is known by the draft's.
            let hasFile = (try? status() != nil) == true
            let hasNoSalt = (try? status(SaltFile.suffix) == nil) == true
            draft.removeDraft(keepingSalt: !hasFile && !hasNoSalt)
            throw error
        }
    }

    /// A salt without its file is that of a creation or a move that has not come to its end, or the
    /// last copy of one that is needed when the file comes back.
    ///
    /// Who begins such a work writes the salt beside the draft as well, so that it is known.
    private func dropSaltOfBegunWork(_ draft: DatabaseFile) throws {
        let own = SaltFile(of: self)
        guard try status() == nil, try status(SaltFile.suffix) != nil else { return }
        guard let salts = try own.readable(), salts == (try SaltFile(of: draft).readable()) else {
            throw failure(
                "the file is missing but its salt file \(SaltFile.suffix) exists; bring the file back, or "
                    + "remove the salt file to start anew")
        }
        try own.remove()
    }

    /// Gives the draft, which is closed and complete, this file's name.
    func publish(_ draft: DatabaseFile) throws {
        try publishWithSalt(draft) {
            guard cplatform_rename_exclusive(draft.path, path) == 0 else {
                throw failure("it cannot be made: \(Self.reason(errno))")
            }
        }
    }

    /// Gives the draft this file's name, which an older file may have.
    func publishReplacing(_ draft: DatabaseFile) throws {
        try publishWithSalt(draft) {
            guard rename(draft.path, path) == 0 else {
                throw failure("it cannot be replaced: \(Self.reason(errno))")
            }
        }
    }

    /// Gives the draft its name with `rename`, and its salt, if it is kept beside it, before that.
    ///
    /// The older file's salt goes after it: a kill in between leaves both. What fails before the
    /// file has its name is taken back; after that it is published, and what is left to tidy up is
    /// no failure.
    private func publishWithSalt(_ draft: DatabaseFile, _ rename: () throws -> Void) throws {
        let own = SaltFile(of: self)
        let new = try SaltFile(of: draft).salts()
        let before = try own.readable()
        let older = new.flatMap { new in before?.first { !new.contains($0) } }
        do {
            if let new { try own.replace(with: new + (older.map { [$0] } ?? [])) }
            try rename()
        } catch {
            if new != nil {
                if let before {
                    try? own.replace(with: before)
                } else {
                    try? own.remove()
                }
            }
            throw error
        }
        syncDirectory()
        if let new {
            if older != nil { try? own.replace(with: new) }
        } else {
            try? own.remove()
        }
        try? SaltFile(of: draft).remove()
    }

    /// A name is durable only when its directory is.
    ///
    /// - Returns: False when the disk has failed; some file systems cannot sync a directory, and
    ///   some directories may not be read: then there is nothing to be done.
    @discardableResult
    func syncDirectory() -> Bool {
        let directory = open(directoryPath, O_RDONLY | O_CLOEXEC)
        guard directory >= 0 else { return errno == EACCES }
        defer { _ = close(directory) }
        return cplatform_sync(directory) == 0 || [EINVAL, ENOTSUP].contains(errno)
    }

    /// Whether a draft holds everything in itself, nothing in a side file.
    private func isComplete() throws -> Bool {
        guard let status = try status(), status.st_size > 1 else { return false }
        return try !["-wal", "-journal"].contains { try self.status($0) != nil }
    }

    /// Removes a draft with its side files, as far as the disk lets it.
    func removeDraft(keepingSalt: Bool = false) {
        for suffix in [""] + Self.sideFileSuffixes { _ = unlink(path + suffix) }
        if !keepingSalt { try? SaltFile(of: self).remove() }
    }

    var draft: DatabaseFile { DatabaseFile(resolvedPath: hiddenPath + ".draft") }

    /// The beginning of the names of draft and lock: not with the database's name, which may be as
    /// long as a name can be, but with its hash (FNV-1a).
    ///
    /// Two names of one hash only wait for each other.
    private var hiddenPath: String {
        let name = URL(fileURLWithPath: path).lastPathComponent
        let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return "\(directoryPath)/.securestorage-\(String(hash, radix: 16))"
    }

    fileprivate static func openFile(_ path: String, _ flags: Int32) -> Int32 {
        open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
    }

    /// Runs `body` while no other process or thread makes a file of this name.
    ///
    /// - Throws: `.openFailed` code 5 (SQLITE_BUSY) when another one takes longer than `timeout`.
    func withCreationLock<R>(timeout: Duration, _ body: () throws -> R) throws -> R {
        let lock = try acquireLock(hiddenPath + ".lock", timeout)
        defer {
            // In this order: who waits for a lock on a removed file notices and starts anew.
            _ = unlink(hiddenPath + ".lock")
            _ = close(lock)
        }
        return try body()
    }

    private func acquireLock(_ lockPath: String, _ timeout: Duration) throws -> Int32 {
        let deadline = ContinuousClock.now.advanced(by: timeout)
        while true {
            let descriptor = Self.openFile(lockPath, O_RDWR | O_CREAT)
            guard descriptor >= 0 else {
                let reason = errno
                guard [EACCES, EPERM].contains(reason), access(lockPath, F_OK) == 0 else {
                    throw failure("it cannot be made: \(Self.reason(reason))")
                }
                // Without the lock it cannot be told which.
                throw failure(
                    "another user is making a file of this name, or was killed while doing so; when "
                        + "no such process runs, have \"\(lockPath)\" removed by its owner")
            }
            var own = stat()
            var named = stat()
            var reason: Int32 = 0
            if flock(descriptor, LOCK_EX | LOCK_NB) != 0 || fstat(descriptor, &own) != 0
                || lstat(lockPath, &named) != 0
            {
                reason = errno
            } else if own.st_ino == named.st_ino {
                return descriptor
            }
            _ = close(descriptor)
            // Who had the lock has removed it.
            if reason == 0 || reason == ENOENT { continue }
            guard reason == EWOULDBLOCK || reason == EINTR else {
                throw failure("it cannot be locked: \(Self.reason(reason))")
            }
            guard ContinuousClock.now < deadline else {
                throw failure("another process or thread is making it; try again", .busy)
            }
            usleep(2000)
        }
    }
}
