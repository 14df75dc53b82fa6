import Foundation
import SecureStorage
import Vaults
import TypedPasswords

/// The commands for one vault, and the message for each of its states.
struct Prompt {
    static let usage = """
        commands:
          create              asks for a new password
          unlock              asks for the password
          passwd              asks for a new password, and for the old one when it is needed
          set NAME            asks for the value, unseen
          get NAME
          remove NAME
          names
          policy              shows the rules
          policy RULE VALUE   \(Policy.names.joined(separator: ", "))
          lock
          background          as when an app goes there: locked until `foreground`
          foreground
          delete              the vault and all that is in it
          quit
        """

    let session: DataVaultSession
    let passwords: PasswordSource
    let say: @Sendable (String) -> Void

    /// Runs lines until `quit` or their end; a failed line does not end the session.
    func run(_ lines: some Sequence<String> & Sendable) async {
        var isInBackground = false
        say(Self.text(session.state))
        for line in lines {
            let words = line.split(separator: " ").map(String.init)
            guard let command = words.first else { continue }
            if command == "quit" { break }
            do { try await run(words) } catch { say("\(error)") }
            if ["background", "foreground"].contains(command) {
                isInBackground = command == "background"
            }
            // The vault may have locked itself while waiting for input.
            let state = session.poke()
            say(isInBackground ? "[in the background, locked: foreground]" : Self.text(state))
        }
        session.lock()
    }

    /// Returns the message for a state, with the commands to type next.
    static func text(_ state: DataVaultSession.State) -> String {
        switch state {
        case .noVault: "[no vault: create]"
        case .locked(let tries): "[locked\(text(tries)): unlock]"
        case .unlocked: "[unlocked: set, get, names, lock]"
        case .passwordViolates(let rule, let tries):
            "[the password breaks a rule, \(rule)\(text(tries)): passwd]"
        case .passwordExpired(let tries): "[the password has expired\(text(tries)): passwd]"
        case .destroyed: "[the vault has destroyed itself: create]"
        case .failed(let error): "[\(error)]"
        }
    }

    private static func text(_ triesLeft: Int?) -> String {
        triesLeft.map { $0 == 1 ? ", 1 try left" : ", \($0) tries left" } ?? ""
    }

    private func run(_ words: [String]) async throws {
        switch (words[0], words.dropFirst().first, words.count) {
        case ("create", nil, 1): try await session.create(password: askForNew())
        case ("unlock", nil, 1):
            try await session.unlock(password: passwords.ask("password", allowingEmpty: true))
        case ("passwd", nil, 1): try await changePassword()
        case ("set", let name?, 2): try set(name)
        case ("get", let name?, 2): try get(name)
        case ("remove", let name?, 2): try session.withVault { _ = try $0.deleteValue(name) }
        case ("names", nil, 1):
            for name in try session.withVault({ try $0.dataNames }) { say(visible(name.name)) }
        case ("policy", nil, 1):
            let policy = try session.withVault { try $0.passwordPolicy }
            for line in Policy.lines(of: policy) { say(line) }
        case ("policy", let rule?, 3):
            // A locked vault also accepts a stricter policy; this program requires an unlocked one.
            try session.touch()
            var policy = try session.withVault { try $0.passwordPolicy }
            try Policy.set(rule, words[2], in: &policy)
            try session.withVault { try $0.setPasswordPolicy(policy) }
        case ("lock", nil, 1): session.lock()
        case ("background", nil, 1): session.appDidEnterBackground()
        case ("foreground", nil, 1): session.appWillEnterForeground()
        case ("delete", nil, 1): try await session.delete()
        default: throw Failure(Self.usage)
        }
    }

    private func askForNew() throws -> SecretBytes {
        let password = try passwords.askForNew(allowingEmpty: true)
        if password.count == 0 { say("the empty password: whoever has the files opens the vault") }
        return password
    }

    private func changePassword() async throws {
        if session.state == .unlocked {
            try await session.changePassword(askForNew())
        } else {
            let old = try passwords.ask("password", allowingEmpty: true)
            try await session.changePassword(
                old, newPassword: askForNew())
        }
    }

    private func set(_ name: String) throws {
        // Before the user types a value that cannot be stored.
        try session.touch()
        let value = try passwords.ask("value of \(visible(name))")
        try session.withVault { vault in
            try vault.setString(
                name, value: value.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
        }
    }

    private func get(_ name: String) throws {
        let value = try session.withVault { try $0.getString(name) }
        say(value.map(visible) ?? "there is no \(visible(name))")
    }
}
