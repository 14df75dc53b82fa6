import Foundation
import SecureStorage

let arguments = CommandLine.arguments.dropFirst()
guard let path = arguments.first, arguments.count == 1 else {
    print("usage: notebook FILE")
    exit(2)
}
do {
    var end = Prompt.End.lock
    while end == .lock {
        let notebook = try Notebook(
            at: URL(fileURLWithPath: path), key: .passphrase(askPassphrase("Passphrase")))
        end = Prompt(notebook: notebook).run()
        notebook.close()
    }
} catch {
    print(explain(error))
    exit(1)
}
