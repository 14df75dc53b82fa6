import Foundation
import Vaults
import TypedPasswords

// A few secrets protected by a password, on the command line: every state that a DataVault can
// have.
//
//     swift run --package-path Examples VaultPrompt ~/vault
//
// It reads commands, one per line, to `quit` or the end of the input. After `policy tries 3` and
// `lock`, entering a wrong password three times destroys the vault.

@main
enum VaultPrompt {
    static func main() async {
        do {
            var words = Array(CommandLine.arguments.dropFirst())
            let passwords = try PasswordSource(takingFrom: &words)
            guard let directory = words.first, words.count == 1 else {
                throw Failure("usage: VaultPrompt [--password-fd N] DIRECTORY\n" + Prompt.usage)
            }
            let container = try DataVaultContainer(directory: URL(fileURLWithPath: directory))
            let prompt = Prompt(
                session: DataVaultSession(id: "org.example.prompt", in: container),
                passwords: passwords, say: { print($0) })
            await prompt.run(TypedLines())
        } catch {
            FileHandle.standardError.write(Data("VaultPrompt: \(error)\n".utf8))
            exit(1)
        }
    }
}

/// The lines of standard input.
private struct TypedLines: Sequence, IteratorProtocol {
    mutating func next() -> String? { readLine() }
}
