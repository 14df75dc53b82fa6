import Foundation
import SecureStorage
import TestSupport
import Testing
import VaultsTestKit

@testable import Vaults

/// The calls of a vault in levels that run on a thread of their own.
struct SecureVaultAsyncTests {
    private static let password = SecretBytes(utf8: "correct horse")
    private let folder: VaultFolder

    init() throws { folder = try VaultFolder.make() }

    @Test func `a vault is made, unlocked, used and changed from tasks`() async throws {
        defer { folder.remove() }
        let factory = try folder.factory(folder.store(), quick: true)
        let vault = try await factory.vault()
        try await check(factory.vault() === vault)
        try await vault.perform { try $0.store("a", "text") }
        try await vault.levels.resetL2Password(oldPassword: nil, newPassword: Self.password)
        await #expect(throws: SecureVaultError.self) { try await vault.perform { try $0.text(1) } }
        await #expect(throws: SecureVaultError.self) {
            try await vault.levels.authWith(password: Data("wrong".utf8))
        }
        try await vault.levels.authWith(password: Self.password)
        // begin
        let text = try await vault.perform { try $0.text(1) }
        // end
        check(text, equals: "text")
        let sealed = try await vault.levels.withL3(password: Self.password) {
            try $0.encrypt(Data([1, 2]))
        }
        let opened = try await vault.levels.withL3(password: Self.password) {
            try $0.decrypt(sealed)
        }
        check(opened, equals: Data([1, 2]))
        let count = try await vault.levels.withL2 { try $0.encrypt(Data()).count }
        check(count > 0)
    }

    @Test func `derivations in progress leave Swift's threads to other tasks`() async throws {
        defer { folder.remove() }
        let gate = GatedCryptoProvider(NoOpCryptoProvider())
        let providers = SecureStorageProviders(
            crypto: gate, database: try folder.database(), keystore: MockKeyStoreProvider())
        try providers.keystore.storeEncryptedL2Key(Data(repeating: 1, count: 32))
        let levels = SecureVaultLevels(providers: providers)
        gate.isOpen = false
        try await withThrowingTaskGroup(of: Void.self) { group in
            // More than there are threads, even on a large machine.
            for _ in 0..<200 {
                group.addTask { try await levels.authWith(password: Self.password) }
            }
            while gate.waiting == 0 { try await Task.sleep(for: .milliseconds(1)) }
            for _ in 0..<100 { await Task.yield() }
            gate.isOpen = true
            try await group.waitForAll()
        }
        check(levels.isL2Unlocked)
    }

    @Test func `a task that was cancelled beforehand checks no password`() async throws {
        defer { folder.remove() }
        let vault = try await folder.factory(folder.store(), quick: true).vault()
        let levels = vault.levels
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await levels.resetL2Password(oldPassword: nil, newPassword: Self.password)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try check(!levels.requiresPassword())
    }

    @Test func `a backup made from a task restores`() async throws {
        defer { folder.remove() }
        let factory = try folder.factory(folder.store(), quick: true)
        let vault = try await factory.vault()
        try await vault.perform { try $0.store("a", "text") }
        let code = RecoveryCode.random()
        let url = folder.url.appendingPathComponent("backup")
        try await vault.levels.makeBackup(at: url, unlockedBy: [code], password: nil)
        let metadata = try await VaultBackup.verify(at: url, unlockedBy: code)
        check(metadata.generation > 0)
    }
}
