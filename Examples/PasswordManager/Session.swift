import Foundation
import SecureStorage
import Vaults
import TypedPasswords

/// The commands for one vault.
struct Session {
    /// How long a password is valid: short, because an interactive session may be left unattended.
    static let accessDuration: Duration = .seconds(
        ProcessInfo.processInfo.environment["PASSWORDMANAGER_TIMEOUT"].flatMap { Int($0) } ?? 300)

    static let usage = """
        commands:
          add ADDRESS USERNAME   asks for the password of the website
          list [ADDRESS]         accounts, those of subdomains too; needs no password
          show ADDRESS           with their passwords
          import FILE            a browser's export: name,url,username,password
          passwd                 sets or changes the vault's password
          lock                   until the password is given again
          backup FILE            all of the vault, under a recovery code that is shown once
        \(Backups.usage)
        """

    let vault: any AutofillSecureVault
    let passwords: PasswordSource

    /// - Throws: `Failure`, `SecureVaultError`.
    func run(_ words: [String]) throws {
        switch (words.first, words.dropFirst().first, words.count) {
        case ("add", let address?, 3): try add(address, username: words[2])
        case ("list", let address, 1...2): try list(address)
        case ("show", let address?, 2): try show(address)
        case ("import", let path?, 2): try importFile(path)
        case ("passwd", nil, 1): try changePassword()
        case ("lock", nil, 1): vault.lock()
        case ("backup", let path?, 2): try Backups.make(of: vault, at: path, passwords)
        default: throw Failure(Self.usage)
        }
    }

    private func add(_ address: String, username: String) throws {
        let domain = try Self.domain(address)
        try unlock()
        let password = try passwords.ask("password of \(visible(username)) at \(domain)")
        let account = WebsiteAccount(domain: domain, username: username, title: domain)
        try unlocked {
            _ = try vault.storeWebsiteCredentials(
                WebsiteCredentials(account: account, password: password))
        }
    }

    private func list(_ address: String?) throws {
        for account in try vault.accounts(domain: address.map { try Self.domain($0) }) {
            print("\(visible(account.domain))\t\(visible(account.username))")
        }
    }

    private func show(_ address: String) throws {
        let domain = try Self.domain(address)
        try unlocked {
            for credentials in try vault.websiteCredentialsFor(domain: domain) {
                let account = credentials.account
                // The password is shown on the screen anyway, so its memory need not be cleared.
                let password = credentials.password.withUnsafeBytes {
                    String(decoding: $0, as: UTF8.self)
                }
                print(
                    "\(visible(account.domain))\t\(visible(account.username))\t\(visible(password))"
                )
            }
        }
    }

    private func importFile(_ path: String) throws {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw Failure("\(visible(path)) cannot be read as UTF-8 text")
        }
        let credentials = try CSVFile.credentials(in: text)
        try unlocked {
            // All or none, with a single wait for the disk.
            try vault.inDatabaseTransaction { db in
                for credential in credentials {
                    _ = try vault.storeWebsiteCredentials(credential, in: db)
                }
            }
        }
        print("\(credentials.count) accounts imported; delete the file, it is not encrypted")
    }

    private func changePassword() throws {
        let old = try vault.hasUserPassword() ? passwords.ask("current password") : nil
        try vault.resetL2Password(oldPassword: old, newPassword: passwords.askForNew())
    }

    private func unlock() throws {
        guard try vault.requiresPassword() else { return }
        for attempt in 1... {
            do {
                return try vault.authWith(password: passwords.ask("password"))
            } catch SecureVaultError.invalidPassword where passwords.canAskAgain && attempt < 3 {
                print("wrong password")
            }
        }
    }

    /// Requests the password when it is needed, also when it expires during `body`.
    private func unlocked(_ body: () throws -> Void) throws {
        try unlock()
        do {
            try body()
        } catch SecureVaultError.authRequired {
            try unlock()
            try body()
        }
    }

    private static func domain(_ address: String) throws -> String {
        guard let domain = Domain.of(address) else {
            throw Failure("\(visible(address)) is no address")
        }
        return domain
    }
}
