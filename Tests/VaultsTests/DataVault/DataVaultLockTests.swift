import Foundation
import SecureStorage
import Testing
import TestSupport
import VaultsTestKit

@testable import Vaults

struct DataVaultLockTests {
    let home: VaultHome
    let vault: DataVault

    init() throws {
        home = try VaultHome()
        var policy = DataVaultPasswordPolicy()
        policy.lockTimeout = 60
        vault = try home.container().create(id: "a", password: "P4sSw0rD1", policy: policy)
        try vault.setString("name", value: "value")
    }

    @Test func `locking twice does no harm, and unlocking an open vault checks nothing`() throws {
        check(!vault.isLocked && !vault.locked)
        try vault.unlock(password: "wrong password")
        vault.lock()
        vault.lock()
        check(vault.isLocked && vault.locked)
        try vault.unlock(password: "P4sSw0rD1")
        try check(vault.getString("name"), equals: "value")
    }

    @Test func `a vault locks itself at the first access after its lock timeout`() throws {
        home.clock.advance(by: .seconds(59))
        check(!vault.isLocked)
        // Reading the property did not count as use.
        home.clock.advance(by: .seconds(1))
        check(vault.isLocked)
        try vault.unlock(password: "P4sSw0rD1")
        home.clock.advance(by: .seconds(60))
        check(vaultCode { _ = try vault.getString("name") }, equals: 8)
    }

    @Test func `every use restarts the lock timeout`() throws {
        let uses: [(DataVault) throws -> Void] = [
            { _ = try $0.getString("name") }, { try $0.setString("other", value: "x") },
            { _ = try $0.dataNames }, { _ = try $0.deleteValue("absent") },
            { _ = try $0.encrypt(Data()) }, { try $0.resetLockTimeout() },
            { try $0.changePassword("P4sSw0rD1") },
        ]
        for use in uses {
            home.clock.advance(by: .seconds(59))
            try use(vault)
            home.clock.advance(by: .seconds(59))
            check(!vault.isLocked)
            _ = try vault.getString("name")
        }
    }

    @Test func `unlocking a vault that was due to lock checks the password`() throws {
        home.clock.advance(by: .seconds(60))
        check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
        check(vault.isLocked)
    }

    @Test func `a long use does not count as inactivity`() throws {
        _ = try vault.encrypt(Data())
        try vault.withOpened { _ in
            home.clock.advance(by: .seconds(600))
            check(!vault.isLocked)
        }
        check(!vault.isLocked)
        home.clock.advance(by: .seconds(60))
        check(vault.isLocked)
    }

    @Test func `the lock timeout can be changed and disabled while the vault is unlocked`() throws {
        var policy = try vault.passwordPolicy
        policy.lockTimeout = 10
        try vault.setPasswordPolicy(policy)
        home.clock.advance(by: .seconds(10))
        check(vault.isLocked)
        try vault.unlock(password: "P4sSw0rD1")
        policy.lockTimeout = DataVaultPasswordPolicy.noLockTimeout
        try vault.setPasswordPolicy(policy)
        home.clock.advance(by: .seconds(1_000_000))
        check(!vault.isLocked)
    }

    @Test func `a container's clock runs while the machine sleeps, whatever the date is set to`()
        throws
    {
        let container = try DataVaultContainer(directory: home.url.appendingPathComponent("other"))
        check(container.clock is SystemIdleClock)
    }

    @Test func `a vault with no references left is locked`() throws {
        let container = try home.container()
        do { _ = try container.create(id: "b", password: "") }
        try check(container.vault(id: "b").isLocked)
    }

    #if os(Linux)
        @Test(.enabled(if: !Sanitizer.isPresent))
        func `a locked vault has no file open and no key in memory`() async throws {
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                let home = VaultHome(path: path)
                let vault = try home.container().vault(id: "a")
                var openFiles: [String] { Descriptors.paths.filter { $0.contains(".vault") } }
                try vault.unlock(password: "P4sSw0rD1")
                let keys = try vault.withOpened { opened in
                    try [
                        opened.key.material.secret(), opened.encryption.present.material.secret(),
                        opened.key.derivedKey(for: "datavault database 1"),
                    ]
                    .map { secret in secret.withUnsafeBytes { Needle($0) } }
                }
                _ = try vault.getString("name")
                check(!openFiles.isEmpty)
                try check(keys[0].countInProcess() > 0)
                vault.lock()
                check(openFiles, equals: [])
                for key in keys { try check(key.countInProcess(), equals: 0) }
            }
        }
    #endif
}
