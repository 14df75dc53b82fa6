import Foundation
import SecureKeys
import SecureStorage
import SecureSync

// Notes and settings that several devices write. A folder stands for a device, another one for the
// store that all devices can reach.
//
//     swift run --package-path Examples FirstSync DEVICE STORE create
//     swift run --package-path Examples FirstSync DEVICE STORE invite
//     swift run --package-path Examples FirstSync DEVICE STORE join
//     swift run --package-path Examples FirstSync DEVICE STORE add "buy milk"
//     swift run --package-path Examples FirstSync DEVICE STORE set theme dark
//     swift run --package-path Examples FirstSync DEVICE STORE show

@main struct FirstSync {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count > 2 else {
            print("usage: FirstSync DEVICE STORE create|invite|join|add|set|show …")
            exit(2)
        }
        do {
            let device = URL(fileURLWithPath: words[0], isDirectory: true)
            let store = URL(fileURLWithPath: words[1], isDirectory: true)
            try await run(words[2], Array(words.dropFirst(3)), device, store)
        } catch {
            print(error)
            exit(1)
        }
    }

    static func run(
        _ command: String, _ arguments: [String], _ device: URL, _ store: URL
    ) async throws {
        try FileManager.default.createDirectory(at: device, withIntermediateDirectories: true)
        // This device's keys; an app uses the keychain or the Secret Service.
        let keyStore = try FileKeyStore(directory: device.appendingPathComponent("keys"))
        let key = try keyStore.read("file", orInsert: { .random(count: 32) })

        // One file with a table and a key-value store.
        let queue = SecureDatabaseQueue(url: device.appendingPathComponent("notes.db"))
        try await queue.open(with: .raw(key))
        let settings = try SecureKeyValueStore(in: queue, name: "settings")
        try await queue.write { db in
            try db.executeUpdate(
                "CREATE TABLE IF NOT EXISTS note (id TEXT PRIMARY KEY NOT NULL, text TEXT)")
        }

        var tables = SyncedTables()
        tables.add("note")
        tables.add(keyValueStore: settings.name)
        let sync = try SyncEngine(
            queue, tables: tables, store: DirectoryObjectStore(directory: store),
            keyStore: keyStore)

        switch (command, arguments.count) {
        case ("create", 0): try await sync.createGroup(deviceName: device.lastPathComponent)
        case ("invite", 0): print(try await sync.invite(.once).code)
        case ("join", 0):
            print("Code:")
            try await sync.join(
                SyncInvitation(code: readLine() ?? ""), deviceName: device.lastPathComponent,
                localRows: .keep)
        case ("add", 1):
            try await queue.write { db in
                try db.executeUpdate(
                    "INSERT INTO note VALUES (?, ?)", UUID().uuidString, arguments[0])
            }
        case ("set", 2): try await settings.put(arguments[1], forKey: arguments[0])
        default: break
        }

        if try sync.isMember { try await sync.syncOnce() }
        if command == "show" { try await show(queue, settings, sync) }
    }

    static func show(
        _ queue: SecureDatabaseQueue, _ settings: SecureKeyValueStore, _ sync: SyncEngine
    ) async throws {
        let notes = try await queue.fetchAll("SELECT text FROM note ORDER BY text") {
            (text: String) in "note: \(text)"
        }
        for note in notes { print(note) }
        for key in try await settings.keys(withPrefix: "") {
            print("setting: \(key) = \(try await settings.get(key, default: ""))")
        }
        for conflict in try sync.conflicts() {
            print("lost: \(conflict.key) \(conflict.values) \(conflict.reason)")
        }
        for member in try await sync.members() {
            print("member: \(member.name)\(member.isThisDevice ? ", this device" : "")")
        }
    }
}
