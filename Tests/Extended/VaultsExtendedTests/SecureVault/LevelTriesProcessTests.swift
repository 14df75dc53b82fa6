import Foundation
import SecureStorage
import SecureStoragePlatform
import TestSupport
import Testing

@testable import Vaults
@testable import VaultsTests

/// Wrong passwords of a vault in levels from several processes, and from killed ones.
struct LevelTriesProcessTests {
    private let folder: VaultFolder

    init() throws {
        folder = try VaultFolder.make()
        try folder.withVault(folder.store()) {
            try $0.levels.resetL2Password(
                oldPassword: nil, newPassword: SecretBytes(utf8: "correct horse"))
        }
    }

    private static func levels(_ path: String) throws -> SecureVaultLevels {
        let folder = VaultFolder(path: path)
        let providers = try folder.factory(folder.store(), quick: true)
            .makeSecureStorageProviders(reporter: nil)
        return SecureVaultLevels(providers: providers, retryDelay: 60)
    }

    /// Returns `5` for a wrong password, `w` for one that must wait.
    private static func answer(_ levels: SecureVaultLevels) -> String {
        switch vaultError({ try levels.authWith(password: SecretBytes(utf8: "wrong")) }) {
        case "invalidPassword": "5"
        case "mustWait": "w"
        default: "?"
        }
    }

    private static func append(_ text: String, to path: String) {
        let file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        write(file, text, text.utf8.count)
        close(file)
    }

    @Test func `8 processes get no more tries than one`() async throws {
        defer { folder.remove() }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { [path = folder.path] in
                    await #expect(processExitsWith: .success) { [path = path as String] in
                        try Self.tryOften(path)
                    }
                }
            }
        }
        let answers = try String(
            contentsOf: folder.url.appendingPathComponent("answers"), encoding: .utf8)
        check(answers.filter { $0 == "5" }.count, equals: 3)
        check(answers.filter { $0 == "w" }.count, equals: 45)
    }

    private static func tryOften(_ path: String) throws {
        let levels = try levels(path)
        for _ in 0..<6 { append(answer(levels), to: path + "/answers") }
    }

    @Test func `a killed try leaves the whole delay, or was not answered`() async throws {
        defer { folder.remove() }
        let kills = SuddenDeath.count(3)
        let (store, answered) = (
            try folder.store(), folder.url.appendingPathComponent("answers").path
        )
        var moment = SuddenDeath.Moment()
        var counted = 0
        for round in 1...kills {
            unlink(answered)
            let delay = round.isMultiple(of: 2) ? Int.random(in: 0...4000) : moment.next()
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = folder.path as String, delay = delay as Int] in
                try Self.tryThrice(path, delay)
            }
            let answers = (try? String(contentsOfFile: answered, encoding: .utf8)) ?? ""
            let tries = try LevelTries(
                keystore: VaultKeyStoreProvider(keyStore: store), delay: RetryDelay(seconds: 60)
            ).read()
            check(answers.allSatisfy { $0 == "5" }, "round \(round)")
            check(Int(tries.count) >= answers.count && tries.count <= 3, "round \(round)")
            if tries.count > answers.count { counted += 1 }
            if tries.count == 3 {
                let begin = try require(tries.last)
                check(tries.secondsToWait(RetryDelay(seconds: 60), at: begin), equals: 60)
            }
            if !round.isMultiple(of: 2) { moment.note(wasTooLate: answers.count == 3) }
            _ = try? store.remove("SecureVault.l2-tries")
        }
        SuddenDeath.report("kills of tries of L2: \(kills), \(counted) counted, not answered")
    }

    private static func tryThrice(_ path: String, _ delay: Int) throws {
        let levels = try levels(path)
        SuddenDeath.after(microseconds: delay)
        for _ in 0..<3 { append(answer(levels), to: path + "/answers") }
        SuddenDeath.now()
    }
}
