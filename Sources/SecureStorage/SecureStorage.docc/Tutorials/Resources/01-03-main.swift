import Foundation
import SecureStorage

let db = SecureDatabaseStore(url: URL(fileURLWithPath: "notes.db"))
do {
    try db.open(with: "correct horse battery staple") { db in
        do {
            try db.executeUpdate(
                "CREATE TABEL note (id INTEGER PRIMARY KEY, text TEXT NOT NULL, at INTEGER)")
            return nil
        } catch {
            return error
        }
    }
    print("the notebook is open")
    db.close()
} catch {
    print(error)
    exit(1)
}
