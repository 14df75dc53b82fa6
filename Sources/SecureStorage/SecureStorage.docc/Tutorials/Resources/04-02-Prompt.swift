import Foundation
import SecureStorage

/// The commands of a notebook, one on each line.
struct Prompt {
    static let help = """
        add TEXT, import FILE, list, search WORDS
        edit NUMBER TEXT, history NUMBER
        secret NAME, reveal NAME, secrets, quit
        """

    let notebook: Notebook
    private let secrets: Secrets

    init(notebook: Notebook) {
        self.notebook = notebook
        secrets = Secrets(beside: notebook.file)
    }

    /// Runs lines until `quit` or their end; a failed one does not end the program.
    func run() {
        let watching = Task.detached { [notebook] in await Self.watch(notebook) }
        defer { watching.cancel() }
        while let line = nextLine(), line != "quit" {
            do {
                try run(line)
            } catch {
                print(explain(error))
            }
        }
    }

    private func run(_ line: String) throws {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        switch (words.first, words.dropFirst().first) {
        case ("add", let text?): show(try notebook.add(text), text)
        case ("import", let path?):
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(
                separator: "\n", omittingEmptySubsequences: false)
            // A text file ends with a line break, after which no line follows.
            let texts = lines.last == "" ? lines.dropLast() : lines[...]
            print(try notebook.add(texts.map(String.init)), "notes were added")
        case ("list", nil): for note in try notebook.notes() { show(note.id, note.text) }
        case ("search", let words?):
            for note in try notebook.search(words) { show(note.id, note.text) }
        case ("edit", let rest?):
            let parts = rest.split(separator: " ", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { return print(Self.help) }
            try notebook.edit(number(parts[0]), parts[1])
        case ("history", let id?):
            for text in try notebook.history(of: number(id)) { print(text) }
        case ("secret", let name?):
            try openSecrets()
            try secrets.set(name, askPassphrase("Value of \(name)"))
        case ("reveal", let name?):
            try openSecrets()
            let value = try secrets.value(name)
            print(value?.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } ?? "no \(name)")
        case ("secrets", nil):
            try openSecrets()
            for name in try secrets.names() { print(name) }
        case (nil, _): break
        default: print(Self.help)
        }
    }

    /// Asks for the secrets' password unless they are unlocked; the first one makes the vault.
    private func openSecrets() throws {
        if try !secrets.exist() {
            try secrets.create(password: askPassphrase("New password of the secrets"))
        } else if secrets.areLocked {
            try secrets.unlock(password: askPassphrase("Password of the secrets"))
        }
    }

    private func number(_ text: String) throws -> Int64 {
        guard let number = Int64(text) else { throw Refusal("\(text) is not a number") }
        return number
    }

    /// Shows that another program has changed the notes, and the prompt again.
    private static func watch(_ notebook: Notebook) async {
        await notebook.forEachForeignChange {
            guard let count = try? notebook.notes().count else { return }
            print("\r[changed elsewhere, \(count) notes]")
            printPrompt()
        }
    }

    private func show(_ id: Int64, _ text: String) { print("\(id)  \(text)") }

    private func nextLine() -> String? {
        Self.printPrompt()
        return readLine()
    }

    private static func printPrompt() {
        print("> ", terminator: "")
        // The terminal shows whole lines, unless it is told.
        fflush(nil)
    }
}

/// Returns an error in the words of this program.
func explain(_ error: any Error) -> String {
    switch error {
    case SecureStorageError.authenticationFailed: "this passphrase does not open the notebook"
    case let error as SecureStorageError where error.isBusy: "another program is writing; try again"
    default: "\(error)"
    }
}
