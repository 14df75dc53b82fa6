import Foundation
import SecureStorage
import TestSupport
import Testing
import VaultsTestKit

@testable import Vaults

/// How the user, a timeout and the system lock a session, and what its observers see.
struct DataVaultSessionLockTests {
    let home: VaultHome
    let gate = Gate()
    let container: DataVaultContainer
    let session: DataVaultSession

    private static let password = "P4sSw0rD1"

    init() throws {
        home = try VaultHome()
        container = try home.container(passing: gate)
        session = DataVaultSession(id: "a", in: container)
    }

    private func create() async throws {
        var policy = DataVaultPasswordPolicy()
        policy.lockTimeout = 60
        policy.retryLimit = 3
        try await session.create(password: Self.password, policy: policy)
    }

    @Test func `the vault is locked in the background, and stays locked`() async throws {
        try await create()
        session.appDidEnterBackground()
        check(session.state, equals: .locked(triesLeft: 3))
        try check(container.vault(id: "a").isLocked)
        // A call during that time, and one that bypasses the session.
        try await check(session.unlock(password: Self.password), equals: .locked(triesLeft: 3))
        try session.withVault { try $0.unlock(password: Self.password) }
        check(session.state, equals: .locked(triesLeft: 3))
        try check(container.vault(id: "a").isLocked)
        session.appWillEnterForeground()
        check(session.state, equals: .locked(triesLeft: 3))
        try await check(session.unlock(password: Self.password), equals: .unlocked)
    }

    @Test(arguments: ["lock", "background", "background and foreground"])
    func `a lock also applies to an unlock in progress`(_ event: String) async throws {
        try await create()
        session.lock()
        gate.close()
        let call = Task { [session] in try await session.unlock(password: Self.password) }
        while !gate.isSomebodyWaiting { try await Task.sleep(for: .milliseconds(1)) }
        switch event {
        case "lock": session.lock()
        case "background": session.appDidEnterBackground()
        default:
            session.appDidEnterBackground()
            session.appWillEnterForeground()
        }
        gate.open()
        try await check(call.value, equals: .locked(triesLeft: 3))
        try check(container.vault(id: "a").isLocked)
        session.appWillEnterForeground()
        try await check(session.unlock(password: Self.password), equals: .unlocked)
    }

    @Test func `poking a session while its vault is created does not lock the vault`() async throws
    {
        gate.close()
        let call = Task { try await create() }
        while !gate.isSomebodyWaiting { try await Task.sleep(for: .milliseconds(1)) }
        check(session.poke(), equals: .noVault)
        gate.open()
        try await call.value
        check(session.state, equals: .unlocked)
    }

    @Test func `an unlock after a lock is not undone when an earlier unlock ends`() async throws {
        try await create()
        session.lock()
        gate.close()
        let first = Task { [session] in try await session.unlock(password: Self.password) }
        while !gate.isSomebodyWaiting { try await Task.sleep(for: .milliseconds(1)) }
        session.lock()
        let second = Task { [session] in try await session.unlock(password: Self.password) }
        // The second one waits for the first one's lock file.
        try await Task.sleep(for: .milliseconds(200))
        gate.open()
        _ = try await first.value
        try await check(second.value, equals: .unlocked)
        check(session.state, equals: .unlocked)
    }

    @Test func `a vault that has locked itself shows as locked when poked or used`() async throws {
        try await create()
        home.clock.advance(by: .seconds(59))
        check(session.poke(), equals: .unlocked)
        try session.touch()
        home.clock.advance(by: .seconds(59))
        check(session.poke(), equals: .unlocked)
        home.clock.advance(by: .seconds(1))
        check(session.state, equals: .unlocked)
        check(session.poke(), equals: .locked(triesLeft: 3))
        try await session.unlock(password: Self.password)
        home.clock.advance(by: .seconds(60))
        check(vaultCode { _ = try session.withVault { try $0.dataNames } }, equals: 8)
        check(session.state, equals: .locked(triesLeft: 3))
        check(vaultCode { try session.touch() }, equals: 8)
        // The policy of a locked vault can be read and made stricter; the state shows the tries.
        var policy = try session.withVault { try $0.passwordPolicy }
        policy.retryLimit = 2
        try session.withVault { [policy] in try $0.setPasswordPolicy(policy) }
        check(session.state, equals: .locked(triesLeft: 2))
        policy.retryLimit = 5
        check(
            vaultCode { try session.withVault { [policy] in try $0.setPasswordPolicy(policy) } },
            equals: 8)
        try await check(
            session.setPasswordPolicy(policy, password: Self.password),
            equals: .locked(triesLeft: 5))
    }

    @Test func `observers see the state, then each change, then the end`() async throws {
        var session: DataVaultSession? = DataVaultSession(id: "a", in: container)
        var states = try require(session).states.makeAsyncIterator()
        await check(states.next(), equals: .noVault)
        try await session?.create(password: Self.password)
        await check(states.next(), equals: .unlocked)
        session?.lock()
        await check(states.next(), equals: .locked(triesLeft: nil))
        _ = try? await session?.unlock(password: "wrong password")
        try await session?.unlock(password: Self.password)
        session?.lock()
        session?.appDidEnterBackground()
        // Only the last state is kept; a later observer starts with it.
        await check(states.next(), equals: .locked(triesLeft: nil))
        var later = try require(session).states.makeAsyncIterator()
        await check(later.next(), equals: .locked(triesLeft: nil))
        session?.appWillEnterForeground()
        session = nil
        await check(states.next() == nil)
        await check(later.next() == nil)
    }

    @Test func `after concurrent calls, the state is that of the vault`() async throws {
        try await create()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<16 {
                group.addTask { [session] in
                    for round in 0..<20 {
                        switch (number + round) % 5 {
                        case 0: session.lock()
                        case 1: session.poke()
                        case 2:
                            session.appDidEnterBackground()
                            session.appWillEnterForeground()
                        case 3: _ = try? session.withVault { try $0.dataNames }
                        default: _ = try? await session.unlock(password: Self.password)
                        }
                    }
                }
            }
        }
        let vault = try container.vault(id: "a")
        check(session.state, equals: (vault.isLocked ? .locked(triesLeft: 3) : .unlocked))
        session.lock()
        try await check(session.unlock(password: Self.password), equals: .unlocked)
    }

    @Test func `a destruction handler may use the session`() async throws {
        try await create()
        container.onDestruction = { [weak session] _ in session?.lock() }
        session.lock()
        for _ in 1...3 { _ = try? await session.unlock(password: "wrong password") }
        check(session.state, equals: .destroyed)
    }

    @Test func `neither a session nor a state prints a secret`() async throws {
        try await create()
        try session.withVault { try $0.setString("name", value: "a secret value") }
        var text = ""
        dump(session, to: &text)
        text += "\(session)\(String(reflecting: session))"
        for _ in 1...2 {
            text += "\(session.state)\(String(reflecting: session.state))"
            dump(session.state, to: &text)
            session.lock()
        }
        check(text.contains("DataVaultSession(\"a\")"))
        check(!text.contains(Self.password))
        check(!text.contains("secret"))
    }
}

/// A gate where key derivations wait while a test keeps it closed.
final class Gate: @unchecked Sendable {
    // @unchecked: `condition` protects all properties.
    private let condition = NSCondition()
    private var isClosed = false
    private var waiting = 0

    var isSomebodyWaiting: Bool { countOfWaiting > 0 }

    var countOfWaiting: Int { condition.withLock { waiting } }

    func close() { condition.withLock { isClosed = true } }

    func open() {
        condition.withLock {
            isClosed = false
            condition.broadcast()
        }
    }

    func pass() {
        condition.withLock {
            waiting += 1
            while isClosed { condition.wait() }
            waiting -= 1
        }
    }
}
