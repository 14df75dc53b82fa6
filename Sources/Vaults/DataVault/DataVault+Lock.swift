internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

// The vault is unlocked while `state` has an opened one.

extension DataVault {
    /// Whether the vault is locked; reading this locks a vault that was idle too long or no longer
    /// exists.
    ///
    /// Reading this property does not count as use.
    public var isLocked: Bool { openedNow == nil }

    /// Locks the vault: closes its file and clears its keys from memory.
    ///
    /// Waits for calls in progress on other threads; a call that is about to unlock the vault
    /// leaves it locked and throws `.locked`.
    public func lock() {
        state.withLock { $0.locks += 1 }
        close()
    }

    /// Closes a vault that no longer exists, without stopping a call that opens its successor.
    func close() {
        let closed = state.withLock { state in
            defer { state.opened = nil }
            return state.opened
        }
        closed?.close()
    }

    /// What the last unlock found to be earlier than at the one before; nothing while the vault is
    /// locked.
    public var rollback: DataVaultRollback { openedNow?.rollback ?? [] }

    /// Restarts the idle time.
    ///
    /// - Throws: `DataVaultError`: `.locked`; `.doesNotExist` if the vault was destroyed in the
    ///   meantime, `.ioReadError` if its file is missing.
    public func resetLockTimeout() throws {
        try withOpened { _ in }
    }

    // MARK: - Use

    /// Passes the opened vault, which counts as use until `body` returns.
    func withOpened<R>(_ body: (OpenedVault) throws -> R) throws -> R {
        let now = container.clock.now
        let opened = state.withLock { state in
            let opened = state.current(at: now)
            opened?.idle.beginUse()
            return opened
        }
        guard let opened else { throw absence() ?? DataVaultError.locked }
        defer {
            let now = container.clock.now
            state.withLock { _ in opened.idle.endUse(at: now) }
        }
        do {
            guard opened.values.isThere else { throw VaultValues.missing }
            return try body(opened)
        } catch {
            // Thrown by code that knows the reason.
            if case DataVaultError.doesNotExist = error { throw error }
            guard !opened.values.isInPlace else {
                // Another process has given the vault another key: the password is needed again.
                guard Self.isOfFile(error),
                    let record = try? container.records.readyRecord(place),
                    record.nextKeys != nil || record.keys != opened.keys
                else { throw error }
                drop(opened)
                throw DataVaultError.locked
            }
            drop(opened)
            throw absence(of: opened.incarnation)
                ?? DataVaultError.ioReadError(cause: VaultValues.missing)
        }
    }

    /// The number of `lock()` calls.
    var lockCount: Int { state.withLock { $0.locks } }

    /// Opens the vault with the key from a right password; under the vault's lock file, and
    /// invisible to other threads until `publish`.
    func open(_ record: VaultRecord, _ key: DataEncryptionKey) throws -> OpenedVault {
        try place.prepareToOpen(record.incarnation)
        return try OpenedVault(
            record, key: key, databasePath: place.databasePath(record.incarnation),
            date: container.records.date(), now: container.clock.now)
    }

    /// Takes ownership of an opened vault; under the vault's lock file.
    ///
    /// - Throws: `DataVaultError.locked` if `lock()` was called since the count was `locks`.
    func publish(_ opened: OpenedVault, unlessLockedSince locks: Int) throws {
        let isTaken = state.withLock { state in
            guard state.locks == locks else { return false }
            state.opened = opened
            return true
        }
        guard isTaken else {
            opened.close()
            throw DataVaultError.locked
        }
    }

    /// The opened vault, without counting as use; nil if another process has destroyed the vault.
    var openedNow: OpenedVault? {
        let now = container.clock.now
        guard let opened = state.withLock({ $0.current(at: now) }) else { return nil }
        guard opened.values.isThere else {
            drop(opened)
            return nil
        }
        return opened
    }

    /// Sets the idle timeout of the opened vault, and restarts its idle time.
    func setTimeout(of opened: OpenedVault, _ timeout: Duration?) {
        let now = container.clock.now
        state.withLock { _ in opened.idle.restart(at: now, limit: timeout) }
    }

    private static func isOfFile(_ error: any Error) -> Bool {
        switch error {
        case DataVaultError.ioReadError, DataVaultError.ioWriteError: true
        default: false
        }
    }

    func drop(_ gone: OpenedVault) {
        state.withLock { if $0.opened === gone { $0.opened = nil } }
        gone.close()
    }

    /// Returns the error for a vault that does not exist, or is not the one that was open.
    ///
    /// - Parameter incarnation: That of the vault that was open. Another vault with its id, created
    ///   after it was deleted, is locked.
    /// - Returns: The error; nil if the vault exists or its existence cannot be determined.
    private func absence(of incarnation: Data? = nil) -> DataVaultError? {
        do {
            let record = try container.records.readyRecord(place)
            return incarnation == nil || incarnation == record.incarnation ? nil : .locked
        } catch let error as DestroyedVault {
            return container.destroyedError(place, error)
        } catch DataVaultError.doesNotExist(let isSelfDestructed, let cause) {
            return .doesNotExist(isSelfDestructed: isSelfDestructed, cause: cause)
        } catch {
            return nil
        }
    }
}
