import Foundation
import SecureStorage

/// The commands of a notebook, one on each line.
struct Prompt {
    static let help = "add TEXT, import FILE, list, quit"

    let notebook: Notebook

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
        case (nil, _): break
        default: print(Self.help)
        }
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
