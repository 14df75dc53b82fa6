import Foundation
import SecureStorage
import Testing
import TestSupport
import Vaults
@testable import VaultsTests

struct DataVaultSpeedTests {
    @Test(.enabled(if: !Sanitizer.isPresent))
    func `reading a string from a vault costs at most half more than from a key-value store`()
        throws
    {
        let home = try VaultHome()
        let container = try DataVaultContainer(directory: home.directory)
        var policy = DataVaultPasswordPolicy()
        policy.lockTimeout = 3600
        let vault = try container.create(id: "a", password: "", policy: policy)
        let store = SecureKeyValueStore(fullDatabasePath: home.path + "/store.db")
        try store.open(with: .raw(.random(count: 32)))
        let names = (0..<500).map { "name \($0)" }
        for name in names {
            try vault.setString(name, value: "value of \(name)")
            try store.put("value of \(name)", forKey: name)
        }
        func best(_ best: Duration, _ read: (String) throws -> String?) throws -> Duration {
            let before = ThreadTime.now
            for name in names where try read(name) == nil {
                throw CocoaError(.coderValueNotFound)
            }
            return min(best, ThreadTime.now - before)
        }
        // Alternating, and the best of many runs: other processes use the caches, too.
        var times = (store: Duration.seconds(60), vault: Duration.seconds(60))
        for _ in 0..<30 {
            times.store = try best(times.store) { try store.getString($0) }
            times.vault = try best(times.vault) { try vault.getString($0) }
        }
        let ratio = times.vault / times.store
        print("a string of a vault costs \(ratio) times one of a key-value store")
        // Unoptimised code costs the vault more, because more of its code is its own.
        check(ratio <= (isOptimized ? 1.5 : 2))
    }

    private var isOptimized: Bool {
        var isOptimized = true
        assert(
            {
                isOptimized = false
                return true
            }())
        return isOptimized
    }
}
