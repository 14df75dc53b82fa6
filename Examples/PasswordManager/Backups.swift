import Foundation
import SecureStorage
import Vaults
import TypedPasswords

/// Backups of the vault, each in one file that opens with a recovery code, on any machine.
enum Backups {
    static let usage = """
        and for a vault that is not open:
          restore FILE           asks for the recovery code and a new password; refuses a backup that is older than the vault
          restore --older FILE   also that
        """

    static func make(
        of vault: any AutofillSecureVault, at path: String, _ passwords: PasswordSource
    ) throws {
        let password = try vault.hasUserPassword() ? passwords.ask("password") : nil
        let code = RecoveryCode.random()
        try vault.makeBackup(
            at: URL(fileURLWithPath: path), unlockedBy: code, password: password)
        // Only now: a code for a file that does not exist would be useless.
        let shown = code.formatted.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        print("recovery code: \(shown)\nwrite it down, it is not shown again")
    }

    static func restore(
        _ words: [String], to directory: URL,
        _ factory: SecureVaultFactory<DefaultAutofillSecureVault>, _ passwords: PasswordSource
    ) throws {
        let isForced = words.first == "--older"
        guard let path = words.last, words.count == (isForced ? 2 : 1) else {
            throw Failure(Session.usage)
        }
        let code = try RecoveryCode(passwords.ask("recovery code"))
        let metadata = try factory.restore(
            from: URL(fileURLWithPath: path), to: AutofillDatabase.file(in: directory),
            unlockedBy: code, newPassword: passwords.askForNew(),
            replacing: isForced ? .sameVault : .sameVaultNotNewer)
        print("restored as of \(metadata.createdAt)")
    }
}
