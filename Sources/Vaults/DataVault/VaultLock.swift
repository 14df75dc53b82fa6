internal import Foundation

/// Excludes other threads and processes from one vault's record.
///
/// The lock is the kernel's: `flock` on a file that remains after the vault is deleted. The kernel
/// releases it when the process dies. Threads exclude each other as well, because each call opens
/// the file separately.
struct VaultLock {
    let path: String
    let access: FileAccess

    /// Longer than several key derivations in a row.
    private static let patience: Duration = .seconds(60)

    func held<R>(_ body: () throws -> R) throws -> R {
        guard let result = try held(patience: Self.patience, body) else {
            throw DataVaultError.ioWriteError(
                cause: KeyStoreError.unavailable(
                    reason: "another thread or process is using the vault"))
        }
        return result
    }

    /// Returns nil, without calling `body`, if the lock stays taken for all of `patience`.
    func held<R>(patience: Duration, _ body: () throws -> R) throws -> R? {
        let start = ContinuousClock.now
        repeat {
            let descriptor = access.openLockFile(path)
            guard descriptor >= 0 else { throw failure }
            defer {
                // A child forked in the meantime also has the descriptor, which would keep the
                // lock.
                flock(descriptor, LOCK_UN)
                close(descriptor)
            }
            // If the file was unlinked in the meantime, this lock excludes no one: retry.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                if isNamed(descriptor) { return try body() }
                continue
            }
            guard errno == EWOULDBLOCK || errno == EINTR else { throw failure }
            usleep(1000)
        } while ContinuousClock.now - start < patience
        return nil
    }

    private func isNamed(_ descriptor: Int32) -> Bool {
        var own = stat()
        var named = stat()
        return fstat(descriptor, &own) == 0 && lstat(path, &named) == 0
            && own.st_dev == named.st_dev && own.st_ino == named.st_ino
    }

    private var failure: DataVaultError {
        .ioWriteError(cause: VaultPlace.systemError(errno, path))
    }
}
