import Foundation
import SecureKeys
import SecureStorage
import SecureSync

/// A device's notes, and what keeps them equal to those of the others.
struct SharedNotes {
    private let pool: SecureDatabasePool
    private let sync: SyncEngine

    init(in folder: URL, store: any ObjectStore) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A key file of this device; an app would use the keychain or the Secret Service.
        let keys = try FileKeyStore(directory: folder.appendingPathComponent("keys"))
        let key = try keys.read("notes", orInsert: { .random(count: 32) })
        pool = SecureDatabasePool(url: folder.appendingPathComponent("notes.db"))
        try pool.open(with: DatabaseKey.raw(key))
        try pool.write { db in
            try db.executeUpdate(
                """
                CREATE TABLE IF NOT EXISTS note (
                  id TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0)
                """)
        }
        var tables = SyncedTables()
        tables.add("note")
        sync = try SyncEngine(pool, tables: tables, store: store, keyStore: keys)
    }

    /// Sends and receives until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            do {
                // A group may be founded or joined later.
                if try sync.isMember { try await sync.run() }
                try await Task.sleep(for: .seconds(1))
            } catch is CancellationError {
                return
            } catch {
                print("sync has stopped: \(error)")
                return
            }
        }
    }

    func perform(_ command: String, _ text: String) async throws {
        switch command {
        case "create": try await sync.createGroup(deviceName: text)
        case "invite": print(try await sync.invite(.once).code)
        case "join":
            let words = text.split(separator: " ", maxSplits: 1).map(String.init)
            let invitation = try SyncInvitation(code: words.first ?? "")
            try await sync.join(
                invitation, deviceName: words.dropFirst().first ?? "a device", localRows: .keep)
            try await sync.syncOnce()
        case "sync": try await sync.syncOnce()
        case "add":
            try await pool.write { db in
                try db.executeUpdate(
                    "INSERT INTO note (id, text) VALUES (?, ?)",
                    values: [String(UUID().uuidString.prefix(4)).lowercased(), text])
            }
        case "edit":
            let words = text.split(separator: " ", maxSplits: 1).map(String.init)
            try await change("UPDATE note SET text = ?2 WHERE id = ?1", words)
        case "done": try await change("UPDATE note SET done = 1 WHERE id = ?1", [text])
        case "delete": try await change("DELETE FROM note WHERE id = ?1", [text])
        case "list": try await list()
        case "members":
            for member in try await sync.members() {
                print(member.isThisDevice ? "*" : " ", member.name)
            }
        case "conflicts":
            for conflict in try sync.conflicts(in: "note") {
                print(conflict.key, conflict.reason, conflict.values)
            }
        default:
            print("create NAME, invite, join CODE NAME, members")
            print("add TEXT, edit ID TEXT, done ID, delete ID, list, conflicts, sync, quit")
        }
    }

    private func change(_ sql: String, _ words: [String]) async throws {
        try await pool.write { try $0.executeUpdate(sql, values: words) }
    }

    private func list() async throws {
        let lines = try await pool.fetchAll("SELECT id, done, text FROM note ORDER BY text") {
            (id: String, done: Bool, text: String) in "\(done ? "x" : "-") \(id)  \(text)"
        }
        for line in lines { print(line) }
    }
}
