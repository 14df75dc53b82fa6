import Foundation
import SecureStorage
import Testing
import TestSupport

/// FMDB's `resultError:` and `resultErrorCode:`.
struct FunctionErrorTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (x)")
    }

    private func make(_ message: String, _ code: SQLiteResultCode = .error) throws {
        try db.makeFunction(named: "refuse") { _ in
            throw SecureDatabaseFunctionError(message, code: code)
        }
    }

    @Test func `FMDB resultError: a function's message becomes the statement's`() throws {
        try make(#"an "age" is a number from 0 to 150, as in 'age 36'"#)
        for error in [
            storageError { _ = try db.int("SELECT refuse(1)") },
            storageError { try db.executeUpdate("INSERT INTO t VALUES (refuse(?))", 1) },
        ] {
            guard case .backingStoreError(1, let message) = error else {
                Issue.record("\(error as Any)")
                continue
            }
            check(message.hasPrefix(#"an "age" is a number from 0 to 150, as in 'age 36'; in: "#))
            check(error?.resultCode, equals: .error)
        }
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test(arguments: [
        (SQLiteResultCode.constraintFunction, 19), (.mismatch, 20), (.busy, 5), (.readOnly, 8),
        (.notAuthorized, 23), (.abort, 4), (SQLiteResultCode(rawValue: 19 + 200 * 256), 19),
    ])
    func `FMDB resultErrorCode: a function's code becomes the statement's, and nothing else ends`(
        _ code: SQLiteResultCode, _ primary: Int
    ) throws {
        try make("not today", code)
        try db.beginTransaction()
        try db.executeUpdate("INSERT INTO t VALUES (1)")
        let error = storageError { try db.executeUpdate("INSERT INTO t SELECT refuse(x) FROM t") }
        guard case .backingStoreError(primary, let message) = error else {
            Issue.record("\(error as Any)")
            return
        }
        check(message.hasPrefix("not today; in: "))
        check(error?.resultCode, equals: code)
        try db.commit()
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }

    /// With the first codes, the engine would roll back or report damage; the others are not error
    /// codes.
    @Test(arguments: [7, 9, 10, 11, 13, 17, 26, 0, 27, 100, 101, 256, 3082, -1, Int.min, Int.max])
    func `a code that would end more than the statement is reported as the generic error`(
        _ number: Int
    ) throws {
        try make("not today", SQLiteResultCode(rawValue: number))
        try db.beginTransaction()
        try db.executeUpdate("INSERT INTO t VALUES (1)")
        let error = storageError { try db.executeUpdate("INSERT INTO t SELECT refuse(x) FROM t") }
        check(error?.resultCode, equals: .error)
        check(error?.description.contains("not today; a function cannot end"), equals: true)
        try db.executeUpdate("INSERT INTO t VALUES (2)")
        try db.commit()
        try check(db.strings("SELECT x FROM t"), equals: ["1", "2"])
        try check(db.int("PRAGMA user_version"), equals: 0)
    }

    @Test func `words of bound values are removed from the message`() throws {
        try db.makeFunction(named: "quote_it", argumentCount: 1) {
            throw SecureDatabaseFunctionError("cannot be \(String(sqliteValue: $0[0]) ?? "")")
        }
        let error = storageError {
            try db.executeUpdate("INSERT INTO t VALUES (quote_it(?))", "hushhush")
        }
        check(error?.description.contains("cannot be …"), equals: true, "\(error as Any)")
        check(error?.description.contains("hushhush"), equals: false)
    }

    @Test(arguments: [
        "", "a\0b", "SQL logic error", "é𝄞", String(repeating: "long ", count: 20_000),
    ])
    func `any text can be a message`(_ message: String) throws {
        try make(message, .constraint)
        let error = storageError { _ = try db.int("SELECT refuse()") }
        check(error?.resultCode, equals: .constraint)
        let shown = message.replacingOccurrences(of: "\0", with: "\u{fffd}")
        check(error?.description.hasPrefix(shown + "; in: SELECT refuse()"), equals: true)
    }

    @Test func `an aggregate can throw its own errors in a step and at its end`() throws {
        try db.makeAggregate(
            named: "total_of", argumentCount: 1, initial: 0,
            step: { state, arguments in
                guard let number = Int(sqliteValue: arguments[0]) else {
                    throw SecureDatabaseFunctionError("not a number", code: .mismatch)
                }
                state += number
            },
            final: {
                guard $0 < 10 else {
                    throw SecureDatabaseFunctionError("too much", code: .range)
                }
                return $0
            })
        check(
            storageError { _ = try db.int("SELECT total_of('x')") }?.resultCode, equals: .mismatch)
        let error = storageError { _ = try db.int("SELECT total_of(10)") }
        check(error?.resultCode, equals: .range)
        check(error?.description.hasPrefix("too much"), equals: true)
        try check(db.int("SELECT total_of(9)"), equals: 9)
    }
}
