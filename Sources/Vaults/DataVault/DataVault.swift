internal import Foundation
internal import SecureStorage

/// Strings and data under names, encrypted with a password.
///
/// A vault is locked or unlocked. Locked, it gives nothing away; unlocked, it reads and writes. It
/// locks itself after some time without use, when it is touched the next time, and it destroys
/// itself after too many wrong passwords: both as its ``DataVaultPasswordPolicy`` says.
/// `Docs/DataVault.md` is the guide.
///
/// Vaults come from `DataVault.create(id:password:)` and `DataVault.vault(id:)`, or from a
/// ``DataVaultContainer``. In one process there is one object for each vault, as long as somebody
/// refers to it: the last reference that goes locks it. Several processes may use one vault.
///
/// Thread-safe. Calls block: for the disk, for the derivation of a key (about half a second), and
/// for others that try a password or make or delete the vault at the same time, after 60 seconds
/// with `.ioWriteError`.
public final class DataVault: @unchecked Sendable {
    // @unchecked: `opened` and `locks` are only touched under `gate`.
    let place: VaultPlace
    let container: DataVaultContainer

    private let gate = NSLock()
    private var opened: OpenedVault?
    private var locks = 0

    /// How many bytes of UTF-8 an id and the name of a value have at most.
    public static let nameLengthLimit = 255

    /// How many bytes a value has at most, 16 MiB; a vault is for small ones.
    public static let valueSizeLimit = 16 << 20

    init(_ place: VaultPlace, in container: DataVaultContainer) {
        self.place = place
        self.container = container
    }

    deinit {
        opened?.close()
        LiveVaults.forget(place)
    }

    /// The id of the vault.
    public var id: String { place.id }

    // MARK: - Lock

    /// Whether the vault is locked; it locks itself now when it was not used for too long, or is no
    /// more.
    ///
    /// Asking is no use.
    public var isLocked: Bool { openedNow == nil }

    /// Locks the vault: its file is closed, and its keys are cleared from memory.
    ///
    /// After the calls that are at work on other threads; one that is about to unlock the vault
    /// leaves it locked, and throws `.locked`.
    public func lock() {
        gate.withLock { locks += 1 }
        close()
    }

    /// Locks the vault because of what has become of it; a call that opens the next one goes on.
    func close() {
        let closed = gate.withLock {
            defer { opened = nil }
            return opened
        }
        closed?.close()
    }

    /// Begins the time of inactivity anew.
    ///
    /// - Throws: `DataVaultError`: `.locked`; `.doesNotExist` when the vault was destroyed
    ///   meanwhile, `.ioReadError` when its file is gone.
    public func resetLockTimeout() throws {
        try withOpened { _ in }
    }

    /// What is open, unless it was not used for too long; under `gate`.
    private var current: OpenedVault? {
        guard let opened, opened.users == 0, let timeout = opened.timeout,
            container.clock.now - opened.lastUse >= timeout
        else { return opened }
        self.opened = nil
        opened.close()
        return nil
    }

    // MARK: - Use

    /// Lends what is open, which counts as a use until `body` returns.
    func withOpened<R>(_ body: (OpenedVault) throws -> R) throws -> R {
        let opened = gate.withLock {
            let opened = current
            opened?.users += 1
            return opened
        }
        guard let opened else { throw absence() ?? DataVaultError.locked }
        defer {
            gate.withLock {
                opened.users -= 1
                if opened.timeout != nil { opened.lastUse = container.clock.now }
            }
        }
        do {
            guard opened.values.isThere else { throw VaultValues.missing }
            return try body(opened)
        } catch {
            // Told already, by who knows why.
            if case DataVaultError.doesNotExist = error { throw error }
            guard !opened.values.isInPlace else { throw error }
            drop(opened)
            throw absence(of: opened.incarnation)
                ?? DataVaultError.ioReadError(cause: VaultValues.missing)
        }
    }

    /// How often `lock()` was called.
    var lockCount: Int { gate.withLock { locks } }

    /// Opens what a right password opens; under the vault's lock file, and nobody has it before
    /// `publish`.
    func open(_ record: VaultRecord, _ key: DataEncryptionKey) throws -> OpenedVault {
        try place.prepareToOpen(record.incarnation)
        return try OpenedVault(
            record, key: key, databasePath: place.databasePath(record.incarnation),
            now: container.clock.now)
    }

    /// Takes over what was opened; under the vault's lock file.
    ///
    /// - Throws: `DataVaultError.locked` when `lock()` was called since there were `locks`.
    func publish(_ opened: OpenedVault, unlessLockedSince locks: Int) throws {
        let isTaken = gate.withLock {
            guard self.locks == locks else { return false }
            self.opened = opened
            return true
        }
        guard isTaken else {
            opened.close()
            throw DataVaultError.locked
        }
    }

    /// What is open, without using it; nothing when another process has destroyed the vault.
    var openedNow: OpenedVault? {
        guard let opened = gate.withLock({ current }) else { return nil }
        guard opened.values.isThere else {
            drop(opened)
            return nil
        }
        return opened
    }

    /// Gives what is open another time of inactivity.
    func setTimeout(of opened: OpenedVault, _ timeout: Duration?) {
        gate.withLock {
            opened.timeout = timeout
            opened.lastUse = container.clock.now
        }
    }

    private func drop(_ gone: OpenedVault) {
        gate.withLock { if opened === gone { opened = nil } }
        gone.close()
    }

    /// The error for a vault that does not exist, or is another one than was open.
    ///
    /// - Parameter incarnation: Of the vault that was open. Another one with its id, made after
    ///   that was deleted, is locked.
    /// - Returns: nil for one that exists, or of which that cannot be told.
    private func absence(of incarnation: Data? = nil) -> DataVaultError? {
        do {
            let record = try container.readyRecord(place)
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

extension DataVault: CustomStringConvertible, CustomReflectable {
    /// The id.
    public var description: String { "DataVault(\(KeyStoreError.quoted(id)))" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
