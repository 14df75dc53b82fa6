import Foundation
import Vaults
import TypedPasswords

// A password manager on the command line: accounts at L1, passwords at L2.
//
//     swift run --package-path Examples PasswordManager DIRECTORY import passwords.csv
//     swift run --package-path Examples PasswordManager DIRECTORY restore vault.backup
//     swift run --package-path Examples PasswordManager DIRECTORY
//
// The last one reads commands, one per line, to the end of the input.

@main
enum PasswordManager {
    static func main() {
        do {
            var words = Array(CommandLine.arguments.dropFirst())
            let passwords = try PasswordSource(takingFrom: &words)
            guard let directory = words.first else {
                throw Failure(
                    "usage: PasswordManager [--password-fd N] DIRECTORY [COMMAND]\n"
                        + Session.usage)
            }
            let url = URL(fileURLWithPath: directory)
            let factory = try SecureVaultFactory.autofill(directory: url)
            if words.count > 1, words[1] == "restore" {
                return try Backups.restore(Array(words.dropFirst(2)), to: url, factory, passwords)
            }
            let session = Session(
                vault: try factory.makeVault(reporter: nil), passwords: passwords)
            if words.count > 1 {
                try session.run(Array(words.dropFirst()))
            } else {
                interact(session)
            }
        } catch {
            complain(error)
            exit(1)
        }
    }

    /// Runs one command per line; a failed command does not end the session.
    private static func interact(_ session: Session) {
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            guard !words.isEmpty else { continue }
            do {
                try session.run(words)
            } catch {
                complain(error)
            }
        }
    }

    private static func complain(_ error: any Error) {
        FileHandle.standardError.write(Data("PasswordManager: \(error)\n".utf8))
    }
}
