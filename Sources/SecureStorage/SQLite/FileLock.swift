internal import CSQLCipher
internal import Foundation

/// SQLite's exclusive lock on a file that no other connection may use while it is moved or removed.
///
/// It is taken through SQLite, below its pager: no key is needed, nothing is read, no journal is
/// played back and no log is moved. A separate lock would not do: closing a descriptor that SQLite
/// does not know drops the locks of this process's connections.
///
/// It detects whether another connection of any process is in a transaction, and in WAL mode
/// whether one is open. An idle connection to a file with a rollback journal holds no lock and
/// cannot be detected.
final class FileLock {
    private var handle: OpaquePointer?
    private let file: UnsafeMutablePointer<sqlite3_file>
    /// Keeps other code in this process from closing a descriptor of the file, and so dropping this
    /// lock.
    private let identity: FileIdentity

    /// Locks the file at `path` without waiting, or fails.
    ///
    /// - Throws: `.backingStoreError`; code `.busy` when another connection has it locked.
    init(_ path: String) throws {
        guard let identity = FileIdentity(path) else {
            throw SecureStorageError.statementFailed(.cannotOpen, "the file does not exist")
        }
        // Not announced: the caller's logger is not available here.
        _ = try Engine.examined.get()
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
            | SQLITE_OPEN_EXRESCODE
        try OpenDescriptors.shared.begin(identity)
        var isLocked = false
        defer { if !isLocked { OpenDescriptors.shared.end(identity) } }
        var opened: OpaquePointer?
        var code = sqlite3_open_v2(path, &opened, flags, nil)
        var file: UnsafeMutablePointer<sqlite3_file>?
        if code == SQLITE_OK {
            code = sqlite3_file_control(opened, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        }
        guard code == SQLITE_OK, let file, let methods = file.pointee.pMethods else {
            sqlite3_close_v2(opened)
            throw SecureStorageError.statementFailed(
                ResultCode(code == SQLITE_OK ? SQLITE_CANTOPEN : code),
                "it cannot be opened")
        }
        guard sqlite3_db_readonly(opened, "main") == 0 else {
            sqlite3_close_v2(opened)
            throw SecureStorageError.statementFailed(.readOnly, "no permission to write the file")
        }
        // A shared lock first, in the order that SQLite itself uses.
        for level in [SQLITE_LOCK_SHARED, SQLITE_LOCK_EXCLUSIVE] where code == SQLITE_OK {
            code = methods.pointee.xLock(file, level)
        }
        guard code == SQLITE_OK else {
            _ = methods.pointee.xUnlock(file, SQLITE_LOCK_NONE)
            sqlite3_close_v2(opened)
            throw SecureStorageError.statementFailed(
                ResultCode(code), "it cannot be locked")
        }
        isLocked = true
        handle = opened
        self.file = file
        self.identity = identity
    }

    /// Releases the lock.
    func release() {
        guard let handle else { return }
        _ = file.pointee.pMethods?.pointee.xUnlock(file, SQLITE_LOCK_NONE)
        sqlite3_close_v2(handle)
        self.handle = nil
        OpenDescriptors.shared.end(identity)
    }

    deinit { release() }
}
