internal import Foundation

/// The vaults referenced in this process: one object for each.
enum LiveVaults {
    private struct Reference {
        weak var vault: DataVault?
    }

    private final class Table: @unchecked Sendable {
        // @unchecked: `references` is accessed only under `lock`.
        let lock = NSLock()
        var references: [Data: Reference] = [:]
    }

    private static let table = Table()

    static func vault(_ place: VaultPlace, in container: DataVaultContainer) -> DataVault {
        table.lock.withLock {
            if let vault = table.references[place.identity]?.vault { return vault }
            let vault = DataVault(place, in: container)
            table.references[place.identity] = Reference(vault: vault)
            return vault
        }
    }

    static func existing(_ place: VaultPlace) -> DataVault? {
        table.lock.withLock { table.references[place.identity]?.vault }
    }

    /// Called by a vault that is being released; a new one may already exist.
    static func forget(_ place: VaultPlace) {
        let other = table.lock.withLock {
            let other = table.references[place.identity]?.vault
            if other == nil { table.references[place.identity] = nil }
            return other
        }
        // Released outside the lock: it may be the last reference, and end here.
        withExtendedLifetime(other) {}
    }
}
