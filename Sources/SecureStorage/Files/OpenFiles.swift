internal import Foundation

/// Which file it is, whatever its name.
struct FileIdentity: Hashable {
    private let device: UInt64
    private let inode: UInt64

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// nil when there is no such file.
    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}

/// The files that connections of this process have open, so that they can be read beside the
/// engine.
///
/// Closing a descriptor drops all POSIX locks that the process has on its file, those of SQLite's
/// connections among them. So a descriptor of ours is closed when no connection is left.
final class OpenFiles: @unchecked Sendable {
    // @unchecked: everything below is only touched under `lock`.
    private let lock = NSLock()
    private var connections: [FileIdentity: Int] = [:]
    private var waiting: [FileIdentity: [Int32]] = [:]
    private var home = HomeProcess()
    /// What the parent process had open when it forked this one.
    private var inherited: Set<FileIdentity> = []

    static let shared = OpenFiles()

    /// To be called before a connection opens the file.
    ///
    /// - Throws: `.backingStoreError` code 21 in a child whose parent had the file open at the
    ///   fork: SQLite believes that the parent's locks are this process's, takes none, and loses
    ///   what is committed.
    func begin(_ file: FileIdentity) throws {
        try lock.withLock {
            if !home.isCurrent { becomeChild() }
            guard !inherited.contains(file) else {
                throw SecureStorageError.backingStoreError(
                    code: ResultCode.misuse.rawValue,
                    message:
                        "the parent process had the file open when it forked this one, so that its locks cannot be "
                        + "told from this process's; close it before fork(), or call exec after it")
            }
            connections[file, default: 0] += 1
        }
    }

    private func becomeChild() {
        inherited.formUnion(connections.keys)
        connections = [:]
        // Left open: they are none of this process's.
        waiting = [:]
        home = HomeProcess()
    }

    /// Whether only one connection has the file open.
    func hasOneConnection(_ file: FileIdentity) -> Bool {
        lock.withLock { connections[file] == 1 }
    }

    /// To be called when the connection is closed.
    func end(_ file: FileIdentity) {
        lock.withLock {
            let left = (connections[file] ?? 1) - 1
            connections[file] = left > 0 ? left : nil
            guard left == 0 else { return }
            for descriptor in waiting.removeValue(forKey: file) ?? [] { _ = close(descriptor) }
        }
    }

    /// A descriptor for reading the file that was given back and not closed, to be used once more:
    /// so they do not become more and more while a connection is open.
    func takeBack(_ file: FileIdentity) -> Int32? {
        lock.withLock { waiting[file]?.popLast() }
    }

    /// Closes a descriptor, now or with the last connection.
    func giveBack(_ descriptor: Int32, of file: FileIdentity) {
        lock.withLock {
            if connections[file] == nil {
                _ = close(descriptor)
            } else {
                waiting[file, default: []].append(descriptor)
            }
        }
    }
}
