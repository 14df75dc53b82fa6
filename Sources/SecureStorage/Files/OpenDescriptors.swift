internal import Foundation
internal import SecureStoragePlatform

/// The identity of a file, independent of its name.
struct FileIdentity: Hashable {
    private let device: UInt64
    private let inode: UInt64

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// nil if the file does not exist.
    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}

/// The files that this process's connections have open, so that the library can read them directly.
///
/// Closing a descriptor drops all POSIX locks of the process on its file, including those of
/// SQLite's connections. The library's own descriptors are therefore closed only when no connection
/// is left.
final class OpenDescriptors: Sendable {
    private struct State {
        var connections: [FileIdentity: Int] = [:]
        var waiting: [FileIdentity: [Int32]] = [:]
        var home = HomeProcess()
        /// The files that the parent process had open at the fork.
        var inherited: Set<FileIdentity> = []

        mutating func becomeChild() {
            inherited.formUnion(connections.keys)
            connections = [:]
            // Not closed: they belong to the parent.
            waiting = [:]
            home = HomeProcess()
        }
    }

    private let state = Locked(State())

    static let shared = OpenDescriptors()

    /// Registers a connection; call this before it opens the file.
    ///
    /// - Throws: `.backingStoreError` code `.misuse` in a child whose parent had the file open at
    ///   the fork: SQLite would mistake the parent's locks for this process's, take none, and lose
    ///   committed data.
    func begin(_ file: FileIdentity) throws {
        try state.withLock { state in
            if !state.home.isCurrent { state.becomeChild() }
            guard !state.inherited.contains(file) else {
                throw SecureStorageError.backingStoreError(
                    code: ResultCode.misuse.rawValue,
                    message:
                        "the parent process had the file open when it forked this one, so its locks cannot be "
                        + "distinguished from this process's; close it before fork(), or call exec after it"
                )
            }
            state.connections[file, default: 0] += 1
        }
    }

    /// Returns whether exactly one connection has the file open.
    func hasOneConnection(_ file: FileIdentity) -> Bool {
        state.withLock { $0.connections[file] == 1 }
    }

    /// Unregisters a connection; call this after it is closed.
    func end(_ file: FileIdentity) {
        state.withLock { state in
            let left = (state.connections[file] ?? 1) - 1
            state.connections[file] = left > 0 ? left : nil
            guard left == 0 else { return }
            for descriptor in state.waiting.removeValue(forKey: file) ?? [] {
                _ = close(descriptor)
            }
        }
    }

    /// Returns a read descriptor that was given back but not closed, for reuse.
    ///
    /// This keeps such descriptors from accumulating while a connection is open.
    func takeBack(_ file: FileIdentity) -> Int32? {
        state.withLock { $0.waiting[file]?.popLast() }
    }

    /// Closes a descriptor, either now or with the last connection.
    func giveBack(_ descriptor: Int32, of file: FileIdentity) {
        state.withLock { state in
            if state.connections[file] == nil {
                _ = close(descriptor)
            } else {
                state.waiting[file, default: []].append(descriptor)
            }
        }
    }
}
