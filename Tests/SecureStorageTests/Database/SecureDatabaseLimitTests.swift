import Foundation
import SecureStorage
import Testing
import TestSupport

struct SecureDatabaseLimitTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
    }

    @Test func `FMDB limitFor:value: is setLimit, which returns the previous value`() throws {
        let initial = try db.limit(.parameterNumber)
        try check(db.setLimit(.parameterNumber, to: 2), equals: initial)
        try check(db.limit(.parameterNumber), equals: 2)
        try check(db.setLimit(.parameterNumber, to: initial), equals: 2)
    }

    @Test func `limits are enforced`() throws {
        try db.setLimit(.parameterNumber, to: 1)
        check(storageError { try db.executeUpdate("SELECT ?2", values: [1, 2]) }?.code, equals: 1)
        try db.setLimit(.sqlLength, to: 1000)
        let long = "SELECT 1 -- " + String(repeating: "x", count: 1000)
        check(storageError { _ = try db.int(long) }?.code, equals: 18)
    }

    @Test(arguments: SecureDatabaseLimit.allCases)
    func `an out-of-range value is an error and changes nothing`(_ limit: SecureDatabaseLimit)
        throws
    {
        let initial = try db.limit(limit)
        for value in [-1, Int.min, Int(Int32.max), Int.max] {
            let error = storageError { try db.setLimit(limit, to: value) }
            // SQLite accepts `Int32.max` for a limit without a bound of its own.
            guard error != nil || value == Int(Int32.max) else {
                Issue.record("\(value) was accepted")
                continue
            }
            check(error == nil || error?.code == 25)
            if error == nil { try db.setLimit(limit, to: initial) }
            try check(db.limit(limit), equals: initial)
        }
    }

    @Test func `a limit survives closing and reopening`() throws {
        try db.setLimit(.triggerDepth, to: 3)
        db.close()
        check(storageError { _ = try db.limit(.triggerDepth) }, equals: .closed)
        check(storageError { try db.setLimit(.triggerDepth, to: 4) }, equals: .closed)
        try db.open(with: TemporaryDatabase.key)
        try check(db.limit(.triggerDepth), equals: 3)
    }

    @Test func `no limit prevents a rollback`() throws {
        let db = try TemporaryDatabase().openStore()
        check(storageError { try db.setLimit(.sqlLength, to: 3) }?.code, equals: 25)
        for limit in SecureDatabaseLimit.allCases where limit != .sqlLength {
            let before = try db.limit(limit)
            let queue = SecureDatabaseQueue(databaseStore: db)
            try? queue.inExclusiveTransaction { db in
                _ = try? db.setLimit(limit, to: 1)
                return true
            }
            try check(!db.isInTransaction(), "\(limit)")
            try db.setLimit(limit, to: before)
        }
    }
}
