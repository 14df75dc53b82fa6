internal import Foundation

/// The vaults that somebody in this process refers to: one object for each.
enum LiveVaults {
    private struct Reference {
        weak var vault: DataVault?
    }

    private final class Table: @unchecked Sendable {
        // @unchecked: `references` is only touched under `lock`.
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

    /// By a vault that goes; there may be a new one already.
    static func forget(_ place: VaultPlace) {
        let other = table.lock.withLock {
            let other = table.references[place.identity]?.vault
            if other == nil { table.references[place.identity] = nil }
            return other
        }
        // Not under the lock: it may be the last reference, and end here.
        withExtendedLifetime(other) {}
    }
}
