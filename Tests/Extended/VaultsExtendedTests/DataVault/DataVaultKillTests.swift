import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults
@testable import VaultsTests

/// Kills at every moment of a vault's life.
struct DataVaultKillTests {
    let home: VaultHome

    init() throws { home = try VaultHome() }

    @Test func `the number of tries never drops without a success, whenever an unlock is killed`()
        async throws
    {
        let container = try home.realContainer()
        let vault = try await container.create(id: "a", password: "P4sSw0rD1")
        vault.lock()
        var tries: UInt32 = 0
        var (counted, answered) = (0, 0)
        var moment = SuddenDeath.Moment()
        let kills = SuddenDeath.count(3)
        for round in 1...kills {
            // Half of the kills are near the short moment in which the try is stored.
            let isEarly = round.isMultiple(of: 2)
            let delay = isEarly ? Int.random(in: 0...15_000) : moment.next()
            let journal = home.url.appendingPathComponent("journal")
            try Data([0]).write(to: journal)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = home.path as String, delay = delay as Int] in
                let home = VaultHome(path: path)
                let vault = try home.realContainer().vault(id: "a")
                SuddenDeath.after(microseconds: delay)
                let error = dataVaultError { try vault.unlock(password: "wrong password") }
                guard error?.code == 5 else { return }
                // The try is complete: the answer was given.
                let file = open(path + "/journal", O_WRONLY)
                pwrite(file, [1], 1, 0)
                SuddenDeath.now()
            }
            let found = try require(container.records.read(vault.place)).tries.count
            let wasAnswered = try Data(contentsOf: journal) == Data([1])
            check(found == tries || found == tries + 1, "round \(round)")
            if wasAnswered { check(found, equals: tries + 1, "a free try, round \(round)") }
            if !isEarly { moment.note(wasTooLate: wasAnswered) }
            if wasAnswered { answered += 1 }
            if found > tries { counted += 1 }
            tries = found
        }
        SuddenDeath.report(
            "kills of wrong unlocks: \(kills); \(counted) counted, of which \(answered) answered")
        try await vault.unlock(password: "P4sSw0rD1")
        try check(container.records.read(vault.place)?.tries.count, equals: 0)
    }

    /// The operation on a vault during which its process is killed.
    enum Work: String, CaseIterable, Codable {
        case create, put, changePassword, delete, selfDestruct
    }

    @Test(arguments: Work.allCases)
    func `a vault whose process is killed at any step is whole or does not exist`(_ work: Work)
        async throws
    {
        let steps = StepCount()
        let whole = try subhome("whole")
        try Self.prepare(whole, work)
        try whole.run(work) { steps.count = $0 }
        check(steps.count > 0)
        for step in 1...steps.count {
            let home = try subhome("\(step)")
            try Self.prepare(home, work)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = home.path as String, work = work as Work, step = step as Int] in
                try VaultHome(path: path).run(work) { if $0 == step { SuddenDeath.now() } }
                SuddenDeath.now()
            }
            try Self.verify(home, work, "step \(step)")
            try? FileManager.default.removeItem(at: home.url)
        }
    }

    @Test(arguments: [Work.create, .put, .changePassword, .delete, .selfDestruct])
    func `a vault whose process is killed at a random moment is whole or does not exist`(
        _ work: Work
    ) async throws {
        var moment = SuddenDeath.Moment()
        var outcomes: [String: Int] = [:]
        let kills = SuddenDeath.count(4)
        for round in 1...kills {
            let home = try subhome("\(round)")
            try Self.prepare(home, work)
            let delay = moment.next()
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = home.path as String, work = work as Work, delay = delay as Int] in
                SuddenDeath.after(microseconds: delay)
                try VaultHome(path: path).run(work) { _ in }
                try Data().write(to: URL(fileURLWithPath: path + "/done"))
                SuddenDeath.now()
            }
            let isDone = FileManager.default.fileExists(atPath: home.path + "/done")
            moment.note(wasTooLate: isDone)
            let outcome = try Self.verify(home, work, "round \(round)", isDone: isDone)
            outcomes[outcome + (isDone ? ", acknowledged" : ""), default: 0] += 1
            try? FileManager.default.removeItem(at: home.url)
        }
        SuddenDeath.report("kills of \(work): \(outcomes)")
    }

    private static func prepare(_ home: VaultHome, _ work: Work) throws {
        let container = try home.container()
        // For `.create` there is no device key yet either: the creation that is killed makes it.
        guard work != .create else { return }
        var policy = DataVaultPasswordPolicy()
        policy.retryLimit = work == .selfDestruct ? 1 : 0
        let vault = try container.create(id: "a", password: "P4sSw0rD1", policy: policy)
        try vault.setString("kept", value: "value")
        try vault.setString("changed", value: "0")
    }

    /// Checks what the next start of the program finds, and returns the outcome.
    @discardableResult
    private static func verify(
        _ home: VaultHome, _ work: Work, _ comment: Comment, isDone: Bool = false
    ) throws -> String {
        let container = try home.container()
        let exists = try container.exists(id: "a")
        try check(container.ids(), equals: (exists ? ["a"] : []), comment)
        var outcome = exists ? "there" : "not there"
        if exists {
            let vault = try container.vault(id: "a")
            var isNew = false
            do {
                try vault.unlock(password: "P4sSw0rD1")
            } catch DataVaultError.invalidPassword where work == .changePassword {
                isNew = true
                try vault.unlock(password: "P4sSw0rD2")
            }
            if work == .changePassword {
                outcome = isNew ? "new password" : "old password"
                if isDone { check(isNew, comment) }
            }
            if work == .put {
                let value = try require(vault.getString("changed"))
                let acknowledged =
                    (try? String(contentsOfFile: home.path + "/journal", encoding: .utf8))
                    .flatMap { Int($0) } ?? 0
                check([acknowledged, acknowledged + 1].contains(Int(value)), comment)
                outcome = value == "\(acknowledged)" ? "acknowledged value" : "next value"
            }
            if work != .create { try check(vault.getString("kept"), equals: "value", comment) }
            if work == .create { try check(vault.dataNames, equals: [], comment) }
            if isDone { check(work != .delete && work != .selfDestruct, comment) }
        } else {
            check(work == .create || work == .delete || work == .selfDestruct, comment)
            if isDone { check(work != .create, comment) }
        }
        // Whatever was left, the id can be used again.
        try container.delete(id: "a")
        let new = try container.create(id: "a", password: "P4sSw0rD3")
        try check(new.dataNames, equals: [], comment)
        try check(home.databases().count, equals: 1, comment)
        new.lock()
        try check(
            !home.fileNames().contains { $0.contains("draft") }, comment)
        try check(home.keyStore().names().count, equals: 2, comment)
        return outcome
    }

    private func subhome(_ name: String) throws -> VaultHome {
        let home = VaultHome(path: "\(home.path)/\(name)")
        try FileManager.default.createDirectory(at: home.url, withIntermediateDirectories: true)
        return home
    }
}

extension VaultHome {
    /// Performs `work` on a key store that reports each of its steps.
    fileprivate func run(
        _ work: DataVaultKillTests.Work, _ step: @escaping @Sendable (Int) -> Void
    ) throws {
        let container = try container(StepKeyStore(try keyStore(), atStep: step))
        switch work {
        case .create: _ = try container.create(id: "a", password: "P4sSw0rD1")
        case .delete: try container.delete(id: "a")
        case .selfDestruct:
            let vault = try container.vault(id: "a")
            vault.lock()
            let error = dataVaultError { try vault.unlock(password: "wrong password") }
            guard error?.isSelfDestructed == true else { throw CocoaError(.coderInvalidValue) }
        case .changePassword:
            try container.vault(id: "a").changePassword("P4sSw0rD1", newPassword: "P4sSw0rD2")
        case .put:
            let vault = try container.vault(id: "a")
            try vault.unlock(password: "P4sSw0rD1")
            for number in 1...50 {
                try vault.setString("changed", value: "\(number)")
                // The value must persist only from here on.
                try Data("\(number)".utf8).write(
                    to: url.appendingPathComponent("journal"), options: .atomic)
            }
        }
    }
}

private final class StepCount: @unchecked Sendable {
    // @unchecked: only one thread at a time uses it.
    var count = 0
}
