internal import CSecureStoragePlatform
internal import Foundation

/// An exclusive lock on a file or directory (`flock`), held until the object goes or the process
/// dies.
///
/// Threads exclude each other as well, because each opens the file separately.
package final class LockFile: Sendable {
    package let descriptor: Descriptor
    private let forkCount = cplatform_fork_count()

    private init(_ descriptor: Descriptor) { self.descriptor = descriptor }

    // A child forked in the meantime shares the descriptor, and would keep the lock. It has a copy
    // of this object too, and must not end the parent's lock.
    deinit {
        if forkCount == cplatform_fork_count() { flock(descriptor.number, LOCK_UN) }
    }

    /// Locks the file that has the name `path`.
    ///
    /// A holder may remove the file before it releases the lock. A caller that then locks the
    /// nameless file excludes no one, so it opens the path again.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - patience: How long to wait for another holder.
    ///   - open: Opens the file, and may create it.
    /// - Returns: nil if others have held the lock, or kept removing the file, for all of
    ///   `patience`.
    /// - Throws: `SystemError`; the error of `open`.
    package static func take(
        _ path: String, patience: Duration, open: () throws -> Descriptor
    ) throws -> LockFile? {
        let end = ContinuousClock.now + patience
        var isOver: Bool { ContinuousClock.now >= end }
        var removals = 0
        while true {
            let descriptor = try open()
            if try descriptor.lock() {
                if descriptor.isNamed(path) { return LockFile(descriptor) }
                removals += 1
                // Bounded, since a file system may give a file another identity at each look.
                guard removals < 100 || !isOver else { return nil }
            } else {
                guard !isOver else { return nil }
                usleep(1000)
            }
        }
    }
}
