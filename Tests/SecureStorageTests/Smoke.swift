import Foundation
import Testing
import SecureStorage

@Test func smoke() throws {
    let path = NSTemporaryDirectory() + UUID().uuidString + "/x.db"
    let db = SecureDatabaseStore(fullDatabasePath: path)
    try db.open(with: "hello")
    try db.executeUpdate("CREATE TABLE t (a INTEGER, b TEXT)")
    try db.executeUpdate("INSERT INTO t VALUES (?, ?)", values: [1, "x"])
    try db.executeUpdate("INSERT INTO t VALUES (:a, :b)", parameterDictionary: [":a": 2, "b": nil])
    let rs = try db.executeQuery("SELECT * FROM t")
    while try rs.next() {
        print(rs.int(forColumnName: "A") as Any, rs.string(forColumnIndex: 1) as Any)
    }
    try db.changeEncryptionKey(with: "world")
    let q = SecureDatabaseQueue(databaseStore: db)
    let n = try q.inDatabase { db in
        let rs = try db.executeQuery("SELECT count(*) FROM t"); _ = try rs.next();
        return rs.int(forColumnIndex: 0)
    }
    #expect(n == 2)
    try q.inExclusiveTransaction { db in
        try db.executeUpdate("DELETE FROM t"); return true
    }
    db.close()
    #expect(throws: SecureStorageError.self) { try db.open(with: "hello") }
    do { try db.open(with: "hello") } catch { print(error) }
    try db.open(with: "world")
}
