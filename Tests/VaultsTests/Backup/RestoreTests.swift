import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults

/// Tests of what a restore replaces and what it does with keys.
struct RestoreTests {
    let vault: TestVault
    let code = RecoveryCode.random()

    init() throws {
        vault = try TestVault(rows: 5)
    }

    private func makeBackup(_ name: String = "vault.backup") throws -> URL {
        let url = vault.place.directory.appendingPathComponent(name)
        _ = try vault.withQueue {
            try VaultBackup.make(
                of: $0, at: url, unlockedBy: [code], dataKeys: [.key(vault.data)], replacing: true)
        }
        return url
    }

    @Test func `an existing vault or key is replaced only on request`() throws {
        let backup = try makeBackup()
        let key = try vault.keyStore.read("db")
        check(
            backupError({ try vault.restore(backup, code) })?.kind, equals: "taken",
            "the vault was replaced")
        let other = try TestVault(emptyWith: InMemoryKeyStore())
        try other.keyStore.store(key, forName: "kek")
        check(
            backupError({ try other.restore(backup, code) })?.kind, equals: "taken",
            "the key was replaced")
        try check(other.keyStore.read("kek"), equals: key)
        try check(vault.keyStore.read("db"), equals: key)
        try other.restore(backup, code, replacing: .anything)
        try other.checkRestored(rows: 5)
    }

    @Test func `a backup replaces the same vault of the same or an earlier generation`()
        throws
    {
        let backup = try makeBackup()
        let key = try vault.keyStore.read("db")
        try vault.restore(backup, code, replacing: .sameVaultNotNewer)
        try vault.checkRestored(rows: 5)
        try check(vault.keyStore.read("db") != key, "the old key no longer opens anything")
        // Restore again, now that both keys exist and the vault has changed.
        let kek = try vault.keyStore.read("kek")
        try vault.withStore { try $0.executeUpdate("DELETE FROM login") }
        check(
            backupError { try vault.restore(backup, code, replacing: .sameVaultNotNewer) },
            equals: .olderThanCurrent(backup: 1, current: 1))
        try vault.restore(backup, code, replacing: .sameVault)
        try vault.checkRestored(rows: 5)
        try check(vault.keyStore.read("kek") != kek)
    }

    @Test(arguments: [VaultReplacement.sameVault, .sameVaultNotNewer])
    func `the keys of a vault at another path are not replaced`(
        _ replacing: VaultReplacement
    ) throws {
        let backup = try makeBackup()
        let key = try vault.keyStore.read("db")
        let elsewhere = vault.place.directory.appendingPathComponent("elsewhere.db")
        check(
            backupError({
                try VaultBackup.restore(
                    from: backup, to: elsewhere, unlockedBy: code, keyStore: vault.keyStore,
                    keyNames: TestVault.names, replacing: replacing)
            })?.kind, equals: "taken", "the key belongs to the vault at another path")
        try check(vault.keyStore.read("db"), equals: key)
        try check(vault.withStore(VaultIdentity.read)?.generation, equals: 1)
        check(!SecureDatabaseStore.exists(at: elsewhere))
    }

    @Test(arguments: [
        "UPDATE login SET name = 'x' WHERE id = 1", "INSERT INTO counter VALUES (1, NULL)",
        "INSERT INTO counter VALUES (2, 0.5)", "DELETE FROM login WHERE id = 4",
        "UPDATE login SET secret = CAST(secret AS TEXT) WHERE id = 0",
        "CREATE INDEX i ON login (name)",
        "CREATE TABLE \"odd \"\" name\" (a, b, PRIMARY KEY (b)) WITHOUT ROWID",
    ])
    func `any change since the backup makes a vault newer`(_ change: String) throws {
        let backup = try makeBackup()
        try vault.withStore { try $0.executeUpdate(change) }
        check(
            backupError { try vault.restore(backup, code, replacing: .sameVaultNotNewer) },
            equals: .olderThanCurrent(backup: 1, current: 1))
    }

    @Test func `rewriting identical content is not a change`() throws {
        let backup = try makeBackup()
        try vault.withStore { store in
            try store.executeStatements(
                "ANALYZE; UPDATE login SET name = name; CREATE TABLE t (a); DROP TABLE t; VACUUM")
        }
        try vault.restore(backup, code, replacing: .sameVaultNotNewer)
        try vault.checkRestored(rows: 5)
    }

    @Test func `an older backup is refused unless requested, and nothing is changed`() throws {
        let old = try makeBackup("old")
        _ = try makeBackup()
        let (file, key) = (try Data(contentsOf: vault.url), try vault.keyStore.read("db"))
        check(
            backupError { try vault.restore(old, code, replacing: .sameVaultNotNewer) },
            equals: .olderThanCurrent(backup: 1, current: 2))
        try check(Data(contentsOf: vault.url), equals: file)
        try check(vault.keyStore.read("db"), equals: key)
        try check(vault.keyStore.names(), equals: ["db"])
        try vault.restore(old, code, replacing: .sameVault)
        try check(vault.withStore(VaultIdentity.read)?.generation, equals: 1)
        try vault.checkRestored(rows: 5)
    }

    @Test(arguments: [VaultReplacement.sameVault, .sameVaultNotNewer])
    func `another vault is not replaced`(_ replacing: VaultReplacement) throws {
        let backup = try makeBackup()
        let other = try TestVault(rows: 1)
        // Without an ID, vaults cannot be compared.
        check(
            backupError({
                try other.restore(backup, code, replacing: replacing)
            })?.kind, equals: "currentUnreadable", "a vault without an id was replaced")
        let id = try other.withQueue {
            try VaultBackup.make(of: $0, at: other.backup, unlockedBy: [code]).vaultID
        }
        let mine = try VaultBackup.metadata(at: backup).claimed.vaultID
        check(
            backupError { try other.restore(backup, code, replacing: replacing) },
            equals: .otherVault(backup: mine, current: id))
        // Without its key, the vault cannot be identified.
        try other.keyStore.remove("db")
        check(
            backupError({
                try other.restore(backup, code, replacing: replacing)
            })?.kind, equals: "currentUnreadable", "a vault without a key was replaced")
        try other.restore(backup, code, replacing: .anything)
        try other.checkRestored(rows: 5)
    }

    @Test func `an open vault is not replaced`() throws {
        let backup = try makeBackup()
        try vault.withStore { store throws -> Void in
            let error = backupError { try vault.restore(backup, code, replacing: .sameVault) }
            check(error?.kind, equals: "inUse", "the open vault was replaced")
            try check(store.int(forQuery: "SELECT count(*) FROM login"), equals: 5)
        }
        try check(vault.keyStore.names(), equals: ["db"])
        try check(vault.leftovers(), equals: [])
    }

    @Test func `an error thrown while preparing leaves everything unchanged`() throws {
        struct No: Error {}
        let backup = try makeBackup()
        let other = try TestVault(emptyWith: InMemoryKeyStore())
        #expect(throws: No.self) {
            try VaultBackup.restore(
                from: backup, to: other.url, unlockedBy: code, keyStore: other.keyStore,
                keyNames: TestVault.names, preparing: { _, _ in throw No() })
        }
        try check(other.place.fileNames(), equals: [])
        try check(other.keyStore.names(), equals: [])
    }

    @Test func `a failing key store leaves the old vault or a restore that can be finished`() throws
    {
        let backup = try makeBackup()
        for failing in 1...12 {
            let keyStore = FailingKeyStore(failing: failing)
            let other = try TestVault(emptyWith: keyStore)
            let thrown = keyStoreError { try other.restore(backup, code) }
            keyStore.heal()
            try VaultBackup.finishInterruptedRestore(
                at: other.url, keyStore: keyStore, keyNames: TestVault.names)
            if SecureDatabaseStore.exists(at: other.url) {
                try other.checkRestored(rows: 5)
            } else {
                check(thrown != nil)
                try check(keyStore.names(), equals: [])
            }
            try check(other.leftovers(), equals: [])
        }
    }

    @Test func `there is nothing to finish unless a restore was interrupted`() throws {
        let backup = try makeBackup()
        func finish(_ vault: TestVault) throws -> Bool {
            try VaultBackup.finishInterruptedRestore(
                at: vault.url, keyStore: vault.keyStore, keyNames: TestVault.names)
        }
        try check(!finish(vault))
        let other = try TestVault(emptyWith: InMemoryKeyStore())
        try check(!finish(other))
        try other.restore(backup, code)
        try check(!finish(other))
        // A key that opens nothing is dropped if the right one is present.
        try other.keyStore.store(.random(count: 32), forName: "db (restoring)")
        try other.keyStore.store(.random(count: 32), forName: "kek (restoring)")
        try check(finish(other))
        try other.checkRestored(rows: 5)
        // If neither key opens the vault, both are kept.
        let key = try other.keyStore.read("db")
        try other.keyStore.store(.random(count: 32), forName: "db")
        try other.keyStore.store(.random(count: 32), forName: "db (restoring)")
        check(
            backupError({ _ = try finish(other) })?.kind, equals: "currentUnreadable",
            "a key was dropped"
        )
        try check(other.keyStore.names(), equals: ["db", "db (restoring)", "kek"])
        try other.keyStore.store(key, forName: "db (restoring)")
        try check(finish(other))
        try other.checkRestored(rows: 5)
    }

    @Test func `invalid key names are refused`() throws {
        let backup = try makeBackup()
        let other = try TestVault(emptyWith: InMemoryKeyStore())
        for (one, two) in [("", "k"), ("k", "k"), (String(repeating: "k", count: 241), "k")] {
            let error = backupError {
                try VaultBackup.restore(
                    from: backup, to: other.url, unlockedBy: code, keyStore: other.keyStore,
                    keyNames: VaultKeyNames(database: one, keyEncryption: two))
            }
            check(error?.kind, equals: "unacceptableContents", "\(one) and \(two) were accepted")
        }
    }
}

/// A key store whose n-th call and all later ones fail like those of a locked keychain.
private final class FailingKeyStore: KeyStore, @unchecked Sendable {
    // @unchecked: `calls` is only touched under `lock`.
    private let lock = NSLock()
    private var calls: Int
    private let store = InMemoryKeyStore()

    init(failing: Int) { calls = failing }

    func heal() { lock.withLock { calls = .max } }

    private func call() throws {
        try lock.withLock {
            calls -= 1
            if calls <= 0 { throw KeyStoreError.unavailable(reason: "test") }
        }
    }

    func store(_ secret: SecretBytes, forName name: String) throws {
        try call()
        try store.store(secret, forName: name)
    }

    func insert(_ secret: SecretBytes, forName name: String) throws {
        try call()
        try store.insert(secret, forName: name)
    }

    func read(_ name: String) throws -> SecretBytes {
        try call()
        return try store.read(name)
    }

    func remove(_ name: String) throws -> Bool {
        try call()
        return try store.remove(name)
    }

    func names() throws -> [String] { try store.names() }
}
