import Foundation
import SecureStorage

let db = SecureDatabaseStore(url: URL(fileURLWithPath: "notes.db"))
do {
    try db.open(with: .passphrase(askPassphrase("Passphrase"))) { db in
        do {
            try db.executeUpdate(
                "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL, at INTEGER)")
            return nil
        } catch {
            return error
        }
    }
    if let text = CommandLine.arguments.dropFirst().first {
        try db.executeUpdate("INSERT INTO note (text, at) VALUES (?, ?)", text, Date())
    }
    let lines = try db.fetchAll("SELECT id, text FROM note ORDER BY id") {
        (id: Int64, text: String) in "\(id)  \(text)"
    }
    for line in lines { print(line) }
    db.close()
} catch SecureStorageError.authenticationFailed {
    print("this passphrase does not open the notebook")
    exit(1)
} catch {
    print(error)
    exit(1)
}
