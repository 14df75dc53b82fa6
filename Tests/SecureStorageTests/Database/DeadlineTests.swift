import Foundation
import SecureStorage
import Testing
import TestSupport

struct DeadlineTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (a INTEGER)")
    }

    @Test func `a statement that takes too long is ended, and the store stays usable`() throws {
        let error = storageError {
            try db.withDeadline(.milliseconds(20)) {
                _ = try db.int(forQuery: AsyncQueueTests.endless)
            }
        }
        check(error?.code, equals: 9)
        check(error?.description.contains("the deadline of the call has passed"), equals: true)
        try check(db.int(forQuery: "SELECT 1"), equals: 1)
    }

    @Test func `a statement that begins after the deadline does not run`() throws {
        for duration in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
            let error = storageError {
                try db.withDeadline(duration) { try db.executeUpdate("INSERT INTO t VALUES (1)") }
            }
            check(error?.code, equals: 9)
            check(error?.description.contains("deadline"), equals: true)
        }
        try check(db.int(forQuery: "SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `a deadline that is not reached changes nothing, however far away`() throws {
        for duration in [Duration.seconds(3600), .seconds(Int64.max)] {
            let sum = try db.withDeadline(duration) {
                try db.executeUpdate("INSERT INTO t VALUES (1)")
                return try db.int(forQuery: "SELECT sum(a) FROM t")
            }
            check(sum != nil)
        }
        try check(db.int(forQuery: "SELECT count(*) FROM t"), equals: 2)
    }

    @Test func `the nearer of two deadlines counts, and each ends with its block`() throws {
        db.interrupt()
        let error = storageError {
            try db.withDeadline(.milliseconds(20)) {
                try db.withDeadline(.seconds(3600)) {
                    _ = try db.int(forQuery: AsyncQueueTests.endless)
                }
            }
        }
        check(error?.code, equals: 9)
        try db.withDeadline(.seconds(3600)) {
            check(
                storageError {
                    try db.withDeadline(.zero) { try db.executeUpdate("DELETE FROM t") }
                }?.code, equals: 9)
            try db.executeUpdate("INSERT INTO t VALUES (1)")
        }
    }

    @Test func `a transaction is rolled back when its deadline passes`() throws {
        let queue = SecureDatabaseQueue(databaseStore: db)
        let error = storageError {
            try queue.inExclusiveTransaction { db in
                try db.withDeadline(.milliseconds(20)) {
                    try db.executeUpdate("INSERT INTO t VALUES (1)")
                    _ = try db.int(forQuery: AsyncQueueTests.endless)
                    return false
                }
            }
        }
        check(error?.code, equals: 9)
        try check(queue.inDatabase { try $0.isInTransaction() }, equals: false)
        try check(queue.inDatabase { try $0.int(forQuery: "SELECT count(*) FROM t") }, equals: 0)
    }

    @Test func `another connection to the file is not affected`() throws {
        let other = try database.openStore()
        let rs = try other.executeQuery("SELECT 1 UNION SELECT 2")
        try check(rs.next())
        _ = storageError {
            try db.withDeadline(.milliseconds(5)) {
                _ = try db.int(forQuery: AsyncQueueTests.endless)
            }
        }
        try check(rs.next())
        try check(!rs.next())
    }
}
