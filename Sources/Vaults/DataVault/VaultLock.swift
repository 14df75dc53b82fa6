internal import Foundation

/// Keeps all others from one vault's record, threads of this process and other processes.
///
/// The lock is the kernel's, `flock` on a file that stays when the vault goes; it goes with a
/// process that dies. Threads exclude each other as well, since each call opens the file for
/// itself.
struct VaultLock {
    let path: String
    let access: FileAccess

    /// Longer than several derivations of a key, one after the other.
    private static let patience: Duration = .seconds(60)

    func held<R>(_ body: () throws -> R) throws -> R {
        guard let result = try held(patience: Self.patience, body) else {
            throw DataVaultError.ioWriteError(
                cause: KeyStoreError.unavailable(
                    reason: "another thread or process has been at work on the vault"))
        }
        return result
    }

    /// Gives nil, without a call of `body`, when others have the lock all the time.
    func held<R>(patience: Duration, _ body: () throws -> R) throws -> R? {
        let start = ContinuousClock.now
        repeat {
            let descriptor = access.openLockFile(path)
            guard descriptor >= 0 else { throw failure }
            defer {
                // A child that was forked meanwhile has the descriptor too, and would keep the
                // lock.
                flock(descriptor, LOCK_UN)
                close(descriptor)
            }
            // A file that was removed meanwhile keeps nobody out who opens the path now.
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
