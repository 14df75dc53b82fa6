internal import Foundation

/// Keeps all others from one vault's record, threads of this process and other processes.
///
/// The lock is the kernel's, `flock` on a file that stays when the vault goes; it goes with a process that dies.
/// Threads exclude each other as well, since each call opens the file for itself.
enum VaultLock {
    /// Longer than several derivations of a key, one after the other.
    private static let patience: Duration = .seconds(60)

    static func held<R>(at path: String, _ body: () throws -> R) throws -> R {
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        defer {
            // A child that was forked meanwhile has the descriptor too, and would keep the lock.
            flock(descriptor, LOCK_UN)
            close(descriptor)
        }
        let start = ContinuousClock.now
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw failure(path) }
            guard ContinuousClock.now - start < patience else {
                throw DataVaultError.ioWriteError(
                    cause: KeyStoreError.unavailable(
                        reason: "another thread or process has been at work on the vault"))
            }
            usleep(1000)
        }
        return try body()
    }

    private static func failure(_ path: String) -> DataVaultError {
        .ioWriteError(cause: VaultPlace.systemError(errno, path))
    }
}
