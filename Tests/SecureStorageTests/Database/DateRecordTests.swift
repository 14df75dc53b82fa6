import Foundation
import SecureStorage
import Testing
import TestSupport

/// Dates that the library's own calls write, and how they are read back.
struct DateRecordTests {
    private struct Event: Codable, Equatable {
        struct Span: Codable, Equatable {
            var start: Date
            var end: Date?
        }

        var id: Int
        var at: Date
        var span: Span
    }

    private let database: TemporaryDatabase
    private let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE event (id INTEGER PRIMARY KEY, at, span TEXT)")
    }

    private func event(_ id: Int, _ seconds: Double) -> Event {
        let date = Date(timeIntervalSince1970: seconds)
        return Event(id: id, at: date, span: .init(start: date, end: date.addingTimeInterval(1)))
    }

    /// What is read, written again, is the same number.
    @Test(arguments: [
        0, 1.5, -0.25, -62_135_596_800, 1_700_000_000.123457, 1_764_288_123.999999, 4e9 + 0.000001,
    ])
    func `a record with a date is read as it was inserted`(_ seconds: Double) throws {
        let event = event(1, seconds)
        try db.insert(event, into: "event")
        let read = try require(db.fetchOne(Event.self, "SELECT * FROM event"))
        check(abs(read.at.timeIntervalSince(event.at)) < 0.000001)
        check(abs(read.span.start.timeIntervalSince(event.span.start)) < 0.000001)
        try db.upsert(read, into: "event", key: "id")
        try check(db.fetchOne(Event.self, "SELECT * FROM event"), equals: read)
        try check(db.update(read, in: "event", key: "id", "at"), equals: 1)
    }

    @Test func `the current time is read back to the microsecond`() throws {
        let now = Date()
        try db.insert(["id": 1, "at": now], into: "event")
        let read = try require(db.fetchOne(Date.self, "SELECT at FROM event"))
        check(abs(read.timeIntervalSince(now)) < 0.000001)
        try check(db.update(["id": 2], in: "event", key: ["at": read]), equals: 1)
    }

    @Test func `an optional date that a type encodes itself has the format of the others`() throws {
        struct Visit: Encodable {
            enum CodingKeys: CodingKey { case at, span }
            var at: Date?
            var span: Date?
            func encode(to encoder: any Encoder) throws {
                var row = encoder.container(keyedBy: CodingKeys.self)
                try row.encode(at, forKey: .at)
                try row.encode(span, forKey: .span)
            }
        }
        let visit = Visit(at: Date(timeIntervalSince1970: 0.5), span: nil)
        try db.insert(visit, into: "event", dates: .text)
        try check(db.strings("SELECT at FROM event"), equals: ["1970-01-01 00:00:00.500"])
        try check(db.strings("SELECT span FROM event"), equals: [nil])
    }

    @Test func `two events of one second are sorted by their fraction`() throws {
        try db.insert(
            contentsOf: [event(1, 100.75), event(2, 100.5), event(3, 101), event(4, 100.625)],
            into: "event")
        try check(
            db.fetchAll(Int.self, "SELECT id FROM event ORDER BY at"), equals: [2, 4, 1, 3])
    }

    @Test(
        arguments: [
            (.secondsSince1970, "1700000000.25 real"),
            (.wholeSecondsSince1970, "1700000000 integer"),
            (.millisecondsSince1970, "1700000000250 integer"),
            (.text, "2023-11-14 22:13:20.250 text"),
            (.custom { .text("t\($0.timeIntervalSince1970)") }, "t1700000000.25 text"),
        ] as [(SecureDatabaseStore.DateEncodingStrategy, String)])
    func `dates are stored in the format that is asked for, those in JSON too`(
        _ strategy: SecureDatabaseStore.DateEncodingStrategy, _ stored: String
    ) throws {
        try db.insert(event(1, 1_700_000_000.25), into: "event", dates: strategy)
        try check(
            db.strings("SELECT at || ' ' || typeof(at) FROM event"), equals: [stored])
        let value = stored.prefix { $0 != " " || stored.hasSuffix("text") }
        try check(
            db.strings("SELECT span ->> '$.start' FROM event").first??.hasPrefix(
                value.replacing(" text", with: "")), equals: true)
    }

    @Test(arguments: [
        (-62_167_219_200, "0000-01-01 00:00:00.000"), (-0.001, "1969-12-31 23:59:59.999"),
        (951_782_399.9996, "2000-02-29 00:00:00.000"),
        (253_402_300_798.999, "9999-12-31 23:59:58.999"),
    ])
    func `a date as text is the one that SQLite reads`(_ seconds: Double, _ text: String) throws {
        try db.insert(event(1, seconds), into: "event", dates: .text)
        try check(db.strings("SELECT at FROM event"), equals: [text])
        try check(
            db.strings("SELECT strftime('%Y-%m-%d %H:%M:%f', at) FROM event"), equals: [text])
        let read = try require(db.fetchOne(Event.self, "SELECT * FROM event", dates: .text))
        check(abs(read.at.timeIntervalSince1970 - seconds) <= 0.0005001)
    }

    @Test(
        arguments: [
            (.infinity, .secondsSince1970), (.nan, .text), (-62_167_219_201, .text),
            (253_402_300_800, .text), (1e300, .millisecondsSince1970),
            (1e300, .wholeSecondsSince1970),
        ] as [(Double, SecureDatabaseStore.DateEncodingStrategy)])
    func `a date that a format cannot hold is an error, and nothing is written`(
        _ seconds: Double, _ strategy: SecureDatabaseStore.DateEncodingStrategy
    ) throws {
        let event = event(1, seconds)
        check(
            storageError { try db.insert(event, into: "event", dates: strategy) },
            equals: .typeConversionFailed)
        try check(db.int(forQuery: "SELECT count(*) FROM event"), equals: 0)
    }

    @Test func `a key-value store has one form of a date, whichever call puts it`() throws {
        let settings = try SecureKeyValueStore(databaseStore: db, name: "settings")
        let date = Date(timeIntervalSince1970: 1_700_000_000.5)
        let key = KeyValueKey<Date>("a")
        try settings.put(date, for: key)
        try settings.put(date, forKey: "b")
        for name in ["a", "b"] {
            let plain: Date? = try settings.get(name)
            check(plain, equals: date)
            try check(settings.get(name, as: Date.self), equals: date)
            try check(settings.getDouble(name), equals: 1_700_000_000.5)
        }
        // JSON counts from 1970 too.
        try settings.put([date], forKey: "list")
        try check(settings.get("list", as: [Date].self), equals: [date])
        try check(settings.get("list", as: [Double].self), equals: [1_700_000_000.5])
        check(
            storageError { try settings.put(Date(timeIntervalSince1970: .nan), forKey: "c") },
            equals: .typeConversionFailed)
    }
}
