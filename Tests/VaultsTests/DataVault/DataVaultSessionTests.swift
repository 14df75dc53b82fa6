import Foundation
import SecureStorage
import Testing
import TestSupport
import VaultsTestKit

@testable import Vaults

/// The state that each call on a session leads to, from each state.
struct DataVaultSessionTests {
    let home: VaultHome
    let container: DataVaultContainer
    let session: DataVaultSession

    private static let password = "P4sSw0rD1"

    init() throws {
        home = try VaultHome()
        container = try home.container()
        session = DataVaultSession(id: "a", in: container)
    }

    /// Returns the code of the error that a call throws, or nil if it throws none.
    private func code(_ call: (DataVaultSession) async throws -> Void) async -> Int? {
        do {
            try await call(session)
            return nil
        } catch {
            return (error as? DataVaultError)?.code ?? -1
        }
    }

    private func create(_ change: (inout DataVaultPasswordPolicy) -> Void = { _ in }) async throws {
        var policy = DataVaultPasswordPolicy()
        change(&policy)
        try await check(session.create(password: Self.password, policy: policy), equals: .unlocked)
    }

    @Test func `without a vault, a password that complies leads to an unlocked one`() async throws {
        check(session.state, equals: .noVault)
        await check(code { try await $0.create(password: "short") }, equals: 51)
        check(session.state, equals: .noVault)
        await check(code { try await $0.unlock(password: Self.password) }, equals: 3)
        check(session.state, equals: .noVault)
        try await create()
        try session.withVault { try $0.setString("name", value: "value") }
        await check(code { try await $0.create(password: Self.password) }, equals: 1)
        check(session.state, equals: .unlocked)
        // Another session with the vault, created later.
        let other = DataVaultSession(id: "a", in: container)
        check(other.state, equals: .unlocked)
        session.lock()
        check(session.state, equals: .locked(triesLeft: nil))
        check(other.poke(), equals: .locked(triesLeft: nil))
        await check(code { try await $0.create(password: Self.password) }, equals: 1)
        check(session.state, equals: .locked(triesLeft: nil))
        try await check(session.unlock(password: Self.password), equals: .unlocked)
        try check(session.withVault { try $0.getString("name") }, equals: "value")
    }

    @Test func `wrong passwords lead to fewer tries, then to destruction, then to a new vault`()
        async throws
    {
        try await create { $0.retryLimit = 3 }
        session.lock()
        for left in [2, 1] {
            await check(code { try await $0.unlock(password: "wrong password") }, equals: 5)
            check(session.state, equals: .locked(triesLeft: left))
        }
        try await session.unlock(password: Self.password)
        session.lock()
        check(session.state, equals: .locked(triesLeft: 3))
        for _ in 1...3 { _ = await code { try await $0.unlock(password: "wrong password") } }
        check(session.state, equals: .destroyed)
        // The user may not have seen it yet.
        session.appDidEnterBackground()
        session.appWillEnterForeground()
        check(session.poke(), equals: .destroyed)
        await check(code { try await $0.unlock(password: Self.password) }, equals: 3)
        check(session.state, equals: .destroyed)
        try await create()
        try check(session.withVault { try $0.dataNames }, equals: [])
    }

    @Test func `deleting a destroyed vault leads to no vault`() async throws {
        try await create { $0.retryLimit = 1 }
        session.lock()
        await check(code { try await $0.unlock(password: "wrong password") }, equals: 3)
        check(session.state, equals: .destroyed)
        try await check(session.delete(), equals: .noVault)
    }

    @Test(arguments: DataVaultPasswordRule.allCases)
    func `a password that breaks a rule leads to that rule until it is changed`(
        _ rule: DataVaultPasswordRule
    ) async throws {
        let old = [.required: "", .lower: "AAAAAAAA"][rule] ?? "aaaaaaaa"
        var policy = DataVaultPasswordPolicy()
        try await session.create(password: old, policy: policy)
        switch rule {
        case .required: policy.defaultPasswordAllowed = false
        case .minLength: policy.minLength = 9
        case .digits: policy.hasDigits = true
        case .upper: policy.hasUpper = true
        case .lower: policy.hasLower = true
        case .special: policy.hasSpecial = true
        case .minUnique: policy.minUniqueChars = 2
        }
        policy.retryLimit = 3
        try session.withVault { try $0.setPasswordPolicy(policy) }
        // The violation is found when the password is entered.
        check(session.state, equals: .unlocked)
        session.lock()
        await check(code { try await $0.unlock(password: old) }, equals: rule.rawValue)
        check(session.state, equals: .passwordViolates(rule, triesLeft: 3))
        check(session.poke(), equals: .passwordViolates(rule, triesLeft: 3))
        let wrong = await code {
            try await $0.changePassword("wrong password", newPassword: "New-passw0rd")
        }
        check(wrong, equals: 5)
        check(session.state, equals: .passwordViolates(rule, triesLeft: 2))
        await check(
            code { try await $0.changePassword(old, newPassword: old) }, equals: rule.rawValue)
        check(session.state, equals: .passwordViolates(rule, triesLeft: 2))
        // After the background, the password must be entered again.
        session.appDidEnterBackground()
        session.appWillEnterForeground()
        check(session.state, equals: .locked(triesLeft: 2))
        _ = await code { try await $0.unlock(password: old) }
        check(session.state, equals: .passwordViolates(rule, triesLeft: 3))
        await check(code { try await $0.unlock(password: "wrong password") }, equals: 5)
        check(session.state, equals: .passwordViolates(rule, triesLeft: 2))
        try await check(
            session.changePassword(old, newPassword: "New-passw0rd"), equals: .unlocked)
        session.lock()
        try await check(session.unlock(password: "New-passw0rd"), equals: .unlocked)
    }

    @Test func `an expired password leads to the expired state until it is changed`() async throws {
        try await create {
            $0.expirationDays = 30
            $0.retryLimit = 2
        }
        session.lock()
        home.date.advance(days: 31)
        await check(code { try await $0.unlock(password: Self.password) }, equals: 57)
        check(session.state, equals: .passwordExpired(triesLeft: 2))
        let wrong = await code {
            try await $0.changePassword("wrong password", newPassword: "P4sSw0rD2")
        }
        check(wrong, equals: 5)
        check(session.poke(), equals: .passwordExpired(triesLeft: 1))
        try await check(
            session.changePassword(Self.password, newPassword: "P4sSw0rD2"), equals: .unlocked)
        try await check(session.changePassword("P4sSw0rD3"), equals: .unlocked)
        home.date.advance(days: 31)
        session.lock()
        _ = await code { try await $0.unlock(password: "P4sSw0rD3") }
        check(session.state, equals: .passwordExpired(triesLeft: 2))
        session.lock()
        check(session.state, equals: .locked(triesLeft: 2))
    }

    @Test
    func `the password is requested again if another session changed it or the policy is looser`()
        async throws
    {
        try await create()
        var policy = try session.withVault { try $0.passwordPolicy }
        policy.minLength = 20
        try session.withVault { [policy] in try $0.setPasswordPolicy(policy) }
        session.lock()
        func violate(_ password: String) async {
            await check(code { try await $0.unlock(password: password) }, equals: 51)
            check(session.state, equals: .passwordViolates(.minLength, triesLeft: nil))
        }
        await violate(Self.password)
        policy.minLength = 8
        try await session.setPasswordPolicy(policy, password: Self.password)
        check(session.state, equals: .locked(triesLeft: nil))
        policy.minLength = 20
        try session.withVault { [policy] in try $0.setPasswordPolicy(policy) }
        await violate(Self.password)
        let other = DataVaultSession(id: "a", in: container)
        try await other.changePassword(Self.password, newPassword: "A-passw0rd-that-is-long")
        other.lock()
        check(session.poke(), equals: .locked(triesLeft: nil))
        // Another vault with the same id.
        try await other.delete()
        try await other.create(password: Self.password)
        try other.withVault { [policy] in try $0.setPasswordPolicy(policy) }
        other.lock()
        await violate(Self.password)
        try await other.delete()
        try await other.create(password: Self.password)
        other.lock()
        check(session.poke(), equals: .locked(triesLeft: nil))
    }

    @Test(arguments: ["locked", "unlocked", "expired"])
    func `failed password changes destroy the vault as well`(_ begin: String) async throws {
        try await create {
            $0.expirationDays = 30
            $0.retryLimit = 2
        }
        if begin != "unlocked" { session.lock() }
        if begin == "expired" {
            home.date.advance(days: 31)
            _ = await code { try await $0.unlock(password: Self.password) }
        }
        let before = session.state
        for _ in 1...2 {
            if begin == "unlocked" { check(session.state, equals: before) }
            _ = await code {
                try await $0.changePassword("wrong password", newPassword: "P4sSw0rD2")
            }
        }
        check(session.state, equals: .destroyed)
    }

    @Test func `a failed password change does not affect the state`() async throws {
        try await create()
        await check(code { try await $0.changePassword("short") }, equals: 51)
        check(session.state, equals: .unlocked)
        session.lock()
        await check(code { try await $0.changePassword("P4sSw0rD2") }, equals: 8)
        check(session.state, equals: .locked(triesLeft: nil))
    }

    @Test func `deletion leads to no vault, from any state`() async throws {
        try await create()
        try await check(session.delete(), equals: .noVault)
        try await check(session.delete(), equals: .noVault)
        try await create()
        session.lock()
        try await check(session.delete(), equals: .noVault)
    }

    @Test func `a vault that another caller has deleted or destroyed is gone`() async throws {
        try await create()
        try container.delete(id: "a")
        check(session.state, equals: .unlocked)
        await check(code { _ = try $0.withVault { try $0.getString("name") } }, equals: 3)
        check(session.state, equals: .noVault)
        try await create { $0.retryLimit = 1 }
        let wrong = await code {
            try $0.withVault { vault in
                try vault.changePassword("wrong password", newPassword: "P4sSw0rD2")
            }
        }
        check(wrong, equals: 3)
        check(session.state, equals: .destroyed)
    }

    @Test func `a cancelled call does not count as a try or affect the state`() async throws {
        try await create { $0.retryLimit = 1 }
        session.lock()
        let call = Task { [session] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await session.unlock(password: "wrong password")
        }
        await #expect(throws: CancellationError.self) { try await call.value }
        check(session.state, equals: .locked(triesLeft: 1))
    }

    // MARK: - Failures

    @Test func `an unreadable key store is a failure until it can be read again`() async throws {
        let store = InMemoryKeyStore()
        let home = try VaultHome()
        defer { withExtendedLifetime(home) {} }
        let container = try home.container(store)
        let session = DataVaultSession(id: "a", in: container)
        try await session.create(password: Self.password)
        store.isLocked = true
        // An open vault stays open.
        check(session.poke(), equals: .unlocked)
        try check(session.withVault { try $0.getString("name") } == nil)
        session.lock()
        guard case .failed(.ioReadError) = session.state else {
            Issue.record("\(session.state)")
            return
        }
        await #expect(throws: DataVaultError.self) {
            try await session.unlock(password: Self.password)
        }
        check(DataVaultSession(id: "a", in: container).state, equals: session.state)
        store.isLocked = false
        check(session.poke(), equals: .locked(triesLeft: nil))
        try await check(session.unlock(password: Self.password), equals: .unlocked)
    }

    @Test func `a lost database makes the unlock fail`() async throws {
        try await create()
        session.lock()
        for url in try home.databases() { try FileManager.default.removeItem(at: url) }
        await check(code { try await $0.unlock(password: Self.password) }, equals: 6)
        guard case .failed(.ioReadError) = session.state else {
            Issue.record("\(session.state)")
            return
        }
        // The failure remains until the user's next action, and can recur.
        check(session.poke(), equals: session.state)
        await check(code { try await $0.unlock(password: "wrong password") }, equals: 5)
        check(session.state, equals: .locked(triesLeft: nil))
        _ = await code { try await $0.unlock(password: Self.password) }
        guard case .failed(.ioReadError) = session.poke() else {
            Issue.record("\(session.state)")
            return
        }
        session.lock()
        check(session.state, equals: .locked(triesLeft: nil))
    }

    @Test(arguments: ["", String(repeating: "x", count: 256)])
    func `an invalid id is a failure`(_ id: String) async {
        let session = DataVaultSession(id: id, in: container)
        guard case .failed(let error) = session.state else {
            Issue.record("\(session.state)")
            return
        }
        check(error.code, equals: (id.isEmpty ? 4 : 9))
        await #expect(throws: DataVaultError.self) { try await session.create(password: "") }
        check(session.state, equals: .failed(error))
    }
}
