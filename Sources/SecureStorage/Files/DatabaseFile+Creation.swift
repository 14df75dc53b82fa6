internal import CPlatform
internal import Foundation

// How a new file is made: beside its place, as a draft, which takes its name when it is complete. One
// at a time per name, under a lock file that exists only meanwhile.

extension DatabaseFile {
    /// Side files that SQLite keeps beside a database.
    static let sideFileSuffixes = ["-wal", "-shm", "-journal"]

    /// Makes an empty file (mode 0600) beside this one, to be filled and then published under this
    /// name: a kill before that leaves nothing under this name.
    ///
    /// Under the creation lock, so that a draft of an earlier creation is a killed one's.
    private func makeDraft() throws -> DatabaseFile {
        for suffix in Self.sideFileSuffixes where access(path + suffix, F_OK) == 0 {
            // SQLite would apply it to the new file, or delete what may be the last copy of data.
            throw failure(
                "the file is missing but its side file \(suffix) exists; bring the file back, or "
                    + "remove the side file to start anew")
        }
        let draft = draft
        try dropSaltOfKilledCreation(draft)
        draft.removeDraft()
        let descriptor = Self.openFile(draft.path, O_RDWR | O_CREAT | O_EXCL)
        guard descriptor >= 0 else { throw failure("it cannot be made: \(Self.reason(errno))") }
        _ = fchmod(descriptor, 0o600)  // whatever the umask took away
        _ = close(descriptor)
        return draft
    }

    /// Lets `fill` write a draft and close it, and `publish` give it its name; an error leaves no draft.
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
            guard draft.isComplete() else { throw incomplete() }
            return try publish(draft, content)
        } catch {
            draft.removeDraft()
            throw error
        }
    }

    /// A salt without its file is that of a creation that was killed before it named its draft; or the last copy of
    /// one that is needed when the file comes back.
    private func dropSaltOfKilledCreation(_ draft: DatabaseFile) throws {
        let own = SaltFile(of: self)
        guard status() == nil, status(SaltFile.suffix) != nil else { return }
        guard let salts = try? own.salts(), salts == (try? SaltFile(of: draft).salts()) else {
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

    /// The salt of the draft, if it is kept beside it, comes before its file and the older one's goes after it: a
    /// kill in between leaves both.
    private func publishWithSalt(_ draft: DatabaseFile, _ rename: () throws -> Void) throws {
        let own = SaltFile(of: self)
        let new = try SaltFile(of: draft).salts()
        let older = new.flatMap { new in
            (try? own.salts())?.first { !new.contains($0) }
        }
        if let new { try own.replace(with: new + (older.map { [$0] } ?? [])) }
        try rename()
        syncDirectory()
        if let new {
            if older != nil { try own.replace(with: new) }
        } else {
            try own.remove()
        }
        try SaltFile(of: draft).remove()
    }

    /// A name is durable only when its directory is.
    func syncDirectory() {
        let directory = open(directoryPath, O_RDONLY | O_CLOEXEC)
        guard directory >= 0 else { return }
        _ = cplatform_sync(directory)  // some file systems cannot; then there is nothing to be done
        _ = close(directory)
    }

    /// Whether a draft holds everything in itself, nothing in a side file.
    private func isComplete() -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_size > 1
            && !["-wal", "-journal"].contains { access(path + $0, F_OK) == 0 }
    }

    /// Removes a draft with its side files.
    func removeDraft() {
        for suffix in [""] + Self.sideFileSuffixes { _ = unlink(path + suffix) }
        try? SaltFile(of: self).remove()
    }

    /// Removes the draft's name from a published file that a kill has left with both; see
    /// `cplatform_rename_exclusive`.
    func finishPublication(_ status: stat) -> Bool {
        var other = stat()
        guard status.st_nlink == 2, lstat(draft.path, &other) == 0, other.st_ino == status.st_ino,
            other.st_dev == status.st_dev
        else { return false }
        return unlink(draft.path) == 0 || errno == ENOENT
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
                throw failure("it cannot be made: \(Self.reason(errno))")
            }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                var own = stat()
                var named = stat()
                if fstat(descriptor, &own) == 0, lstat(lockPath, &named) == 0,
                    own.st_ino == named.st_ino
                {
                    return descriptor
                }
                _ = close(descriptor)
                continue
            }
            let reason = errno
            _ = close(descriptor)
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
