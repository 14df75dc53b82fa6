import Foundation
import SecureStorage
import Testing
import TestSupport

/// Replacing a file with a new one.
struct ReplacementTests {
    let database: TemporaryDatabase
    let target: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        target = try TemporaryDatabase(name: "copy.db")
    }

    @Test func `no connection opens a file while its replacement is written`() throws {
        let db = try database.openStore()
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('original')")
        try db.backup(to: target.url)
        let other = target.store()
        defer { other.close() }
        // The error of opening it ends the copy.
        check(
            storageError {
                try db.backup(to: target.url, replacing: true) { _ in
                    guard !other.isOpen() else { return }
                    try other.open(with: TemporaryDatabase.key)
                    try other.executeUpdate("INSERT INTO t VALUES ('since')")
                }
            }?.code, equals: 5)
        other.close()
        try check(target.openStore().strings("SELECT x FROM t"), equals: ["original"])
        try check(target.fileNames().filter { $0.hasPrefix(".") }, equals: [])
    }
}
