import Foundation
import SecureKeys

// A note whose key is wrapped by a key of a service on the network.
//
//     swift run --package-path Examples RemoteKey URL TOKEN-FILE DIRECTORY

@main
enum Program {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let url = URL(string: arguments[1]) else {
            print("usage: RemoteKey URL TOKEN-FILE DIRECTORY")
            exit(2)
        }
        do {
            // Not an argument: those of a process are visible to all users.
            let token = try String(contentsOfFile: arguments[2], encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
            let service = RemoteKey(name: "service", url: url, token: SecretBytes(utf8: token))
            try run(service, in: URL(fileURLWithPath: arguments[3]))
        } catch {
            print(error)
            exit(1)
        }
    }

    private static func run(_ service: RemoteKey, in directory: URL) throws {
        let set = directory.appendingPathComponent("note.keys")
        let note = directory.appendingPathComponent("note.sealed")
        if FileManager.default.fileExists(atPath: set.path) {
            let key = try WrappedKeySet(bytes: Data(contentsOf: set)).unwrap(with: service)
            let text = try key.open(Data(contentsOf: note), table: "note", column: "text", row: 1)
            print("The note is: \(String(decoding: text, as: UTF8.self))")
        } else {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true)
            let key = try DataEncryptionKey.random(name: "note")
            let keys = try WrappedKeySet(wrapping: key, with: service)
            try key.seal(Data("buy milk".utf8), table: "note", column: "text", row: 1)
                .write(to: note)
            try keys.bytes.write(to: set)
            print("The note was sealed.")
        }
    }
}
