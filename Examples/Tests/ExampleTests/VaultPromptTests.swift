import Foundation
import SecureKeys
import ExampleSupport
import Testing
import TypedPasswords
import VaultsTestKit

@testable import VaultPrompt
@testable import Vaults

/// The example, with typed lines, and a descriptor in place of the terminal.
struct VaultPromptTests {
    private let home: TemporaryDatabase
    private let clock = ManualClock()
    private let date = ManualDate()
    private let container: DataVaultContainer

    init() throws {
        home = try TemporaryDatabase()
        container = try DataVaultContainer(
            directory: home.directory.appendingPathComponent("vaults"), keyStore: nil,
            clock: clock, date: { [date] in date.now },
            makePasswordKey: { [parameters = try ScryptParameters.cheapest] in
                PasswordKey($0, parameters: parameters)
            })
    }

    /// Returns the output for typed commands and answers to questions.
    private func type(_ commands: [String], answers: [String] = []) async throws -> [String] {
        let file = home.directory.appendingPathComponent("answers")
        try Data(answers.map { $0 + "\n" }.joined().utf8).write(to: file)
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let said = Said()
        let prompt = Prompt(
            session: DataVaultSession(id: "a", in: container),
            passwords: PasswordSource(descriptor: descriptor), say: { said.lines.append($0) })
        await prompt.run(commands)
        return said.lines
    }

    private final class Said: @unchecked Sendable {
        // @unchecked: only the prompt writes, and it has ended when the lines are read.
        var lines: [String] = []
    }

    @Test func `values are kept from one session to the next, protected by the password`()
        async throws
    {
        var said = try await type(
            ["create", "set token", "names", "get token", "get other", "", "quit", "names"],
            answers: ["P4sSw0rD1", "a secret\u{1b}"])
        check(
            said,
            equals: [
                "[no vault: create]", "[unlocked: set, get, names, lock]",
                "[unlocked: set, get, names, lock]", "token", "[unlocked: set, get, names, lock]",
                "a secret\\u{1b}", "[unlocked: set, get, names, lock]", "there is no other",
                "[unlocked: set, get, names, lock]",
            ])
        // The vault was locked at the end.
        said = try await type(
            ["get token", "unlock", "get token", "remove token", "names", "lock"],
            answers: ["P4sSw0rD1"])
        check(said[0], equals: "[locked: unlock]")
        check(said[1], equals: "the vault is locked; unlock it first")
        check(said[3...4], equals: ["[unlocked: set, get, names, lock]", "a secret\\u{1b}"])
        check(said.last, equals: "[locked: unlock]")
    }

    @Test func `wrong passwords use up the tries until the vault is gone`() async throws {
        let said = try await type(
            ["create", "policy tries 3", "lock", "unlock", "unlock", "unlock", "names", "create"],
            answers: ["P4sSw0rD1", "wrong", "wrong", "wrong", "P4sSw0rD2"])
        check(
            said[3...],
            equals: [
                "[locked, 3 tries left: unlock]",
                "wrong password; 2 more and the vault destroys itself",
                "[locked, 2 tries left: unlock]",
                "wrong password; 1 more and the vault destroys itself",
                "[locked, 1 try left: unlock]",
                "the vault has self-destructed after too many wrong passwords; create a new one",
                "[the vault has destroyed itself: create]",
                "the vault has self-destructed after too many wrong passwords; create a new one",
                "[the vault has destroyed itself: create]", "[unlocked: set, get, names, lock]",
            ])
    }

    @Test func `a password that breaks a rule or has expired must be changed`() async throws {
        var said = try await type(
            ["create", "create", "policy special on", "lock", "unlock", "passwd", "passwd"],
            answers: [
                "short", "P4sSw0rD1", "P4sSw0rD1", "P4sSw0rD1", "P4sSw0rD2", "P4sSw0rD1",
                "P4s$w0rD2",
            ])
        check(said[1].hasSuffix("fewer characters than the policy's minLength"))
        check(said[2], equals: "[no vault: create]")
        let need = "the password needs one of ~!@#$%^&*()-+"
        let state = "[the password breaks a rule, special: passwd]"
        check(
            said[5...],
            equals: [
                "[locked: unlock]", need, state, need, state, "[unlocked: set, get, names, lock]",
            ])
        said = try await type(
            ["unlock", "policy days 30", "policy tries 2", "passwd"],
            answers: ["P4s$w0rD2", "P4s$w0rD3"])
        check(said.last, equals: "[unlocked: set, get, names, lock]")
        date.advance(days: 31)
        said = try await type(
            ["unlock", "passwd", "passwd"],
            answers: ["P4s$w0rD3", "wrong", "P4s$w0rD4", "P4s$w0rD3", "P4s$w0rD4"])
        check(
            said[1...],
            equals: [
                "the password has expired; change it",
                "[the password has expired, 2 tries left: passwd]",
                "wrong password; 1 more and the vault destroys itself",
                "[the password has expired, 1 try left: passwd]",
                "[unlocked: set, get, names, lock]",
            ])
    }

    @Test func `the default password unlocks until the rules require another one`() async throws {
        let said = try await type(
            ["create", "lock", "unlock", "policy empty off", "lock", "unlock", "passwd"],
            answers: ["", "", "", "", "P4sSw0rD1"])
        check(
            said[1...],
            equals: [
                "the empty password: whoever has the files opens the vault",
                "[unlocked: set, get, names, lock]", "[locked: unlock]",
                "[unlocked: set, get, names, lock]", "[unlocked: set, get, names, lock]",
                "[locked: unlock]", "the password must not be empty",
                "[the password breaks a rule, required: passwd]",
                "[unlocked: set, get, names, lock]",
            ])
    }

    @Test func `a failure is shown until the next try`() async throws {
        _ = try await type(["create"], answers: ["P4sSw0rD1"])
        let vaults = home.directory.appendingPathComponent("vaults")
        for name in try FileManager.default.contentsOfDirectory(atPath: vaults.path)
        where name.hasSuffix(".vault") {
            try FileManager.default.removeItem(at: vaults.appendingPathComponent(name))
        }
        let said = try await type(
            ["unlock", "names", "unlock"], answers: ["P4sSw0rD1", "wrong"])
        check(said[0], equals: "[locked: unlock]")
        check(said[1].hasPrefix("the vault cannot be read"))
        check(said[2], equals: "[\(said[1])]")
        check(said.last, equals: "[locked: unlock]")
    }

    @Test func `rules are shown and set, and invalid ones are refused`() async throws {
        let said = try await type(
            [
                "create", "policy length 9", "policy upper on", "policy", "policy size 1",
                "policy upper 1", "policy tries -1", "policy tries",
            ],
            answers: ["P4sSw0rD1"])
        check(said.contains("length\t9"))
        check(said.contains("upper\ton"))
        check(said.contains("special\toff"))
        check(said.filter { $0.hasPrefix("a rule is one of") }.count, equals: 2)
        check(said.contains("invalid argument: retryLimit is -1"))
        check(said.contains(Prompt.usage))
    }

    @Test func `the vault is locked in the background and after its timeout`() async throws {
        var said = try await type(
            ["create", " background ", "unlock", "foreground", "unlock", "policy timeout 60"],
            answers: ["P4sSw0rD1", "P4sSw0rD1", "P4sSw0rD1"])
        check(
            said[1...],
            equals: [
                "[unlocked: set, get, names, lock]", "[in the background, locked: foreground]",
                "[in the background, locked: foreground]", "[locked: unlock]",
                "[unlocked: set, get, names, lock]", "[unlocked: set, get, names, lock]",
            ])
        let vault = try container.vault(id: "a")
        try await vault.unlock(password: "P4sSw0rD1")
        clock.advance(by: .seconds(60))
        said = try await type(["names", "policy tries 0", "delete"])
        let locked = ["the vault is locked; unlock it first", "[locked: unlock]"]
        check(said, equals: ["[locked: unlock]"] + locked + locked + ["[no vault: create]"])
    }

    #if os(Linux)
        @Test func `the program itself takes passwords from a descriptor`() throws {
            let answers = home.directory.appendingPathComponent("answers")
            try Data("P4sSw0rD1\na value\n".utf8).write(to: answers)
            let script =
                "printf 'create\\nset name\\nget name\\nlock\\n' | \"$0\" --password-fd 3 \"$1\" 3<\"$2\""
            let shell = try ChildProcess(
                "/bin/sh",
                [
                    "-c", script, BuiltProgram.path("VaultPrompt"),
                    home.directory.appendingPathComponent("own").path, answers.path,
                ])
            check(shell.status, equals: 0)
            let lines = shell.output.split(separator: "\n")
            check(lines.first, equals: "[no vault: create]")
            check(lines.contains("a value"))
            check(lines.last, equals: "[locked: unlock]")
        }
    #endif
}

/// A date that a test sets.
private final class ManualDate: @unchecked Sendable {
    // @unchecked: `time` is only touched under `lock`.
    private let lock = NSLock()
    private var time = Date(timeIntervalSince1970: 1_800_000_000)

    var now: Date { lock.withLock { time } }

    func advance(days: Double) { lock.withLock { time += days * 86_400 } }
}
