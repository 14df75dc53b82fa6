import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults

/// Wrong passwords: how they are counted, and what one too many does.
struct DataVaultTriesTests {
    let home: VaultHome
    let container: DataVaultContainer
    let vault: DataVault

    init() throws {
        home = try VaultHome()
        container = try home.container()
        vault = try home.lockedVault(in: container)
    }

    @Test func `wrong passwords are counted, and the right one resets the count`() throws {
        try check(vault.triesLeft, equals: 3)
        for left in [2, 1] {
            let error = dataVaultError { try vault.unlock(password: "wrong password") }
            check(error?.code, equals: 5)
            check(error?.triesLeft, equals: left)
            try check(vault.triesLeft, equals: left)
        }
        try vault.unlock(password: "P4sSw0rD1")
        try check(vault.triesLeft, equals: 3)
        vault.lock()
        check(dataVaultError { try vault.unlock(password: "") }?.triesLeft, equals: 2)
        try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD2")
        try check(vault.triesLeft, equals: 3)
    }

    @Test func `one wrong password too many destroys the vault and notifies the app`() throws {
        nonisolated(unsafe) var destroyed: [DataVaultDestruction] = []
        nonisolated(unsafe) var wasThere = true
        container.onDestruction = { [unowned container, home] in
            destroyed.append($0)
            // The key and the file are gone, and the container can be queried.
            wasThere = try container.exists(id: "a") || home.databases().count > 0
        }
        for _ in 1...2 {
            check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
        }
        check(destroyed, equals: [])
        let error = dataVaultError { try vault.unlock(password: "wrong password") }
        check(error?.code, equals: 3)
        check(error?.isSelfDestructed, equals: true)
        check(error?.description.contains("self-destructed"), equals: true)
        check(destroyed, equals: [DataVaultDestruction(id: "a", isSelfDestructed: true)])
        check(!wasThere)
        try check(home.databases(), equals: [])
        let later = dataVaultError { try vault.unlock(password: "P4sSw0rD1") }
        check(later?.code, equals: 3)
        check(later?.isSelfDestructed, equals: true)
        check(destroyed.count, equals: 1)
        try check(!container.exists(id: "a"))
    }

    @Test func `failed password changes destroy the vault as well, even an unlocked one`() throws {
        try vault.unlock(password: "P4sSw0rD1")
        for _ in 1...2 {
            let code = vaultCode {
                try vault.changePassword("wrong password", newPassword: "P4sSw0rD2")
            }
            check(code, equals: 5)
        }
        // The vault is unlocked, so this does not count as a try.
        try vault.unlock(password: "wrong password")
        let error = dataVaultError {
            try vault.changePassword("wrong password", newPassword: "P4sSw0rD2")
        }
        check(error?.isSelfDestructed, equals: true)
        check(vaultCode { _ = try vault.getString("name") }, equals: 3)
    }

    @Test func `the right password never destroys the vault, whatever the count`() throws {
        for _ in 1...2 {
            check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
        }
        var policy = try vault.passwordPolicy
        policy.retryLimit = 1
        try vault.setPasswordPolicy(policy)
        try check(vault.triesLeft, equals: 1)
        try vault.unlock(password: "P4sSw0rD1")
        try check(vault.getString("name"), equals: "value")
    }

    @Test func `a new limit gives no try back, and leaves at least one`() throws {
        try vault.unlock(password: "P4sSw0rD1")
        for _ in 1...2 {
            check(
                vaultCode {
                    try vault.changePassword("wrong password", newPassword: "P4sSw0rD2")
                }, equals: 5)
        }
        var policy = try vault.passwordPolicy
        for (limit, left) in [(3, 1), (2, 1), (1, 1), (0, nil), (3, 1), (10, 8)] as [(Int, Int?)] {
            policy.retryLimit = limit
            try vault.setPasswordPolicy(policy)
            try check(vault.triesLeft, equals: left, "limit \(limit)")
        }
        policy.retryLimit = 1
        try vault.setPasswordPolicy(policy)
        // The limit alone destroys nothing.
        vault.lock()
        try vault.unlock(password: "P4sSw0rD1")
        try check(vault.getString("name"), equals: "value")
        try check(container.records.read(vault.place)?.tries.count, equals: 0)
    }

    @Test
    func `a vault whose last try was killed has one try left, and accepts the right password`()
        throws
    {
        for password in ["P4sSw0rD1", "wrong password"] {
            var record = try require(container.records.read(vault.place))
            record.tries.count = 3
            try container.records.store(&record, vault.place)
            try check(vault.triesLeft, equals: 1)
            let error = dataVaultError { try vault.unlock(password: password) }
            check(error?.isSelfDestructed, equals: (password == "P4sSw0rD1" ? nil : true))
            vault.lock()
        }
    }

    @Test func `without the password, no limit is raised and no rule is removed`() throws {
        var strict = try vault.passwordPolicy
        strict.hasDigits = true
        strict.minLength = 9
        strict.minUniqueChars = 4
        strict.defaultPasswordAllowed = false
        // Anyone may set a stricter policy, or the current one again.
        for _ in 1...2 { try vault.setPasswordPolicy(strict) }
        check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
        let changes: [(inout DataVaultPasswordPolicy) -> Void] = [
            { $0.retryLimit = 0 }, { $0.retryLimit = 4 }, { $0.retryLimit = 1000 },
            { $0.hasDigits = false }, { $0.minLength = 8 }, { $0.minUniqueChars = 3 },
            { $0.defaultPasswordAllowed = true },
            {
                $0.hasSpecial = true
                $0.retryLimit = 0
            },
        ]
        for change in changes {
            var looser = strict
            change(&looser)
            check(vaultCode { try vault.setPasswordPolicy(looser) }, equals: 8)
            // Nor through another container.
            check(
                vaultCode { try home.container().vault(id: "a").setPasswordPolicy(looser) },
                equals: 8)
        }
        try check(vault.passwordPolicy, equals: strict)
        try check(vault.triesLeft, equals: 2)
        strict.retryLimit = 2
        try vault.setPasswordPolicy(strict)
        try check(vault.triesLeft, equals: 1)

        // With the password it works, locked or unlocked.
        var looser = strict
        for limit in [5, 0] {
            looser.retryLimit = limit
            try vault.setPasswordPolicy(looser, password: "P4sSw0rD1")
            check(vault.isLocked)
            try check(vault.passwordPolicy, equals: looser)
            try check(vault.triesLeft, equals: (limit == 0 ? nil : limit))
        }
        try vault.unlock(password: "P4sSw0rD1")
        looser.minLength = 1
        try vault.setPasswordPolicy(looser)
        try check(vault.passwordPolicy.minLength, equals: 1)
        looser.expirationDays = 3
        try vault.setPasswordPolicy(looser, password: "P4sSw0rD1")
        check(!vault.isLocked)
        try check(vault.passwordPolicy.expirationDays, equals: 3)
    }

    @Test
    func `a wrong password for a policy counts as a try, and the last one destroys the vault`()
        throws
    {
        var policy = try vault.passwordPolicy
        policy.retryLimit = 0
        for left in [2, 1] {
            let error = dataVaultError {
                try vault.setPasswordPolicy(policy, password: "wrong password")
            }
            check(error?.code, equals: 5)
            check(error?.triesLeft, equals: left)
        }
        try check(vault.passwordPolicy.retryLimit, equals: 3)
        check(
            dataVaultError { try vault.setPasswordPolicy(policy, password: "wrong password") }?
                .isSelfDestructed, equals: true)
    }

    @Test func `without a limit, wrong passwords are counted but have no effect`() throws {
        try vault.unlock(password: "P4sSw0rD1")
        var policy = try vault.passwordPolicy
        policy.retryLimit = DataVaultPasswordPolicy.unlimitedRetriesAllowed
        try vault.setPasswordPolicy(policy)
        vault.lock()
        for _ in 1...20 {
            let error = dataVaultError { try vault.unlock(password: "wrong password") }
            check(error?.code, equals: 5)
            check(error?.triesLeft == nil)
        }
        policy.retryLimit = 22
        try vault.setPasswordPolicy(policy)
        try check(vault.triesLeft, equals: 2)
        try vault.unlock(password: "P4sSw0rD1")
    }

    @Test func `an error of the handler undoes nothing, and becomes the cause`() throws {
        container.onDestruction = { _ in throw CocoaError(.fileNoSuchFile) }
        for _ in 1...2 {
            check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
        }
        let error = dataVaultError { try vault.unlock(password: "wrong password") }
        check(error?.isSelfDestructed, equals: true)
        check(error?.cause is CocoaError)
        try check(!container.exists(id: "a"))

        _ = try container.create(id: "b", password: "")
        let deleted = dataVaultError { try container.delete(id: "b") }
        check(deleted?.code, equals: 0)
        check(deleted?.cause is CocoaError)
        try check(!container.exists(id: "b"))
    }

    @Test
    func `a destruction that a kill interrupted is completed by the next call, with the handler`()
        throws
    {
        nonisolated(unsafe) var destroyed: [DataVaultDestruction] = []
        container.onDestruction = { destroyed.append($0) }
        let calls: [(DataVaultContainer) throws -> Void] = [
            { _ = try $0.vault(id: "a") },
            { try $0.delete(id: "a") }, { _ = try $0.create(id: "a", password: "") },
        ]
        for (number, call) in calls.enumerated() {
            try markDestroyed()
            let error = dataVaultError { try call(container) }
            check(error?.isSelfDestructed, equals: (number == 0 ? true : nil))
            check(destroyed.count, equals: number + 1)
            check(destroyed.last, equals: DataVaultDestruction(id: "a", isSelfDestructed: true))
            if number < 2 {
                try check(home.databases(), equals: [])
                _ = try container.create(id: "a", password: "P4sSw0rD1")
            }
        }
        // A vault that is unlocked at that time notices it, too.
        try markDestroyed()
        let error = dataVaultError { try vault.changePassword("P4sSw0rD2") }
        check(error?.isSelfDestructed, equals: true)
        check(vault.isLocked)
        check(destroyed.count, equals: 4)
    }

    /// Leaves the vault as a kill after the first step of its destruction does.
    private func markDestroyed() throws {
        var record = try require(container.records.read(vault.place))
            .destroyed(.selfDestructed)
        try container.records.store(&record, vault.place)
    }

    @Test func `the handler may create a new vault with the same id`() throws {
        container.onDestruction = { [unowned container] in
            _ = try container.create(id: $0.id, password: "P4sSw0rD2")
        }
        try container.delete(id: "a")
        let new = try container.vault(id: "a")
        try new.unlock(password: "P4sSw0rD2")
        try check(new.dataNames, equals: [])
        // A vault that the handler also deletes is gone when it returns.
        container.onDestruction = { [unowned container, home] in
            let other = try container.create(id: $0.id, password: "P4sSw0rD3")
            try container.delete(id: $0.id)
            guard other.isLocked, try home.databases() == [] else {
                throw CocoaError(.coderInvalidValue)
            }
        }
        try container.delete(id: "a")
        let exists = try container.exists(id: "a")
        check(!exists)
    }

    @Test func `a password that could not be checked does not count as a try`() throws {
        struct Unable: KeyEncryptionKeySource {
            var name: String { "password" }
            func makeKey() throws -> KeyEncryptionKey {
                throw EnvelopeError.limitReached(reason: "")
            }
            func key(for record: WrappedKey) throws -> KeyEncryptionKey { try makeKey() }
        }
        let poor = try DataVaultContainer(
            directory: home.directory, keyStore: home.keyStore(), makePasswordKey: { _ in Unable() }
        )
        let record = try container.records.read(vault.place)
        var copy = try require(record)
        #expect(throws: DataVaultError.self) {
            _ = try poor.records.check(SecretBytes(utf8: "P4sSw0rD1"), of: &copy, vault.place)
        }
        try check(vault.triesLeft, equals: 3)
    }

    @Test func `no password is checked if the try cannot be stored`() throws {
        let home = try VaultHome()
        let disk = Disk()
        let store = StepKeyStore(try home.keyStore()) { _ in
            if disk.isFull { throw KeyStoreError.unavailable(reason: "the disk is full") }
        }
        let container = try home.container(store)
        let vault = try home.lockedVault(in: container)
        disk.isFull = true
        check(vaultCode { try vault.unlock(password: "P4sSw0rD1") }, equals: 7)
        check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 7)
        check(vault.isLocked)
        disk.isFull = false
        try vault.unlock(password: "P4sSw0rD1")
        disk.isFull = true
        check(vaultCode { try vault.changePassword("P4sSw0rD2") }, equals: 7)
        check(vaultCode { try container.delete(id: "a") }, equals: 7)
        check(vaultCode { _ = try container.create(id: "b", password: "") }, equals: 7)
        disk.isFull = false
        vault.lock()
        try vault.unlock(password: "P4sSw0rD1")
        try check(container.ids(), equals: ["a"])
    }
}

private final class Disk: @unchecked Sendable {
    // @unchecked: only one thread at a time uses it.
    var isFull = false
}
