internal import CSecureStoragePlatform
internal import Foundation
internal import SecureStoragePlatform

// Creates a new file as a temporary one beside its final location, renamed when complete. One
// creation at a time per name, under a lock file that exists only during the creation.

extension DatabaseFile {
    /// The suffixes of the sidecar files that SQLite keeps beside a database.
    static let sideFileSuffixes = ["-wal", "-shm", "-journal"]

    /// Creates an empty temporary file (mode 0600) beside this one, to be filled and then published
    /// under this name: a kill before that leaves nothing under the name.
    ///
    /// Requires the creation lock, so any existing one is left over from a killed creation.
    private func makeDraft() throws -> DatabaseFile {
        if let suffix = try sideFiles.first {
            // SQLite would apply it to the new file, or delete what may be the last copy of data.
            guard try status() == nil else {
                throw failure("it has a sidecar \(suffix), so it was not closed; close it first")
            }
            throw failure(
                "the file is missing but its sidecar \(suffix) exists; bring the file back, or "
                    + "remove the sidecar to start over")
        }
        let draft = draft
        try dropSaltOfBegunWork(draft)
        for suffix in [""] + Self.sideFileSuffixes { try draft.removeFile(suffix) }
        try SaltFile(of: draft).remove()
        do {
            _ = try Descriptor(creating: draft.path)
        } catch let error as SystemError {
            throw failure("it cannot be created: \(error.reason)")
        }
        return draft
    }

    /// Lets `fill` write and close a temporary file and `publish` name it; an error leaves none.
    ///
    /// - Parameters:
    ///   - incomplete: The error for a file that is empty or has data in sidecar files.
    ///   - fill: Writes the temporary file and closes it.
    ///   - publish: Receives the result of `fill`.
    /// - Returns: The result of `publish`.
    /// - Throws: `incomplete`; `.openFailed` or, for another purpose, `.backingStoreError`; errors
    ///   thrown by the closures.
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
            // If the salt could not be rolled back, the temporary file's copy identifies it.
            let hasFile = (try? status() != nil) == true
            let hasNoSalt = (try? status(SaltFile.suffix) == nil) == true
            draft.removeDraft(keepingSalt: !hasFile && !hasNoSalt)
            throw error
        }
    }

    /// Removes a salt without a file if it belongs to a creation or move that did not complete.
    ///
    /// Any other salt is an error: it may be the last copy, needed when the file is restored. A
    /// creation or move also writes the salt beside the temporary file, to identify it.
    private func dropSaltOfBegunWork(_ draft: DatabaseFile) throws {
        let own = SaltFile(of: self)
        guard try status() == nil, try status(SaltFile.suffix) != nil else { return }
        guard let salts = try own.readable(), salts == (try SaltFile(of: draft).readable()) else {
            throw failure(
                "the file is missing but its salt file \(SaltFile.suffix) exists; bring the file back, or "
                    + "remove the salt file to start over")
        }
        try own.remove()
    }

    /// Gives the closed and complete `draft` this file's name.
    func publish(_ draft: DatabaseFile, replacing: Bool = false) throws {
        try publishWithSalt(draft) {
            let result =
                replacing
                ? rename(draft.path, path) : cplatform_rename_exclusive(draft.path, path)
            guard result == 0 else {
                throw failure(
                    "it cannot be \(replacing ? "replaced" : "created"): \(Self.reason(errno))")
            }
        }
    }

    /// Names `draft` with `rename`, after writing its salt, if any, beside the new name.
    ///
    /// The older file's salt is removed afterwards: a kill in between leaves both. A failure before
    /// the file has its name is rolled back. After that the file is published, and failing to clean
    /// up is not an error.
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

    /// Makes names durable; see `AtomicFile.syncDirectory`.
    @discardableResult
    func syncDirectory() -> Bool { AtomicFile.syncDirectory(directoryPath) }

    /// Whether a temporary file holds all of its data itself, with none in sidecar files.
    private func isComplete() throws -> Bool {
        guard let status = try status(), status.st_size > 1 else { return false }
        return try !["-wal", "-journal"].contains { try self.status($0) != nil }
    }

    /// Removes a temporary file and its sidecar files, as far as the disk permits.
    func removeDraft(keepingSalt: Bool = false) {
        for suffix in [""] + Self.sideFileSuffixes { _ = unlink(path + suffix) }
        if !keepingSalt { try? SaltFile(of: self).remove() }
    }

    var draft: DatabaseFile { DatabaseFile(resolvedPath: hiddenPath + ".draft") }

    /// The common prefix of the paths of temporary file and lock.
    ///
    /// It contains a hash (FNV-1a) of the database's name, since the name itself may already have
    /// the maximum length. Two names with the same hash merely wait for each other.
    private var hiddenPath: String {
        let name = URL(fileURLWithPath: path).lastPathComponent
        let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return "\(directoryPath)/\(Self.hiddenPrefix)\(String(hash, radix: 16))"
    }

    private static let hiddenPrefix = ".securestorage-"

    /// Whether a file of this name is the lock of some file's creation.
    static func isCreationLock(_ name: String) -> Bool {
        name.hasPrefix(hiddenPrefix) && name.hasSuffix(".lock")
    }

    /// Runs `body` while no other process or thread creates a file of this name.
    ///
    /// - Throws: `.openFailed` (for another purpose, `.backingStoreError`) code `.busy` if
    ///   another creation takes longer than `timeout`.
    func withCreationLock<R>(timeout: Duration, _ body: () throws -> R) throws -> R {
        let lockPath = hiddenPath + ".lock"
        let lock: LockFile?
        do {
            lock = try LockFile.take(lockPath, patience: timeout) { try openLockFile(lockPath) }
        } catch let error as SystemError {
            throw failure("it cannot be locked: \(error.reason)")
        }
        guard let lock else {
            throw failure("another process or thread is creating it; try again", .busy)
        }
        return try withExtendedLifetime(lock) {
            // Before the lock is released: a waiter that locks the removed file notices and
            // retries.
            defer { _ = unlink(lockPath) }
            return try body()
        }
    }

    private func openLockFile(_ lockPath: String) throws -> Descriptor {
        do {
            return try Descriptor(lockPath, O_RDWR | O_CREAT | O_NOFOLLOW)
        } catch let error as SystemError {
            guard [EACCES, EPERM].contains(error.code), access(lockPath, F_OK) == 0 else {
                throw failure("it cannot be created: \(error.reason)")
            }
            // Without the lock, the two cases cannot be distinguished.
            throw failure(
                "another user is creating a file with this name, or was killed while doing so; if "
                    + "no such process is running, have the owner of \"\(lockPath)\" remove it")
        }
    }
}
