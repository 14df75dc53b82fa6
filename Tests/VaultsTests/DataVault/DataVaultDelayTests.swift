import Foundation
import SecureStorage
import TestSupport
import Testing
import VaultsTestKit

@testable import Vaults

/// The time to wait after wrong passwords.
struct DataVaultDelayTests {
    let home: VaultHome
    let container: DataVaultContainer
    let vault: DataVault

    init() throws {
        home = try VaultHome()
        container = try home.container()
        vault = try Self.makeVault(in: container)
    }

    private static func makeVault(in container: DataVaultContainer) throws -> DataVault {
        var policy = DataVaultPasswordPolicy()
        policy.retryDelay = 60
        let vault = try container.create(id: "a", password: "P4sSw0rD1", policy: policy)
        try vault.setString("name", value: "value")
        vault.lock()
        return vault
    }

    /// The seconds that even the right password has to wait; 0 if it unlocks.
    private func secondsToWait(_ vault: DataVault? = nil) -> Int {
        let vault = vault ?? self.vault
        let error = dataVaultError {
            try vault.unlock(password: "P4sSw0rD1")
            vault.lock()
        }
        guard case .mustWait(let seconds)? = error else { return error == nil ? 0 : -1 }
        return seconds
    }

    private func tryWrong(_ count: Int) {
        for number in 0..<count {
            check(
                vaultCode { try vault.unlock(password: "wrong password") }, equals: 5, "\(number)")
            home.clock.advance(by: .seconds(100_000))
        }
    }

    @Test func `two wrong passwords have no consequence, and the third begins a delay`() throws {
        for _ in 1...2 {
            check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
        }
        check(secondsToWait(), equals: 0)
        for _ in 1...3 {
            check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
        }
        check(secondsToWait(), equals: 60)
    }

    @Test func `a delay grows up to a day`() throws {
        tryWrong(2)
        for wait in [
            60, 120, 240, 480, 960, 1920, 3840, 7680, 15_360, 30_720, 61_440, 86_400, 86_400,
        ] {
            check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
            for passed in [0, 1, wait - 2] {
                if passed > 0 { home.clock.advance(by: .seconds(passed == 1 ? 1 : passed)) }
                let error = dataVaultError { try vault.unlock(password: "P4sSw0rD1") }
                let left = passed == 0 ? wait : passed == 1 ? wait - 1 : 1
                check(error?.code, equals: 14)
                check(error?.description.contains("try again in \(left) s"), equals: true)
            }
            home.clock.advance(by: .seconds(1))
        }
        try vault.unlock(password: "P4sSw0rD1")
        try check(container.records.read(vault.place)?.tries.last == nil)
    }

    @Test func `a call during the delay is not a try; the right password ends the delays`() throws {
        tryWrong(2)
        check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
        for _ in 0..<20 {
            check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 14)
            check(
                vaultCode { try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD2") },
                equals: 14)
            check(
                vaultCode { try vault.setPasswordPolicy(.init(), password: "P4sSw0rD1") },
                equals: 14)
        }
        try check(container.records.read(vault.place)?.tries.count, equals: 3)
        home.clock.advance(by: .seconds(60))
        check(secondsToWait(), equals: 0)
        tryWrong(2)
        check(secondsToWait(), equals: 0)
    }

    @Test func `setting the date does not shorten the delay`() throws {
        tryWrong(2)
        check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
        for days in [1.0, -2, 400, -800, 3000] {
            home.date.advance(days: days)
            check(secondsToWait(), equals: 60)
        }
        // Another container, as in another process.
        check(secondsToWait(try home.container().vault(id: "a")), equals: 60)
    }

    @Test func `a delay begins again when the machine is started, whatever its date`() throws {
        // Another home: the process has one object per vault, which keeps its container.
        let home = try VaultHome()
        do {
            let vault = try Self.makeVault(in: home.container())
            for _ in 1...3 {
                check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
            }
        }
        // A date that was set ahead, while the machine was off, counts for nothing.
        home.date.advance(days: 400)
        let clock = ManualClock(now: .seconds(20))
        let restarted = try home.container(startedAs: 1, clock: clock)
        check(secondsToWait(try restarted.vault(id: "a")), equals: 40)
        clock.advance(by: .seconds(30))
        check(secondsToWait(try restarted.vault(id: "a")), equals: 10)
        let later = ManualClock(now: .milliseconds(4500))
        let again = try home.container(startedAs: 2, clock: later)
        check(secondsToWait(try again.vault(id: "a")), equals: 56)
        later.advance(by: .seconds(55))
        check(secondsToWait(try again.vault(id: "a")), equals: 1)
        later.advance(by: .milliseconds(500))
        check(secondsToWait(try again.vault(id: "a")), equals: 0)
    }

    @Test func `a locked vault's delay cannot be shortened without the password`() throws {
        var policy = DataVaultPasswordPolicy()
        policy.retryDelay = 59
        check(vaultCode { try vault.setPasswordPolicy(policy) }, equals: 8)
        policy.retryDelay = 61
        try vault.setPasswordPolicy(policy)
        tryWrong(2)
        check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
        check(secondsToWait(), equals: 61)
    }

    @Test func `verify asks for the password of an unlocked vault, counts, and changes nothing`()
        async throws
    {
        check(vaultCode { try vault.verify(password: "P4sSw0rD1") }, equals: 8)
        try await vault.unlock(password: "P4sSw0rD1")
        try await vault.verify(password: "P4sSw0rD1")
        for tries in 1...3 {
            check(vaultCode { try vault.verify(password: "wrong password") }, equals: 5)
            try check(container.records.read(vault.place)?.tries.count, equals: UInt32(tries))
            try check(vault.getString("name"), equals: "value")
        }
        check(vaultCode { try vault.verify(password: "P4sSw0rD1") }, equals: 14)
        home.clock.advance(by: .seconds(60))
        try await vault.verify(password: "P4sSw0rD1")
        try check(container.records.read(vault.place)?.tries.count, equals: 0)
        check(!vault.isLocked)
    }

    @Test func `one wrong password too many in verify destroys the vault`() throws {
        var policy = DataVaultPasswordPolicy()
        policy.retryLimit = 2
        let other = try container.create(id: "b", password: "P4sSw0rD1", policy: policy)
        check(vaultCode { try other.verify(password: "wrong password") }, equals: 5)
        let error = dataVaultError { try other.verify(password: "wrong password") }
        check(error?.isSelfDestructed, equals: true)
        check(other.isLocked)
    }

    @Test func `8 processes get no more tries than one`() async throws {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { [path = home.path] in
                    await #expect(processExitsWith: .success) { [path = path as String] in
                        let vault = try VaultHome(path: path).container().vault(id: "a")
                        for _ in 0..<6 {
                            let code = vaultCode { try vault.unlock(password: "wrong password") }
                            let file = open(path + "/answers", O_WRONLY | O_APPEND | O_CREAT, 0o600)
                            write(file, code == 5 ? "5" : code == 14 ? "e" : "?", 1)
                            close(file)
                        }
                    }
                }
            }
        }
        let answers = try String(
            contentsOf: home.url.appendingPathComponent("answers"), encoding: .utf8)
        check(answers.filter { $0 == "5" }.count, equals: 3)
        check(answers.filter { $0 == "e" }.count, equals: 45)
        check(secondsToWait(), equals: 60)
    }

    @Test func `a killed try leaves the whole delay, or was not answered`() async throws {
        var moment = SuddenDeath.Moment()
        let kills = SuddenDeath.count(2)
        var counted = 0
        for round in 1...kills {
            tryWrong(2)
            let answered = home.url.appendingPathComponent("answered")
            try? FileManager.default.removeItem(at: answered)
            let delay = round.isMultiple(of: 2) ? Int.random(in: 0...8000) : moment.next()
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = home.path as String, delay = delay as Int] in
                let vault = try VaultHome(path: path).container().vault(id: "a")
                SuddenDeath.after(microseconds: delay)
                _ = vaultCode { try vault.unlock(password: "wrong password") }
                close(open(path + "/answered", O_WRONLY | O_CREAT, 0o600))
                SuddenDeath.now()
            }
            let wasAnswered = FileManager.default.fileExists(atPath: answered.path)
            let record = try require(container.records.read(vault.place))
            check(
                record.tries.count == 3 || record.tries.count == 2 && !wasAnswered, "round \(round)"
            )
            if record.tries.count == 3 {
                counted += 1
                // The clock of the other process stood still.
                let begin = try require(record.tries.last)
                check(
                    record.tries.secondsToWait(record.policy.delay, at: begin), equals: 60,
                    "round \(round)")
            }
            if !round.isMultiple(of: 2) { moment.note(wasTooLate: wasAnswered) }
            home.clock.advance(by: .seconds(100_000))
            check(secondsToWait(), equals: 0)
        }
        SuddenDeath.report("kills of delayed tries: \(kills), \(counted) counted")
    }
}
