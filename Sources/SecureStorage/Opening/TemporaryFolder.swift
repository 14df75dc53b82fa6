internal import Foundation
internal import SecureStoragePlatform

/// A private folder for the files of one temporary database, removed with the last reference to it.
///
/// It lies in a folder of the process, which is locked for as long as the process lives: what a
/// killed process leaves is removed by the next process that makes such a folder.
final class TemporaryFolder: Sendable {
    let url: URL
    private let process: ProcessFolder
    private let home = HomeProcess()

    /// - Throws: `.openFailed` if the temporary directory cannot be written to.
    init() throws {
        process = try ProcessFolder.current()
        url = process.url.appendingPathComponent(UUID().uuidString)
        guard mkdir(url.path, 0o700) == 0 else {
            throw ProcessFolder.failure(url.path, SystemError("create"))
        }
    }

    deinit {
        guard home.isCurrent else { return }
        try? FileManager.default.removeItem(at: url)
    }
}

/// The folder of this process's temporary databases, removed with the last of them.
private final class ProcessFolder: Sendable {
    let url: URL
    private let lock: LockFile
    private let home = HomeProcess()

    private struct Weak {
        weak var folder: ProcessFolder?
    }

    private static let shared = Locked(Weak())
    private static let lockSuffix = ".lock"

    static func current() throws -> ProcessFolder {
        try shared.withLock { shared in
            let parent = try parent()
            removeRemains(in: parent)
            if let folder = shared.folder, folder.home.isCurrent { return folder }
            let folder = try ProcessFolder(in: parent)
            shared.folder = folder
            return folder
        }
    }

    private init(in parent: URL) throws {
        url = parent.appendingPathComponent(UUID().uuidString)
        let path = url.path + Self.lockSuffix
        do {
            // The lock first: whoever sees a folder without a holder removes it.
            guard
                let lock = try LockFile.take(
                    path, patience: .seconds(1),
                    open: { try Descriptor(path, O_RDWR | O_CREAT | O_NOFOLLOW) })
            else { throw SystemError("lock", code: EBUSY) }
            self.lock = lock
            guard mkdir(url.path, 0o700) == 0 else { throw SystemError("create") }
        } catch let error as SystemError {
            throw Self.failure(url.path, error)
        }
    }

    deinit {
        guard home.isCurrent else { return }
        Self.remove(url)
    }

    /// Removes the folder, then its lock file.
    private static func remove(_ folder: URL) {
        try? FileManager.default.removeItem(at: folder)
        unlink(folder.path + lockSuffix)
    }

    /// Removes the folders of processes that are gone.
    private static func removeRemains(in parent: URL) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent.path)) ?? []
        for name in names where name.hasSuffix(lockSuffix) {
            let folder = String(name.dropLast(lockSuffix.count))
            guard UUID(uuidString: folder) != nil else { continue }
            let path = parent.appendingPathComponent(name).path
            let lock = try? LockFile.take(
                path, patience: .zero, open: { try Descriptor(path, O_RDWR | O_NOFOLLOW) })
            guard let lock else { continue }
            withExtendedLifetime(lock) {
                remove(parent.appendingPathComponent(folder))
            }
        }
    }

    /// Returns the folder of this user's processes, and makes it if necessary.
    ///
    /// - Throws: `.openFailed` if others can write to a folder of this name.
    private static func parent() throws -> URL {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("securestorage-\(geteuid())")
        guard mkdir(url.path, 0o700) == 0 || errno == EEXIST else {
            throw failure(url.path, SystemError("create"))
        }
        var status = stat()
        guard lstat(url.path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
            status.st_uid == geteuid(), status.st_mode & 0o077 == 0
        else { throw failure(url.path, SystemError("use", code: EPERM)) }
        return url
    }

    static func failure(_ path: String, _ error: SystemError) -> SecureStorageError {
        .openFailed(
            code: ResultCode.cannotOpen.rawValue,
            message: "cannot \(error.action) \"\(path)\" for a temporary database: \(error.reason)")
    }
}
