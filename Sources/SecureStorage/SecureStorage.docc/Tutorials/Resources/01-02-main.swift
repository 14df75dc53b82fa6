import Foundation
import SecureStorage

let db = SecureDatabaseStore(url: URL(fileURLWithPath: "notes.db"))
do {
    try db.open(with: "correct horse battery staple")
    print("the notebook is open")
    db.close()
} catch {
    print(error)
    exit(1)
}
