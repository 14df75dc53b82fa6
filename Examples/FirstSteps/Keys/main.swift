import Foundation
import SecureKeys

// A sealed value whose key is wrapped twice: by this machine's key and by a password.
//
//     swift run --package-path Examples FirstKeys DIRECTORY

let directory = URL(fileURLWithPath: CommandLine.arguments.dropFirst().first ?? "keys")
let set = directory.appendingPathComponent("note.keys")
let note = directory.appendingPathComponent("note.sealed")
do {
    let keyStore = try FileKeyStore(directory: directory)
    let machine = try KeyEncryptionKey(
        name: "machine", bytes: keyStore.read("machine") { .random(count: 32) })
    if FileManager.default.fileExists(atPath: note.path) {
        let keys = try WrappedKeySet(bytes: Data(contentsOf: set))
        print("Password, or nothing for this machine's key:")
        let typed = readLine() ?? ""
        let key =
            try typed.isEmpty
            ? keys.unwrap(with: machine) : keys.unwrap(with: PasswordKey(typed))
        let text = try key.open(Data(contentsOf: note), table: "note", column: "text", row: 1)
        print("The note is: \(String(decoding: text, as: UTF8.self))")
    } else {
        print("Password:")
        let key = try DataEncryptionKey.random(name: "note")
        var keys = try WrappedKeySet(wrapping: key, with: machine)
        try keys.add(PasswordKey(readLine() ?? ""), for: key)
        try keys.bytes.write(to: set)
        try key.seal(Data("buy milk".utf8), table: "note", column: "text", row: 1).write(to: note)
        print("The note was sealed.")
    }
} catch {
    print(error)
    exit(1)
}
