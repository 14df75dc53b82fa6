import Foundation
import Vaults
import TypedPasswords

// A few secrets behind a password, on the command line: every state that a DataVault can be in.
//
//     swift run VaultPrompt ~/vault     commands, a line each, to `quit` or the end of the input
//
// `policy tries 3`, then `lock`, and a wrong password three times: the vault is gone.

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

/// The lines of the standard input.
private struct TypedLines: Sequence, IteratorProtocol {
    mutating func next() -> String? { readLine() }
}
