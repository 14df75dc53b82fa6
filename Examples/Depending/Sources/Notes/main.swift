import Foundation
import SecureStorage

let path = NSTemporaryDirectory() + "notes-\(UUID().uuidString).db"
let db = SecureDatabaseStore(fullDatabasePath: path)
try db.open(with: "correct horse battery staple")
try db.executeUpdate("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, at REAL)")
try db.executeUpdate("INSERT INTO note (text, at) VALUES (?, ?)", values: ["buy milk", Date()])
let text = try db.string(forQuery: "SELECT text FROM note")
db.close()

let engine = try SecureDatabaseStore.engine
print("\(text ?? "nothing") from \(path), by SQLCipher \(engine.cipherVersion)")
print(engine.options.joined(separator: " "))
try SecureDatabaseStore.remove(at: URL(fileURLWithPath: path))
