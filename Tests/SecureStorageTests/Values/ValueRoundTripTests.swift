import Foundation
import SecureStorage
import Testing
import TestSupport

struct ValueRoundTripTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
    }

    /// Binds `value` and returns it read back as its own type, with its storage class.
    private func roundTrip<T: SQLiteDatatypeBridgeable>(_ value: T) throws -> (T?, String?) {
        let rs = try db.executeQuery("SELECT v, typeof(v) FROM (SELECT ? AS v)", values: [value])
        defer { rs.close() }
        try check(rs.next())
        return (try rs.object(forColumnIndex: 0), rs.string(forColumnIndex: 1))
    }

    private func expectInteger<T: FixedWidthInteger & SQLiteDatatypeBridgeable>(
        _: T.Type
    ) throws {
        for value in [T.min, 0, 1, T.max] where Int64(exactly: value) != nil {
            let (read, storage) = try roundTrip(value)
            check(read, equals: value)
            check(storage, equals: "integer")
        }
    }

    @Test func `every integer width round-trips its limits as INTEGER`() throws {
        try expectInteger(Int.self)
        try expectInteger(Int8.self)
        try expectInteger(Int16.self)
        try expectInteger(Int32.self)
        try expectInteger(Int64.self)
        try expectInteger(UInt.self)
        try expectInteger(UInt8.self)
        try expectInteger(UInt16.self)
        try expectInteger(UInt32.self)
        try expectInteger(UInt64.self)
    }

    @Test func `an unsigned number above the largest INTEGER is an error`() throws {
        try check(roundTrip(UInt64(Int64.max)).0, equals: UInt64(Int64.max))
        for value in [UInt64(Int64.max) + 1, .max] {
            check(storageError { _ = try roundTrip(value) }, equals: .typeConversionFailed)
            check(storageError { _ = try roundTrip(UInt(value)) }, equals: .typeConversionFailed)
        }
    }

    @Test(arguments: [
        "", "a", "a\0b", "\0", "é", "e\u{301}", "𝄞", "👩‍👩‍👧‍👦", "quote ' and \" and ; --",
        String(repeating: "x", count: 100_000),
    ])
    func `text round-trips byte by byte`(_ text: String) throws {
        let (read, storage) = try roundTrip(text)
        check(read.map { Array($0.utf8) }, equals: Array(text.utf8))
        check(storage, equals: "text")
        let rs = try db.executeQuery("SELECT length(CAST(? AS BLOB))", values: [text])
        try check(rs.next())
        check(rs.int(forColumnIndex: 0), equals: text.utf8.count)
    }

    @Test(arguments: [Data(), Data([0]), Data([0, 1, 0]), Data(repeating: 0xff, count: 70_000)])
    func `a blob round-trips, and an empty one is not NULL`(_ data: Data) throws {
        let (read, storage) = try roundTrip(data)
        check(read, equals: data)
        check(storage, equals: "blob")
        try check(roundTrip(Data(data)[data.startIndex...]).0, equals: data)
    }

    @Test func `a slice of data binds its own bytes`() throws {
        let slice = Data([1, 2, 3, 4, 5])[2..<4]
        try check(roundTrip(slice).0, equals: Data([3, 4]))
    }

    @Test(arguments: [
        0.0, -0.0, 1.5, .pi, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .infinity,
        -.infinity,
    ])
    func `a double keeps every bit, and so do infinities`(_ number: Double) throws {
        let (read, storage) = try roundTrip(number)
        // Zero is stored without its sign.
        check(read?.bitPattern == number.bitPattern || number == 0 && read == 0)
        check(storage, equals: "real")
    }

    @Test func `NaN is stored as NULL`() throws {
        let (read, storage) = try roundTrip(Double.nan)
        check(read == nil)
        check(storage, equals: "null")
        try check(roundTrip(Float.nan).1, equals: "null")
    }

    @Test func `a float round-trips, and a double out of its range does not fit`() throws {
        for number: Float in [0.1, -.greatestFiniteMagnitude, .infinity] {
            try check(roundTrip(number).0, equals: number)
        }
        let rs = try db.executeQuery("SELECT 1e300")
        try check(rs.next())
        check(
            storageError { _ = try rs.object(forColumnIndex: 0) as Float? },
            equals: .typeConversionFailed
        )
    }

    @Test func `a date is stored as whole seconds since 1970, dropping the fraction`() throws {
        for (stored, expected) in [
            (1_234_567_890.9, 1_234_567_890), (0, 0), (-0.5, -1), (-86_400, -86_400),
        ] as [(Double, Int)] {
            let date = Date(timeIntervalSince1970: stored)
            let (read, storage) = try roundTrip(date)
            check(read, equals: Date(timeIntervalSince1970: Double(expected)))
            check(storage, equals: "integer")
        }
        let rs = try db.executeQuery("SELECT ?", values: [Date(timeIntervalSince1970: 12.7)])
        try check(rs.next())
        check(rs.int64(forColumnIndex: 0), equals: 12)
        check(rs.date(forColumnIndex: 0), equals: Date(timeIntervalSince1970: 12))
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan, 1e300])
    func `a date that no INTEGER can hold is an error`(_ seconds: Double) {
        let date = Date(timeIntervalSince1970: seconds)
        check(storageError { _ = try roundTrip(date) }, equals: .typeConversionFailed)
    }

    @Test func `a Bool is 0 or 1`() throws {
        try check(roundTrip(true) == (true, "integer"))
        try check(roundTrip(false) == (false, "integer"))
        let rs = try db.executeQuery("SELECT 2, 0.0, 0.5")
        try check(rs.next())
        check(rs.bool(forColumnIndex: 0), equals: true)
        check(rs.bool(forColumnIndex: 1), equals: false)
        check(rs.bool(forColumnIndex: 2), equals: true)
    }

    // MARK: - An app's own types

    enum Colour: String, SQLiteDatatypeBridgeable { case red, green }

    enum Level: Int, SQLiteDatatypeBridgeable { case low = 1, high = 10 }

    struct Identifier: SQLiteDatatypeBridgeable, Equatable {
        var uuid: UUID

        init(_ uuid: UUID) { self.uuid = uuid }

        var sqliteValue: SQLiteValue { .text(uuid.uuidString) }

        init?(sqliteValue: SQLiteValue) {
            guard case .text(let text) = sqliteValue, let uuid = UUID(uuidString: text) else {
                return nil
            }
            self.uuid = uuid
        }
    }

    @Test func `an enum needs no code, another type one conversion in each direction`() throws {
        try check(roundTrip(Colour.green) == (.green, "text"))
        try check(roundTrip(Level.high) == (.high, "integer"))
        let identifier = Identifier(UUID())
        try check(roundTrip(identifier).0, equals: identifier)
        let rs = try db.executeQuery("SELECT 'blue', 2, 'no UUID'")
        try check(rs.next())
        check(
            storageError { _ = try rs.object(forColumnIndex: 0) as Colour? },
            equals: .typeConversionFailed)
        check(
            storageError { _ = try rs.object(forColumnIndex: 1) as Level? },
            equals: .typeConversionFailed
        )
        check(
            storageError { _ = try rs.object(forColumnIndex: 2) as Identifier? },
            equals: .typeConversionFailed)
    }

    @Test func `two texts are equal if SQLite holds them for equal, not if Swift does`() throws {
        let db = try database.openStore()
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        check(composed, equals: decomposed)
        check(SQLiteValue.text(composed) != .text(decomposed))
        try check(db.int(forQuery: "SELECT ? = ?", values: [composed, decomposed]), equals: 0)
        check(SQLiteValue.text(composed), equals: .text(composed))
        check(SQLiteValue.real(1) != .integer(1))
    }
}
