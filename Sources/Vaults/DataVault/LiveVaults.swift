internal import Foundation
internal import SecureStoragePlatform

/// The vaults referenced in this process: one object for each.
enum LiveVaults {
    private struct Reference {
        weak var vault: DataVault?
    }

    private static let table = Locked([Data: Reference]())

    static func vault(_ place: VaultPlace, in container: DataVaultContainer) -> DataVault {
        table.withLock { table in
            if let vault = table[place.identity]?.vault { return vault }
            let vault = DataVault(place, in: container)
            table[place.identity] = Reference(vault: vault)
            return vault
        }
    }

    static func existing(_ place: VaultPlace) -> DataVault? {
        table.withLock { $0[place.identity]?.vault }
    }

    /// Called by a vault that is being released; a new one may already exist.
    static func forget(_ place: VaultPlace) {
        let other = table.withLock { table in
            let other = table[place.identity]?.vault
            if other == nil { table[place.identity] = nil }
            return other
        }
        // Released outside the lock: it may be the last reference, and end here.
        withExtendedLifetime(other) {}
    }
}
