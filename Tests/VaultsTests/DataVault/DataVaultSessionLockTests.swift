import Foundation
import SecureStorage
import Testing
import VaultsTestKit

@testable import Vaults

/// How the user, a timeout and the system lock a session, and what its observers see.
@Suite(.timeLimit(.minutes(10)))
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
        #expect(session.state == .locked(triesLeft: 3))
        #expect(try container.vault(id: "a").isLocked)
        // A call during that time, and one that bypasses the session.
        #expect(try await session.unlock(password: Self.password) == .locked(triesLeft: 3))
        try session.withVault { try $0.unlock(password: Self.password) }
        #expect(session.state == .locked(triesLeft: 3))
        #expect(try container.vault(id: "a").isLocked)
        session.appWillEnterForeground()
        #expect(session.state == .locked(triesLeft: 3))
        #expect(try await session.unlock(password: Self.password) == .unlocked)
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
        #expect(try await call.value == .locked(triesLeft: 3))
        #expect(try container.vault(id: "a").isLocked)
        session.appWillEnterForeground()
        #expect(try await session.unlock(password: Self.password) == .unlocked)
    }

    @Test func `poking a session while its vault is created does not lock the vault`() async throws
    {
        gate.close()
        let call = Task { try await create() }
        while !gate.isSomebodyWaiting { try await Task.sleep(for: .milliseconds(1)) }
        #expect(session.poke() == .noVault)
        gate.open()
        try await call.value
        #expect(session.state == .unlocked)
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
        #expect(try await second.value == .unlocked)
        #expect(session.state == .unlocked)
    }

    @Test func `a vault that has locked itself shows as locked when poked or used`() async throws {
        try await create()
        home.clock.advance(by: .seconds(59))
        #expect(session.poke() == .unlocked)
        try session.touch()
        home.clock.advance(by: .seconds(59))
        #expect(session.poke() == .unlocked)
        home.clock.advance(by: .seconds(1))
        #expect(session.state == .unlocked)
        #expect(session.poke() == .locked(triesLeft: 3))
        try await session.unlock(password: Self.password)
        home.clock.advance(by: .seconds(60))
        #expect(vaultCode { _ = try session.withVault { try $0.dataNames } } == 8)
        #expect(session.state == .locked(triesLeft: 3))
        #expect(vaultCode { try session.touch() } == 8)
        // The policy of a locked vault can be read and made stricter; the state shows the tries.
        var policy = try session.withVault { try $0.passwordPolicy }
        policy.retryLimit = 2
        try session.withVault { [policy] in try $0.setPasswordPolicy(policy) }
        #expect(session.state == .locked(triesLeft: 2))
        policy.retryLimit = 5
        #expect(
            vaultCode { try session.withVault { [policy] in try $0.setPasswordPolicy(policy) } }
                == 8)
        #expect(
            try await session.setPasswordPolicy(policy, password: Self.password)
                == .locked(triesLeft: 5))
    }

    @Test func `observers see the state, then each change, then the end`() async throws {
        var session: DataVaultSession? = DataVaultSession(id: "a", in: container)
        var states = try #require(session).states.makeAsyncIterator()
        #expect(await states.next() == .noVault)
        try await session?.create(password: Self.password)
        #expect(await states.next() == .unlocked)
        session?.lock()
        #expect(await states.next() == .locked(triesLeft: nil))
        _ = try? await session?.unlock(password: "wrong password")
        try await session?.unlock(password: Self.password)
        session?.lock()
        session?.appDidEnterBackground()
        // Only the last state is kept; a later observer starts with it.
        #expect(await states.next() == .locked(triesLeft: nil))
        var later = try #require(session).states.makeAsyncIterator()
        #expect(await later.next() == .locked(triesLeft: nil))
        session?.appWillEnterForeground()
        session = nil
        #expect(await states.next() == nil)
        #expect(await later.next() == nil)
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
        #expect(session.state == (vault.isLocked ? .locked(triesLeft: 3) : .unlocked))
        session.lock()
        #expect(try await session.unlock(password: Self.password) == .unlocked)
    }

    @Test func `a destruction handler may use the session`() async throws {
        try await create()
        container.onDestruction = { [weak session] _ in session?.lock() }
        session.lock()
        for _ in 1...3 { _ = try? await session.unlock(password: "wrong password") }
        #expect(session.state == .destroyed)
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
        #expect(text.contains("DataVaultSession(\"a\")"))
        #expect(!text.contains(Self.password))
        #expect(!text.contains("secret"))
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
