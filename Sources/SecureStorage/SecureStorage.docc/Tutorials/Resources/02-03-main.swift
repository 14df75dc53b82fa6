import Foundation
import SecureStorage

let arguments = CommandLine.arguments.dropFirst()
guard let path = arguments.first, arguments.count == 1 else {
    print("usage: notebook FILE")
    exit(2)
}
do {
    let notebook = try Notebook(
        at: URL(fileURLWithPath: path), key: .passphrase(askPassphrase("Passphrase")))
    Prompt(notebook: notebook).run()
    notebook.close()
} catch {
    print(explain(error))
    exit(1)
}
