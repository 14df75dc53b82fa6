import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import Vaults

struct DataVaultPasswordTests {
    let home: VaultHome
    let container: DataVaultContainer
    let vault: DataVault

    init() throws {
        home = try VaultHome()
        container = try home.container()
        vault = try home.lockedVault(in: container)
    }

    @Test func `changing the password of an unlocked vault changes one record`() throws {
        check(vaultCode { try vault.changePassword("P4sSw0rD2") }, equals: 8)
        try vault.unlock(password: "P4sSw0rD1")
        let sealed = try vault.encrypt(Data("text".utf8))
        let database = try require(home.databases().first)
        let before = try Data(contentsOf: database)
        check(vaultCode { try vault.changePassword("short") }, equals: 51)
        try vault.changePassword("P4sSw0rD2")
        check(!vault.isLocked)
        try check(Data(contentsOf: database), equals: before)
        vault.lock()
        check(vaultCode { try vault.unlock(password: "P4sSw0rD1") }, equals: 5)
        try vault.unlock(password: "P4sSw0rD2")
        try check(vault.getString("name"), equals: "value")
        try check(vault.decrypt(sealed), equals: Data("text".utf8))
    }

    @Test func `changePassword with the old password unlocks, and checks the new one first`() throws
    {
        check(
            vaultCode { try vault.changePassword("wrong password", newPassword: "short") },
            equals: 51)
        try check(vault.triesLeft, equals: 3)
        check(
            vaultCode { try vault.changePassword("wrong password", newPassword: "P4sSw0rD2") },
            equals: 5)
        check(vault.isLocked)
        try check(vault.triesLeft, equals: 2)
        try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD2")
        check(!vault.isLocked)
        try vault.changePassword("P4sSw0rD2", newPassword: "P4sSw0rD3")
        vault.lock()
        try vault.unlock(password: "P4sSw0rD3")
    }

    @Test func `a password can be changed to the default one and back`() throws {
        try vault.changePassword("P4sSw0rD1", newPassword: "")
        vault.lock()
        check(vaultCode { try vault.unlock(password: "P4sSw0rD1") }, equals: 5)
        try vault.unlock(password: nil as String?)
        try vault.changePassword("P4sSw0rD4")
        vault.lock()
        check(vaultCode { try vault.unlock(password: "") }, equals: 5)
        try vault.unlock(password: SecretBytes(utf8: "P4sSw0rD4"))
        try check(vault.getString("name"), equals: "value")
    }

    @Test func `a key wrapped with weaker parameters is wrapped again at today's cost`()
        async throws
    {
        let home = try VaultHome()
        let weak = try home.realContainer()
        let vault = try await weak.create(id: "a", password: "P4sSw0rD1")
        try vault.setString("name", value: "value")
        try check(weak.records.read(vault.place)?.keys?.records[0].needsUpgrade, equals: true)
        let other = try DataVaultContainer(
            directory: home.directory, keyStore: home.keyStore(), parameters: .default)
        var record = try require(other.records.read(vault.place))
        #expect(throws: DataVaultError.self) {
            _ = try other.records.check(
                SecretBytes(utf8: "wrong password"), of: &record, vault.place)
        }
        let password = SecretBytes(utf8: "P4sSw0rD1")
        _ = try other.records.check(password, of: &record, vault.place)
        check(record.keys?.records[0].needsUpgrade, equals: true)
        _ = try other.records.check(password, of: &record, vault.place, upgrading: true)
        check(record.keys?.records[0].needsUpgrade, equals: false)
        try check(other.records.read(vault.place)?.tries.count, equals: 0)
        vault.lock()
        try await vault.unlock(password: "P4sSw0rD1")
        try check(vault.getString("name"), equals: "value")
    }

    @Test func `the asynchronous calls do the same, and a cancelled one does not count as a try`()
        async throws
    {
        do {
            try await vault.unlock(password: "wrong password")
            Issue.record("it was unlocked")
        } catch DataVaultError.invalidPassword(let triesLeft) {
            check(triesLeft, equals: 2)
        }
        let cancelled = Task { [vault] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await vault.unlock(password: "wrong password")
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        try check(vault.triesLeft, equals: 2)
        try await vault.unlock(password: "P4sSw0rD1")
        try await vault.changePassword("P4sSw0rD2")
        try await vault.changePassword("P4sSw0rD2", newPassword: "P4sSw0rD3")
        vault.lock()
        try await vault.unlock("P4sSw0rD3")
        let other = try await container.create(id: "b", password: "P4sSw0rD1")
        check(!other.isLocked)
    }
}
