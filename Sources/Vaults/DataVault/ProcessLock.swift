internal import Foundation
internal import SecureStoragePlatform

/// Excludes other threads and processes from a part of the work on one vault.
///
/// The lock is the kernel's: `flock` on a file that remains after the vault is deleted. The kernel
/// releases it when the process dies. Threads exclude each other as well, because each call opens
/// the file separately.
struct ProcessLock {
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
        let lock: LockFile?
        do {
            lock = try LockFile.take(path, patience: patience) { try openFile() }
        } catch let error as SystemError {
            throw DataVaultError.ioWriteError(cause: VaultPlace.systemError(error.code, path))
        }
        guard let lock else { return nil }
        return try withExtendedLifetime(lock) { try body() }
    }

    private func openFile() throws -> Descriptor {
        do {
            return try access.openLockFile(path)
        } catch let error as SystemError where error.code == EROFS {
            // The file of an existing vault can be locked all the same: its key store may be
            // somewhere else.
            do {
                return try Descriptor(path, O_RDONLY | O_NOFOLLOW)
            } catch let missing as SystemError where missing.code == ENOENT {
                throw error
            }
        }
    }
}
