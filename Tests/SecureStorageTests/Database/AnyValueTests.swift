import Foundation
import SecureStorage
import Testing
import TestSupport

/// What Swift apps pass to FMDB: values of any type, and dictionaries with more names than a
/// statement has.
struct AnyValueTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (a, b, c)")
    }

    private func stored(_ value: Any?) throws -> String? {
        let rs = try db.executeQuery(
            "SELECT typeof(v) || ' ' || coalesce(hex(v), '') FROM (SELECT ? AS v)", values: [value])
        defer { rs.close() }
        return try rs.next() ? rs.string(forColumnIndex: 0) : nil
    }

    @Test func `FMDB values of any type are bound with their own type`() throws {
        let uuid = try require(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))
        let text =
            "text " + uuid.uuidString.utf8.map { String($0, radix: 16) }.joined().uppercased()
        let values: [Any?] = [
            "é", 7, -7 as Int8, UInt64(7), true, 1.5, Float(1.5), Data([1, 0]), nil, NSNull(),
            Optional<Int>.none as Any, Optional(Optional("é")) as Any, NSString(string: "é"),
            NSNumber(value: 7), NSNumber(value: 1.5), NSNumber(value: true),
            NSData(data: Data([1, 0])),
            NSDate(timeIntervalSince1970: 7), Date(timeIntervalSince1970: 7),
            NSDecimalNumber(string: "0.1"), Decimal(7), try require(URL(string: "a:7")),
            try require(NSURL(string: "a:7")), uuid,
            try require(NSUUID(uuidString: uuid.uuidString)),
        ]
        let expected = [
            "text C3A9", "integer 37", "integer 2D37", "integer 37", "integer 31", "real 312E35",
            "real 312E35", "blob 0100", "null ", "null ", "null ", "text C3A9", "text C3A9",
            "integer 37", "real 312E35", "integer 31", "blob 0100", "integer 37", "integer 37",
            "text 302E31", "text 37", "text 613A37", "text 613A37", text, text,
        ]
        try check(values.map { try stored($0) }, equals: expected)
        // An array without optionals, as FMDB's method accepts it.
        let plain: [Any] = ["one", 2, NSNull()]
        try db.executeUpdate("INSERT INTO t VALUES (?, ?, ?)", values: plain)
        try check(db.strings("SELECT a || b || typeof(c) FROM t"), equals: ["one2null"])
    }

    @Test func `a value that cannot be bound is an error with its type and position`() throws {
        struct Secret { let word = "hush" }
        let others: [Any] = [
            Secret(), ["hush"], NSObject(), { "hush" },
        ]
        let names = ["Secret", "Array<String>", "NSObject", "String"]
        for (other, name) in zip(others, names) {
            let values: [Any?] = [1, other, nil]
            let error = storageError {
                try db.executeUpdate("INSERT INTO t VALUES (?, ?, ?)", values: values)
            }
            guard case .backingStoreError(20, let message) = error else {
                Issue.record("\(error as Any)")
                continue
            }
            check(message.hasPrefix("value 2 has type "))
            check(message.contains(name))
            check(!message.contains("hush"))
            check(
                storageError { _ = try db.executeQuery("SELECT ?, ?, ?", values: values) },
                equals: error)
        }
        let tooLarge: [Any] = [UInt64.max]
        check(
            storageError { try db.executeUpdate("INSERT INTO t (a) VALUES (?)", values: tooLarge) },
            equals: .typeConversionFailed)
        check(
            storageError {
                try db.executeUpdate(
                    "INSERT INTO t (a) VALUES (?)", values: [1, NSObject()] as [Any])
            }?.code, equals: 20)
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `FMDB parameterDictionary: a surplus name is ignored where that is allowed`()
        throws
    {
        let values = ["a": 1, "b": 2, "unused": 3]
        let insert = "INSERT INTO t (a, b) VALUES (:a, :b)"
        let strict = storageError { try db.executeUpdate(insert, parameterDictionary: values) }
        check(strict?.code, equals: 25)
        check(strict?.description.contains("unused"), equals: true)

        let lenient = try database.openStore { $0.allowsSurplusNames = true }
        try lenient.executeUpdate(insert, parameterDictionary: values)
        try lenient.prepare(insert).executeUpdate(parameterDictionary: values)
        let rs = try lenient.executeQuery(
            "SELECT count(*) FROM t WHERE a = $a", parameterDictionary: values)
        try check(rs.next())
        check(rs.int(forColumnIndex: 0), equals: 2)
        // A missing name is still an error, and so is a surplus name passed with `named:`.
        let missing = storageError {
            try lenient.executeUpdate(insert, parameterDictionary: ["a": 1, "x": 2, "y": 3])
        }
        check(missing?.code, equals: 25)
        check(missing?.description.contains(":b"), equals: true)
        check(
            storageError { try lenient.executeUpdate(insert, named: ["a": 1, "b": 2, "c": 3]) }?
                .code, equals: 25)
    }
}
