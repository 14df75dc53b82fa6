import Foundation
import SecureStorage
import Testing
import TestSupport
import VaultsTestKit

@testable import Vaults
@testable import VaultsTests

/// Tests of backups of a whole vault, including its levels, and of restoring them.
struct SecureVaultBackupTests {
    let folder: VaultFolder
    let device: VaultFolder
    let code = RecoveryCode.random()

    init() throws {
        folder = try VaultFolder.make()
        device = try VaultFolder.make()
    }

    static let old = SecretBytes(utf8: "correct horse")
    static let new = SecretBytes(utf8: "battery staple")

    @Test func `on another device both levels open with the new password, and hashes are the same`()
        throws
    {
        defer { clear() }
        let (card, hash) = try folder.withVault(folder.store(), quick: false) { vault throws in
            try vault.store("a", "text")
            try vault.levels.resetL2Password(oldPassword: nil, newPassword: Self.old)
            let card = try vault.levels.l3Encrypt(data: Data([1, 2]), password: Self.old)
            try backUp(vault, password: Self.old)
            return (card, try vault.providers.crypto.hashData(Data([3])))
        }
        try device.factory(device.store(), quick: false)
            .restore(from: backup, to: device.file, unlockedBy: code, newPassword: Self.new)
        try device.withVault(device.store(), quick: false) { (vault: NoteVault) throws in
            try check(vault.titles(), equals: ["a"])
            check(vaultError { _ = try vault.text(1) }, equals: "authRequired")
            check(
                vaultError { try vault.levels.authWith(password: Self.old) },
                equals: "invalidPassword")
            try vault.levels.authWith(password: Self.new)
            try check(vault.text(1), equals: "text")
            try check(
                vault.levels.l3Decrypt(data: card, password: Self.new), equals: Data([1, 2]))
            try check(vault.providers.crypto.hashData(Data([3])), equals: hash)
            try check(
                !vault.providers.database.db.read {
                    try $0.tableExists("securestorage_restored")
                })
        }
        let (one, two) = (try folder.store(), try device.store())
        try check(
            two.names(), equals: ["hashing-salt", "l1-key", "l2-key"].map { "SecureVault." + $0 })
        for name in ["l1-key", "l2-key"] {
            try check(one.read("SecureVault." + name) != two.read("SecureVault." + name))
        }
        // The first device works as before.
        try folder.withVault(one, quick: false) { (vault: NoteVault) throws in
            try vault.levels.authWith(password: Self.old)
            try check(vault.text(1), equals: "text")
        }
    }

    @Test func `the steps in the guide work`() throws {
        defer { clear() }
        let (code, backupURL, password) = (code, backup, Self.old)
        let typed = code.formatted
        try folder.withVault(InMemoryKeyStore()) { vault throws in
            try vault.store("a", "text")
            try vault.levels.resetL2Password(oldPassword: nil, newPassword: password)
            let levels = vault.levels
            // begin
            try levels.makeBackup(at: backupURL, unlockedBy: [code], password: password)
            // end
        }
        let factory = device.factory(InMemoryKeyStore(), quick: true)
        let file = device.file
        // begin
        try factory.restore(
            from: backupURL, to: file, unlockedBy: RecoveryCode(typed), newPassword: password)
        let vault = try factory.makeVault(reporter: nil)
        // end
        try vault.levels.authWith(password: password)
        try check(vault.text(1), equals: "text")
        vault.providers.database.db.close()
    }

    @Test func `without a new password the vault has a generated one, as after a first run`() throws
    {
        defer { clear() }
        try folder.withVault(folder.store()) { vault throws in
            try vault.store("a", "text")
            try backUp(vault, password: nil)
        }
        let store = InMemoryKeyStore()
        try device.factory(store, quick: true)
            .restore(from: backup, to: device.file, unlockedBy: code, newPassword: nil)
        try device.withVault(store) { (vault: NoteVault) throws in
            try check(!vault.levels.requiresPassword())
            try check(vault.text(1), equals: "text")
            try vault.levels.resetL2Password(oldPassword: nil, newPassword: Self.new)
            try vault.levels.authWith(password: Self.new)
            try check(vault.text(1), equals: "text")
        }
    }

    @Test func `a backup needs the vault's password even while L2 is unlocked`() throws {
        defer { clear() }
        try folder.withVault(InMemoryKeyStore()) { vault throws in
            try vault.levels.resetL2Password(oldPassword: nil, newPassword: Self.old)
            try vault.levels.authWith(password: Self.old)
            check(vaultError { try backUp(vault, password: nil) }, equals: "authRequired")
            check(vaultError { try backUp(vault, password: Self.new) }, equals: "invalidPassword")
            check(!FileManager.default.fileExists(atPath: backup.path))
            try backUp(vault, password: Self.old)
        }
    }

    @Test func `a failed restore reports the reason and leaves nothing behind`() throws {
        defer { clear() }
        try folder.withVault(InMemoryKeyStore()) { vault throws in
            try vault.store("a", "text")
            try backUp(vault, password: nil)
            _ = try VaultBackup.make(
                of: vault.providers.database.db, at: folder.url.appendingPathComponent("bare"),
                unlockedBy: [code])
        }
        let store = InMemoryKeyStore()
        let factory = device.factory(store, quick: true)
        func restored(
            _ name: String = "backup", _ code: RecoveryCode? = nil,
            _ password: SecretBytes = Self.new
        ) -> String? {
            var kind: String?
            let vaultProblem = vaultError {
                kind =
                    backupError {
                        try factory.restore(
                            from: folder.url.appendingPathComponent(name), to: device.file,
                            unlockedBy: code ?? self.code, newPassword: password)
                    }?.kind
            }
            return kind ?? vaultProblem
        }
        check(restored("backup", .random()), equals: "wrongRecoveryCode")
        check(restored("bare"), equals: "unacceptableContents")
        var bytes = try Data(contentsOf: backup)
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: folder.url.appendingPathComponent("changed"))
        check(restored("changed"), equals: "damaged")
        try check(device.fileNames(), equals: [])
        check(
            vaultError {
                try factory.restore(
                    from: backup, to: device.file, unlockedBy: code,
                    newPassword: SecretBytes(utf8: ""))
            }, equals: "invalidPassword")
        try check(store.names(), equals: [])
        let vault = try factory.makeVault(reporter: nil)
        check(restored(), equals: "inUse")
        vault.providers.database.db.close()
    }

    /// Stores one note, sets a password, and makes a backup.
    private func fillAndBackUp(_ vault: NoteVault) throws {
        try vault.store("a", "text")
        try vault.levels.resetL2Password(oldPassword: nil, newPassword: Self.old)
        try backUp(vault, password: Self.old)
    }

    @Test func `a newer vault is replaced only on request`() throws {
        defer { clear() }
        let store = InMemoryKeyStore()
        try folder.withVault(store) { vault throws in
            try fillAndBackUp(vault)
            // Increments the generation.
            try vault.levels.makeBackup(
                at: folder.url.appendingPathComponent("later"),
                unlockedBy: [code], password: Self.old)
            try vault.levels.authWith(password: Self.old)
            try vault.store("b", "text")
        }
        let factory = folder.factory(store, quick: true)
        func restore(_ replacing: VaultReplacement) throws {
            try factory.restore(
                from: backup, to: folder.file, unlockedBy: code, newPassword: Self.new,
                replacing: replacing)
        }
        check(backupError { try restore(.nothing) }?.kind, equals: "taken")
        check(backupError { try restore(.sameVaultNotNewer) }?.kind, equals: "olderThanCurrent")
        try folder.withVault(store) { (vault: NoteVault) throws in
            try vault.levels.authWith(password: Self.old)
            try check(vault.titles(), equals: ["a", "b"])
        }
        try restore(.sameVault)
        try folder.withVault(store) { (vault: NoteVault) throws in
            try vault.levels.authWith(password: Self.new)
            try check(vault.titles(), equals: ["a"])
            try check(vault.text(1), equals: "text")
        }
    }

    @Test
    func `a restore after a lost device key, killed before the new key has its name, is completed`()
        throws
    {
        defer { clear() }
        let store = InMemoryKeyStore()
        try folder.withVault(store) { vault throws in
            try fillAndBackUp(vault)
        }
        let name = "SecureVault.l1-key"
        try store.remove(name)
        try folder.factory(store, quick: true).restore(
            from: backup, to: folder.file, unlockedBy: code, newPassword: Self.new,
            replacing: .anything)
        // The state after the kill.
        try store.store(store.read(name), forName: name + " (restoring)")
        try store.remove(name)
        try folder.withVault(store) { (vault: NoteVault) throws in
            try vault.levels.authWith(password: Self.new)
            try check(vault.text(1), equals: "text")
        }
        try check(store.names().contains(name))
        try check(!store.names().contains(name + " (restoring)"))
    }

    private var backup: URL { folder.url.appendingPathComponent("backup") }

    private func backUp(_ vault: NoteVault, password: SecretBytes?) throws {
        try vault.levels.makeBackup(
            at: backup, unlockedBy: [code], password: password)
    }

    private func clear() {
        folder.remove()
        device.remove()
    }
}
