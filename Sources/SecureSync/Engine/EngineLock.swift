internal import Foundation
internal import SecureStoragePlatform

/// Excludes other engines, of this and of other processes, from work on a file: an app, and a
/// command line beside it.
///
/// Each step of an engine is a transaction, but what it concludes from the store holds only while
/// nobody else goes on with the same log. The lock is the kernel's, on an empty file `NAME-sync`
/// beside the database, which goes with the lock. The database itself is not locked by it.
///
/// Not where systems end an app that holds a lock while it is suspended: an app and its extensions
/// take turns themselves there.
final class EngineLock: Sendable {
    private static let suffix = "-sync"

    private let path: String
    private let file: LockFile

    private init(_ path: String, _ file: LockFile) { (self.path, self.file) = (path, file) }

    // Before the lock is released: an engine that waits opens the path again then. If somebody has
    // removed the file, another engine may have created and locked one of that name.
    deinit { if file.descriptor.isNamed(path) { _ = unlink(path) } }

    /// Takes the lock of a database, and waits for other engines.
    ///
    /// - Parameters:
    ///   - url: The database's.
    ///   - patience: How long to wait.
    /// - Returns: nil where there is no lock: on iOS and the like, and in a directory where no file
    ///   can be created.
    /// - Throws: `SyncError.otherEngine` after `patience`; `SyncError.store` on a file system
    ///   without locks.
    static func take(beside url: URL, patience: Duration) async throws -> EngineLock? {
        #if os(iOS) || os(tvOS) || os(visionOS) || os(watchOS)
            return nil
        #else
            let path = url.path + suffix
            var backoff = Backoff(
                patience: patience, first: .milliseconds(5), longest: .milliseconds(200))
            while true {
                do {
                    let file = try LockFile.take(path, patience: .zero) { try open(path, url) }
                    if let file { return EngineLock(path, file) }
                } catch is CannotCreate {
                    return nil
                } catch let error as SystemError {
                    // Another user's file, who has not yet let others open it.
                    guard error.isDenial else {
                        throw SyncError.store(
                            code: "lock", message: "\(path) cannot be locked: \(error.reason)",
                            isTransient: false)
                    }
                }
                guard let pause = backoff.next() else { throw SyncError.otherEngine }
                try await Task.sleep(for: pause)
            }
        #endif
    }

    private struct CannotCreate: Error {}

    /// Opens the file, or creates it so that whoever can read the database can wait for its lock,
    /// also after a crash: root's file would keep the database's owner out.
    ///
    /// One that is there may be anybody's, a link to a file of another's too, so it stays as it is.
    private static func open(_ path: String, _ url: URL) throws -> Descriptor {
        while true {
            do { return try open(path) } catch let error as SystemError where error.code == ENOENT {
            }
            do { return try create(path, url) } catch let error as SystemError {
                if error.isDenial { throw CannotCreate() }
                guard error.code == EEXIST else { throw error }
            }
        }
    }

    private static func open(_ path: String) throws -> Descriptor {
        let flags = O_NOFOLLOW | O_NONBLOCK
        // NFS locks only what is open for writing; of another user's file, only reading is allowed.
        do {
            return try Descriptor(path, O_RDWR | flags)
        } catch let error as SystemError where error.isDenial {
            return try Descriptor(path, O_RDONLY | flags)
        }
    }

    private static func create(_ path: String, _ url: URL) throws -> Descriptor {
        var status = stat()
        guard stat(url.path, &status) == 0 else { return try Descriptor(creating: path) }
        let descriptor = try Descriptor(creating: path, mode: status.st_mode & 0o666)
        // Root can give it away; others can give it to one of their groups.
        if fchown(descriptor.number, status.st_uid, status.st_gid) != 0 {
            _ = fchown(descriptor.number, uid_t.max, status.st_gid)
        }
        return descriptor
    }
}

extension SystemError {
    fileprivate var isDenial: Bool { [EACCES, EPERM, EROFS].contains(code) }
}
