import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults
@testable import VaultsTests

/// Threads and processes that share one vault.
struct DataVaultSharingTests {
    let home: VaultHome

    init() throws { home = try VaultHome() }

    @Test func `16 threads on one vault lose nothing`() throws {
        let container = try home.container()
        var policy = DataVaultPasswordPolicy()
        policy.lockTimeout = 3600
        let vault = try container.create(id: "a", password: "P4sSw0rD1", policy: policy)
        let ownPolicy = policy
        let rounds = environmentNumber("SECURESTORAGE_CALLS", default: 25)
        let failures = Failures()
        let group = DispatchGroup()
        for number in 0..<16 {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                for round in 0..<rounds {
                    failures.collect {
                        let name = "\(number)-\(round)"
                        try Self.whileUnlocked(vault) { try vault.setString(name, value: name) }
                        let value = try Self.whileUnlocked(vault) { try vault.getString(name) }
                        guard value == name else { throw LostValue() }
                        switch (number + round) % 16 {
                        case 0: vault.lock()
                        case 1: _ = try container.vault(id: "a").passwordPolicy
                        case 2:
                            // Another thread may lock the vault during the call.
                            try Self.unlessLocked {
                                try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD1")
                            }
                        case 3: _ = vault.isLocked
                        case 4:
                            let sealed = try Self.whileUnlocked(vault) {
                                try vault.encrypt(Data(name.utf8))
                            }
                            _ = try Self.whileUnlocked(vault) { try vault.decrypt(sealed) }
                        case 5: _ = try Self.whileUnlocked(vault) { try vault.dataNames }
                        case 6: try vault.setPasswordPolicy(ownPolicy)
                        default: break
                        }
                    }
                }
            }
        }
        group.wait()
        check(failures.texts, equals: [])
        let names = try Self.whileUnlocked(vault) { try vault.dataNames }
        check(names.count, equals: 16 * rounds)
        try check(vault.triesLeft == nil)
        try check(container.records.read(vault.place)?.tries.count, equals: 0)
    }

    @Test func `wrong passwords from 16 threads are all counted`() throws {
        let container = try home.container()
        let vault = try container.create(id: "a", password: "P4sSw0rD1")
        vault.lock()
        let group = DispatchGroup()
        for _ in 0..<16 {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                for _ in 0..<5 { _ = vaultCode { try vault.unlock(password: "wrong password") } }
            }
        }
        group.wait()
        try check(container.records.read(vault.place)?.tries.count, equals: 80)
        try vault.unlock(password: "P4sSw0rD1")
    }

    @Test func `only one of 16 threads that create a vault succeeds`() throws {
        let container = try home.container()
        let codes = Failures()
        let group = DispatchGroup()
        for number in 0..<16 {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                codes.collect { _ = try container.create(id: "a", password: "P4sSw0rD\(number)") }
            }
        }
        group.wait()
        check(codes.texts.count, equals: 15)
        check(
            Set(codes.texts), equals: ["a vault with this id exists; open it, or delete it first"])
        try check(container.ids(), equals: ["a"])
        try check(home.databases().count, equals: 1)
    }

    @Test func `threads that create, use, destroy and delete one vault get only expected errors`()
        throws
    {
        let container = try home.container()
        container.onDestruction = { [unowned container] in
            _ = try container.exists(id: $0.id)
        }
        var policy = DataVaultPasswordPolicy()
        policy.retryLimit = 2
        let (ownPolicy, surprises, group) = (policy, Failures(), DispatchGroup())
        for number in 0..<8 {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                for round in 0..<30 {
                    do {
                        switch (number + round) % 6 {
                        case 0, 1:
                            let vault = try container.create(
                                id: "a", password: "P4sSw0rD1", policy: ownPolicy)
                            try vault.setString("name", value: "value")
                        case 2: try container.delete(id: "a")
                        case 3: try container.vault(id: "a").unlock(password: "wrong password")
                        default:
                            let vault = try container.vault(id: "a")
                            try vault.unlock(password: "P4sSw0rD1")
                            let found = try vault.getString("name")
                            guard found == nil || found == "value" else { throw LostValue() }
                        }
                    } catch let error as DataVaultError where [1, 3, 5, 8].contains(error.code) {
                    } catch {
                        surprises.collect { throw Surprise(error: error) }
                    }
                }
            }
        }
        group.wait()
        check(surprises.texts, equals: [])
        try container.delete(id: "a")
        try check(home.databases(), equals: [])
        try check(home.keyStore().names(), equals: ["datavault.device-key"])
    }

    @Test func `two processes that write to one vault lose nothing`() async throws {
        _ = try await home.container().create(id: "a", password: "P4sSw0rD1")
        await withTaskGroup(of: Void.self) { group in
            for number in 1...2 {
                group.addTask {
                    await #expect(processExitsWith: .success) {
                        [path = home.path as String, number = number as Int] in
                        let container = try VaultHome(path: path).container()
                        let vault = try container.vault(id: "a")
                        try vault.unlock(password: "P4sSw0rD1")
                        for round in 0..<100 {
                            try vault.setString("\(number)-\(round)", value: "\(round)")
                            if round % 10 == 0 {
                                vault.lock()
                                try vault.unlock(password: "P4sSw0rD1")
                            }
                        }
                    }
                }
            }
        }
        let vault = try home.container().vault(id: "a")
        try await vault.unlock(password: "P4sSw0rD1")
        try check(vault.dataNames.count, equals: 200)
    }

    @Test func `wrong passwords from two processes are all counted`() async throws {
        let container = try home.container()
        var policy = DataVaultPasswordPolicy()
        policy.retryLimit = 101
        let vault = try await container.create(id: "a", password: "P4sSw0rD1", policy: policy)
        vault.lock()
        await withTaskGroup(of: Void.self) { group in
            for _ in 1...2 {
                group.addTask {
                    await #expect(processExitsWith: .success) { [path = home.path as String] in
                        let vault = try VaultHome(path: path).container().vault(id: "a")
                        for _ in 0..<50 {
                            let code = vaultCode { try vault.unlock(password: "wrong password") }
                            try require(code == 5)
                        }
                    }
                }
            }
        }
        try check(vault.triesLeft, equals: 1)
        check(
            dataVaultError { try vault.unlock(password: "wrong") }?.isSelfDestructed, equals: true)
    }

    @Test(arguments: [false, true])
    func `a vault destroyed by another process is gone at the next access`(_ isMadeAnew: Bool)
        async throws
    {
        let container = try home.container()
        var policy = DataVaultPasswordPolicy()
        policy.retryLimit = 1
        let vault = try await container.create(id: "a", password: "P4sSw0rD1", policy: policy)
        try vault.setString("name", value: "old")
        await #expect(processExitsWith: .success) {
            [path = home.path as String, isMadeAnew = isMadeAnew as Bool] in
            let container = try VaultHome(path: path).container()
            let vault = try container.vault(id: "a")
            let error = dataVaultError { try vault.unlock(password: "wrong password") }
            try require(error?.isSelfDestructed == true)
            guard isMadeAnew else { return }
            let new = try container.create(id: "a", password: "P4sSw0rD2")
            try new.setString("name", value: "new")
        }
        // A write that would be lost is never accepted.
        let error = dataVaultError { try vault.setString("name", value: "lost") }
        // The new one is a different vault, and locked.
        check(error?.code, equals: (isMadeAnew ? 8 : 3))
        check(error?.isSelfDestructed, equals: !isMadeAnew)
        check(vault.isLocked)
        check(vaultCode { try vault.unlock(password: "P4sSw0rD1") }, equals: (isMadeAnew ? 5 : 3))
        guard isMadeAnew else { return }
        try await vault.unlock(password: "P4sSw0rD2")
        try check(vault.getString("name"), equals: "new")
        try check(home.databases().count, equals: 1)
    }

    @Test func `a vault recreated by another process is locked here, with its new password`()
        async throws
    {
        let vault = try await home.container().create(id: "a", password: "P4sSw0rD1")
        await #expect(processExitsWith: .success) { [path = home.path as String] in
            let container = try VaultHome(path: path).container()
            try container.delete(id: "a")
            let new = try container.create(id: "a", password: "P4sSw0rD2")
            try new.setString("name", value: "new")
        }
        check(vault.isLocked)
        let wrong = vaultCode { try vault.unlock(password: "P4sSw0rD1") }
        check(wrong, equals: 5)
        try await vault.unlock(password: "P4sSw0rD2")
        try check(vault.getString("name"), equals: "new")
    }

    @Test func `a password change in another process does not lock this one out`() async throws {
        let vault = try await home.container().create(id: "a", password: "P4sSw0rD1")
        await #expect(processExitsWith: .success) { [path = home.path as String] in
            let vault = try VaultHome(path: path).container().vault(id: "a")
            try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD2")
            try vault.setString("name", value: "value")
        }
        try check(vault.getString("name"), equals: "value")
        vault.lock()
        check(vaultCode { try vault.unlock(password: "P4sSw0rD1") }, equals: 5)
        try await vault.unlock(password: "P4sSw0rD2")
    }

    /// Runs `body` and unlocks the vault as needed, like an app whose other threads lock it
    /// sometimes.
    private static func whileUnlocked<R>(
        _ vault: DataVault, _ body: () throws -> R
    ) throws -> R {
        while true {
            do {
                return try body()
            } catch DataVaultError.locked {
                try unlessLocked { try vault.unlock(password: "P4sSw0rD1") }
            }
        }
    }

    private static func unlessLocked(_ body: () throws -> Void) throws {
        do { try body() } catch DataVaultError.locked {}
    }
}

private struct LostValue: Error {}

private struct Surprise: Error {
    let error: any Error
}

private final class Failures: @unchecked Sendable {
    // @unchecked: `found` is only touched under `lock`.
    private let lock = NSLock()
    private var found: [String] = []

    var texts: [String] { lock.withLock { found } }

    func collect(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            lock.withLock { found.append("\(error)") }
        }
    }
}
