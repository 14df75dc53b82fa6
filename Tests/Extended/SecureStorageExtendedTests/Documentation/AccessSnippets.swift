import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// The documentation's snippets for queues and pools alike.
struct AccessSnippets {
    @Test func `functions take a queue or a pool`() throws {
        func noteCount(in database: any SecureDatabaseReader) throws -> Int {
            try database.read { db in try db.int(forQuery: "SELECT count(*) FROM note") ?? 0 }
        }

        func add(_ text: String, to database: any SecureDatabaseWriter) throws -> Int64 {
            try database.write { db in
                try db.executeUpdate("INSERT INTO note (text) VALUES (?)", values: [text])
                return try db.lastInsertRowId()
            }
        }

        let file = try TemporaryDatabase()
        let url = file.url
        let queue = SecureDatabaseQueue(url: url)
        try queue.open(with: .passphrase("correct horse battery staple"))
        try queue.write { try $0.executeUpdate("CREATE TABLE note (id INTEGER PRIMARY KEY, text)") }
        try check(add("buy milk", to: queue), equals: 1)
        try check(noteCount(in: queue), equals: 1)
        queue.close()

        let pool = SecureDatabasePool(url: url)
        try pool.open(with: .passphrase("correct horse battery staple"))
        try check(add("call home", to: pool), equals: 2)
        try check(noteCount(in: pool), equals: 2)
    }
}
