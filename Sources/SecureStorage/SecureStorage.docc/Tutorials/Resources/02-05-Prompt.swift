import Foundation
import SecureStorage

/// The commands of a notebook, one on each line.
struct Prompt {
    static let help = "add TEXT, import FILE, list, quit"

    let notebook: Notebook

    /// Runs lines until `quit` or their end; a failed one does not end the program.
    func run() {
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

    private func show(_ id: Int64, _ text: String) { print("\(id)  \(text)") }

    private func nextLine() -> String? {
        print("> ", terminator: "")
        // The terminal shows whole lines, unless it is told.
        fflush(nil)
        return readLine()
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
