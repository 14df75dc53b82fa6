internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// Strings and data under names, encrypted with a password.
///
/// A vault is locked or unlocked. Locked, it reveals nothing; unlocked, it reads and writes. After
/// a period without use it locks itself, at the next access; after too many wrong passwords it
/// destroys itself. Its ``DataVaultPasswordPolicy`` sets both. `Docs/DataVault.md` is the guide.
///
/// Vaults come from `DataVault.create(id:password:)` and `DataVault.vault(id:)`, or from a
/// ``DataVaultContainer``. A process has one object per vault for as long as it is referenced;
/// releasing the last reference locks the vault. Several processes may use one vault.
///
/// Thread-safe. Calls block for the disk, for the derivation of a key (about half a second), and
/// for other calls that try a password or create or delete the vault at the same time; after 60
/// seconds they throw `.ioWriteError`.
public final class DataVault: Sendable {
    let place: VaultPlace
    let container: DataVaultContainer

    struct State {
        var opened: OpenedVault?
        /// The number of `lock()` calls.
        var locks = 0

        /// Returns the opened vault, or closes it and returns nil if it was idle too long.
        mutating func current(at now: Duration) -> OpenedVault? {
            guard let opened, opened.idle.isOver(at: now) else { return opened }
            self.opened = nil
            opened.close()
            return nil
        }
    }

    let state = Locked(State())

    /// The maximum length of an id and of a value's name, in bytes of UTF-8.
    public static let nameLengthLimit = 255

    /// The maximum size of a value, 16 MiB; a vault is for small values.
    public static let valueSizeLimit = 16 << 20

    init(_ place: VaultPlace, in container: DataVaultContainer) {
        self.place = place
        self.container = container
    }

    deinit {
        state.withLock { $0.opened }?.close()
        LiveVaults.forget(place)
    }

    /// The id of the vault.
    public var id: String { place.id }
}

extension DataVault: CustomStringConvertible, CustomReflectable {
    /// The id.
    public var description: String { "DataVault(\(KeyStoreError.quoted(id)))" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
