import Foundation
import SecureKeys
import SecureStorage
import SecureSync

// Notes that several devices write. A folder stands for a device, another one for the store; see
// README.md. With a third argument, `offline`, nothing is sent or received.

let arguments = CommandLine.arguments
guard arguments.count == 3 || arguments.count == 4 && arguments[3] == "offline" else {
    print("usage: SharedNotes FOLDER STORE [offline]")
    exit(2)
}
let store = DirectoryObjectStore(directory: URL(fileURLWithPath: arguments[2], isDirectory: true))
let notes = try SharedNotes(
    in: URL(fileURLWithPath: arguments[1], isDirectory: true), store: store)

let isOnline = arguments.count == 3
let running = Task { if isOnline { await notes.run() } }
var status: Int32 = 0
while let line = readLine() {
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    guard let command = words.first else { continue }
    if command == "quit" { break }
    do {
        try await notes.perform(command, words.dropFirst().first ?? "")
    } catch {
        print(error)
        status = 1
    }
}
running.cancel()
await running.value
exit(status)
