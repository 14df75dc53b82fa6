import Foundation
import SecureStorage
import Testing
import TestSupport

@Suite struct SecureDatabaseLimitTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
    }

    @Test func `FMDB limitFor:value: is setLimit, which returns the previous value`() throws {
        let initial = try db.limit(.parameterNumber)
        #expect(try db.setLimit(.parameterNumber, to: 2) == initial)
        #expect(try db.limit(.parameterNumber) == 2)
        #expect(try db.setLimit(.parameterNumber, to: initial) == 2)
    }

    @Test func `limits are enforced`() throws {
        try db.setLimit(.parameterNumber, to: 1)
        #expect(storageError { try db.executeUpdate("SELECT ?2", values: [1, 2]) }?.code == 1)
        try db.setLimit(.sqlLength, to: 1000)
        let long = "SELECT 1 -- " + String(repeating: "x", count: 1000)
        #expect(storageError { _ = try db.int(long) }?.code == 18)
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
            #expect(error == nil || error?.code == 25)
            if error == nil { try db.setLimit(limit, to: initial) }
            #expect(try db.limit(limit) == initial)
        }
    }

    @Test func `a limit survives closing and reopening`() throws {
        try db.setLimit(.triggerDepth, to: 3)
        db.close()
        #expect(storageError { _ = try db.limit(.triggerDepth) } == .closed)
        #expect(storageError { try db.setLimit(.triggerDepth, to: 4) } == .closed)
        try db.open(with: TemporaryDatabase.key)
        #expect(try db.limit(.triggerDepth) == 3)
    }

    @Test func `no limit prevents a rollback`() throws {
        let db = try TemporaryDatabase().openStore()
        #expect(storageError { try db.setLimit(.sqlLength, to: 3) }?.code == 25)
        for limit in SecureDatabaseLimit.allCases where limit != .sqlLength {
            let before = try db.limit(limit)
            let queue = SecureDatabaseQueue(databaseStore: db)
            try? queue.inExclusiveTransaction { db in
                _ = try? db.setLimit(limit, to: 1)
                return true
            }
            #expect(try !db.isInTransaction(), "\(limit)")
            try db.setLimit(limit, to: before)
        }
    }
}
