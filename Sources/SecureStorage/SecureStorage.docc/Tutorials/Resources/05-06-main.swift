import Foundation
import SecureMirror
import SecureStorage

let arguments = CommandLine.arguments.dropFirst().map { URL(fileURLWithPath: $0) }
do {
    switch (CommandLine.arguments.dropFirst().first, arguments.count) {
    case ("copy", 3):
        let notebook = try Notebook(
            at: arguments[1], key: .passphrase(askPassphrase("Passphrase")))
        try notebook.copy(to: arguments[2], key: serverKey())
        notebook.close()
    case ("serve", 4):
        try await Server(
            file: arguments[1], inbox: arguments[2],
            store: DirectoryObjectStore(directory: arguments[3]), key: serverKey()
        ).run()
    case (_, 1):
        var end = Prompt.End.lock
        while end == .lock {
            let notebook = try Notebook(
                at: arguments[0], key: .passphrase(askPassphrase("Passphrase")))
            end = Prompt(notebook: notebook).run()
            notebook.close()
        }
    default:
        print("usage: notebook FILE")
        print("       notebook copy FILE NEW-FILE")
        print("       notebook serve FILE INBOX MIRROR")
        exit(2)
    }
} catch {
    print(explain(error))
    exit(1)
}
