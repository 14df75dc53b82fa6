import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import Vaults

/// Tests of backups of data vaults.
struct DataVaultBackupTests {
    private let home: VaultHome
    private let container: DataVaultContainer
    private let vault: DataVault
    private let code = RecoveryCode.random()
    private let backup: URL

    init() throws {
        home = try VaultHome()
        container = try home.container()
        var policy = DataVaultPasswordPolicy()
        policy.retryLimit = 7
        policy.hasDigits = true
        policy.lockTimeout = 300
        vault = try container.create(id: "a", password: "P4sSw0rD1", policy: policy)
        try vault.setString("name", value: "value")
        try vault.setValue("bytes", value: Data(repeating: 7, count: 100_000))
        backup = home.url.appendingPathComponent("vault.backup")
    }

    /// Another device: its own directory and its own key store.
    private func otherDevice() throws -> (VaultHome, DataVaultContainer) {
        let home = try VaultHome()
        return (home, try home.container())
    }

    @Test func `a backup restores the values, the policy and the key under a new password`() throws
    {
        let encrypted = try vault.encrypt(Data("file".utf8))
        let made = try vault.makeBackup(at: backup, unlockedBy: [code])
        try vault.setString("name", value: "later")
        let (otherHome, other) = try otherDevice()
        let restored = try other.restore(
            from: backup, id: "a", unlockedBy: RecoveryCode(code.formatted), password: "n3w pass")
        try check(restored.getString("name"), equals: "value")
        try check(restored.getValue("bytes"), equals: Data(repeating: 7, count: 100_000))
        try check(restored.decrypt(encrypted), equals: Data("file".utf8))
        try check(restored.passwordPolicy.retryLimit, equals: 7)
        try check(restored.passwordPolicy.lockTimeout, equals: 300)
        try check(restored.dataNames.map(\.name), equals: ["bytes", "name"])
        restored.lock()
        check(vaultCode { try restored.unlock(password: "P4sSw0rD1") }, equals: 5)
        try restored.unlock(password: "n3w pass")
        try restored.setString("name", value: "changed")
        // The first vault is untouched, and a second backup counts on.
        try check(vault.getString("name"), equals: "later")
        let second = try vault.makeBackup(at: backup, unlockedBy: [code], replacing: true)
        check(second.vaultID == made.vaultID && second.generation == made.generation + 1)
        withExtendedLifetime(otherHome) {}
    }

    @Test func `any of several keys opens it, and the password of the vault does not`() async throws
    {
        let key = try KeyEncryptionKey.random(name: "server")
        try await vault.makeBackup(at: backup, unlockedBy: [code, key])
        let (otherHome, other) = try otherDevice()
        #expect(throws: VaultBackupError.self) {
            _ = try other.restore(
                from: backup, id: "a", unlockedBy: PasswordKey("P4sSw0rD1"), password: "n3w pass")
        }
        #expect(throws: VaultBackupError.self) {
            _ = try other.restore(
                from: backup, id: "a", unlockedBy: RecoveryCode.random(), password: "n3w pass")
        }
        try check(!other.exists(id: "a"))
        let restored = try await other.restore(
            from: backup, id: "b", unlockedBy: key, password: "n3w pass")
        try check(restored.getString("name"), equals: "value")
        try check(other.ids(), equals: ["b"])
        withExtendedLifetime(otherHome) {}
    }

    @Test func `nothing is restored over a vault, and nothing with a password that breaks a rule`()
        throws
    {
        try vault.makeBackup(at: backup, unlockedBy: [code])
        check(
            vaultCode {
                _ = try container.restore(
                    from: backup, id: "a", unlockedBy: code, password: "n3w pass")
            }, equals: 1)
        try check(vault.getString("name"), equals: "value")
        // The policy of the backup wants a digit.
        check(
            vaultCode {
                _ = try container.restore(
                    from: backup, id: "b", unlockedBy: code, password: "no digits")
            }, equals: 52)
        try check(!container.exists(id: "b"))
        let restored = try container.restore(
            from: backup, id: "b", unlockedBy: code, password: "no digits", policy: .init())
        try check(restored.getString("name"), equals: "value")
        try container.delete(id: "a")
        let again = try container.restore(
            from: backup, id: "a", unlockedBy: code, password: "P4sSw0rD1")
        try check(again.getString("name"), equals: "value")
        let names = try FileManager.default.contentsOfDirectory(atPath: home.directory.path)
        check(names.filter { $0.hasPrefix(".securestorage") }, equals: [])
        check(names.filter { $0.hasSuffix(".vault") }.count, equals: 2)
    }

    @Test func `a locked vault makes no backup, and a lock in its midst leaves none`() throws {
        vault.lock()
        check(vaultCode { try vault.makeBackup(at: backup, unlockedBy: [code]) }, equals: 8)
        try vault.unlock(password: "P4sSw0rD1")
        check(
            vaultCode {
                try vault.makeBackup(at: backup, unlockedBy: [code]) { [vault] progress in
                    if progress.step == .copying { vault.lock() }
                }
            }, equals: 8)
        let names = try FileManager.default.contentsOfDirectory(atPath: home.path)
        check(names.sorted(), equals: ["keys", "vaults"])
        check(vault.isLocked)
    }

    @Test func `a progress that throws, or a cancelled task, leaves no vault`() async throws {
        struct Stop: Error {}
        try await vault.makeBackup(at: backup, unlockedBy: [code])
        for step in [FileProgress.Step.opening, .checking, .copying] {
            #expect(throws: Stop.self) {
                _ = try container.restore(
                    from: backup, id: "b", unlockedBy: code, password: "P4sSw0rD1"
                ) { if $0.step == step { throw Stop() } }
            }
            try check(container.ids(), equals: ["a"], "\(step)")
        }
        let task = Task { [container, backup, code] in
            _ = try await container.restore(
                from: backup, id: "b", unlockedBy: code, password: "P4sSw0rD1"
            ) { _ in withUnsafeCurrentTask { $0?.cancel() } }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try check(container.ids(), equals: ["a"])
        let files = try FileManager.default.contentsOfDirectory(atPath: home.directory.path)
        check(files.filter { $0.hasSuffix(".vault") }.count, equals: 1)
    }

    @Test func `a backup of something else, or a damaged one, is refused by name`() throws {
        let other = home.url.appendingPathComponent("other.db")
        let queue = SecureDatabaseQueue(url: other)
        try queue.open(with: .raw(SecretBytes.random(count: 32)))
        try VaultBackup.make(of: queue, at: backup, unlockedBy: [code])
        #expect(
            throws: VaultBackupError.unacceptableContents(
                reason: "it was not made with DataVault.makeBackup; use VaultBackup.restore")
        ) {
            _ = try container.restore(
                from: backup, id: "b", unlockedBy: code, password: "P4sSw0rD1")
        }
        try vault.makeBackup(at: backup, unlockedBy: [code], replacing: true)
        var bytes = try Data(contentsOf: backup)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: backup)
        #expect(throws: VaultBackupError.self) {
            _ = try container.restore(
                from: backup, id: "b", unlockedBy: code, password: "P4sSw0rD1")
        }
        try check(container.ids(), equals: ["a"])
    }

    @Test func `a kill during a restore leaves the whole vault or none`() async throws {
        _ = try await vault.makeBackup(at: backup, unlockedBy: [code])
        let typed = code.formatted.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        let kills = SuddenDeath.count(2)
        var (moment, complete) = (SuddenDeath.Moment(), 0)
        for round in 1...kills {
            let delay = moment.next()
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = home.path as String, code = typed as String, delay = delay as Int]
                in
                try Self.restore(path, code, delay)
            }
            let done = home.url.appendingPathComponent("restored")
            moment.note(wasTooLate: FileManager.default.fileExists(atPath: done.path))
            try? FileManager.default.removeItem(at: done)
            if try container.exists(id: "b") {
                complete += 1
                let restored = try container.vault(id: "b")
                try await restored.unlock(password: "n3w pass")
                try check(restored.getString("name"), equals: "value", "round \(round)")
                try container.delete(id: "b")
            }
            // The next restore is not obstructed by what the killed one has left.
            let again = try await container.restore(
                from: backup, id: "b", unlockedBy: code, password: "P4sSw0rD1")
            try check(again.getString("name"), equals: "value")
            try container.delete(id: "b")
            let files = try FileManager.default.contentsOfDirectory(atPath: home.directory.path)
            check(files.filter { $0.hasSuffix(".vault") }.count, equals: 1, "round \(round)")
            check(!files.contains { $0.hasPrefix(".securestorage-vault") }, "round \(round)")
        }
        SuddenDeath.report("kills of restores of data vaults: \(kills), \(complete) complete")
    }

    private static func restore(_ path: String, _ code: String, _ delay: Int) throws {
        let home = VaultHome(path: path)
        let container = try home.container()
        SuddenDeath.after(microseconds: delay)
        _ = try container.restore(
            from: home.url.appendingPathComponent("vault.backup"), id: "b",
            unlockedBy: RecoveryCode(code), password: "n3w pass")
        close(open(path + "/restored", O_WRONLY | O_CREAT, 0o600))
        SuddenDeath.now()
    }
}
