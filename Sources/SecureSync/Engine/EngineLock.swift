internal import Foundation
internal import SecureStoragePlatform

/// Lets one engine at a time work on a file, across processes: an app, and a command line beside
/// it.
///
/// Each step of an engine is a transaction, but its conclusions from the store hold only while no
/// other engine continues the same log. The kernel holds the lock on an empty file `NAME-sync`
/// beside the database, which is removed with the lock. The database itself is not locked.
///
/// Not used where the system ends an app that holds a lock while suspended: there an app and its
/// extensions take turns themselves.
final class EngineLock: Sendable {
    private static let suffix = "-sync"

    private let path: String
    private let file: LockFile

    private init(_ path: String, _ file: LockFile) { (self.path, self.file) = (path, file) }

    // Before the lock is released: a waiting engine then opens the path again. If the file was
    // removed, another engine may have created and locked a new one of that name.
    deinit { if file.descriptor.isNamed(path) { _ = unlink(path) } }

    /// Locks a database, waiting for other engines.
    ///
    /// - Parameters:
    ///   - url: The database's.
    ///   - patience: How long to wait.
    /// - Returns: nil if there is no lock: on iOS and similar systems, or if no file can be created
    ///   in the directory.
    /// - Throws: `SyncError.otherEngine` after `patience`; `SyncError.lockFailed` on a file system
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
                    // Another user's file, not yet opened up to others.
                    guard error.isDenial else {
                        throw SyncError.lockFailed(
                            "\(path) cannot be locked: \(error.reason)")
                    }
                }
                guard let pause = backoff.next() else { throw SyncError.otherEngine }
                try await Task.sleep(for: pause)
            }
        #endif
    }

    private struct CannotCreate: Error {}

    /// Opens the file, or creates it so that every user who can read the database can wait for its
    /// lock, even after a crash: a file of root's would keep the database's owner out.
    ///
    /// An existing file may belong to anyone, or link to someone else's file, so it is left
    /// unchanged.
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
        // NFS locks only files open for writing; another user's file may only be readable.
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
        // Root can change the owner; other users can only set one of their groups.
        if fchown(descriptor.number, status.st_uid, status.st_gid) != 0 {
            _ = fchown(descriptor.number, uid_t.max, status.st_gid)
        }
        return descriptor
    }
}

extension SystemError {
    fileprivate var isDenial: Bool { [EACCES, EPERM, EROFS].contains(code) }
}
