import Foundation
import SecureStorage
import Testing
import TestSupport

struct DecodableRowTests {
    enum Color: String, Codable { case red, green }
    struct Point: Codable, Equatable { var x: Int, y: Double, at: Date? }
    struct User: Codable, Equatable {
        var id: Int64
        var name: String
        var nick: String?
        var born: Date
        var photo: Data
        var color: Color
        var home: Point?
        var tags: [String]
        var page: URL?
        var token: UUID?
        var worth: Decimal?
    }

    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
    }

    private static let complete: SQL = """
        SELECT 1 AS id, 'Ada' AS NAME, NULL AS nick, 1700000000 AS born, x'0001' AS photo,
               'green' AS color, '{"x":1,"y":0.5,"at":60}' AS home, '["a","b"]' AS tags,
               'https://example.org/' AS page,
               'E621E1F8-C36C-495A-93FC-0C247A3E6E5F' AS token, '12.30' AS worth
        """

    @Test func `FMDB kvcMagic: a row becomes a value of the app's own type`() throws {
        let user = try db.fetchOne(User.self, Self.complete)
        check(
            user,
            equals: User(
                id: 1, name: "Ada", nick: nil, born: Date(timeIntervalSince1970: 1_700_000_000),
                photo: Data([0, 1]), color: .green,
                home: Point(x: 1, y: 0.5, at: Date(timeIntervalSince1970: 60)),
                tags: ["a", "b"], page: URL(string: "https://example.org/"),
                token: UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"),
                worth: Decimal(string: "12.3")))
        check(!db.hasOpenResultSets)
    }

    @Test func `fetchAll reads every row, with bound values`() throws {
        let points = try db.fetchAll(
            Point.self,
            "SELECT column1 AS x, column2 AS y, NULL AS at FROM (VALUES (1, 2), (3, 4)) WHERE x > ?",
            values: [0])
        check(points, equals: [Point(x: 1, y: 2, at: nil), Point(x: 3, y: 4, at: nil)])
        try check(db.fetchOne(Point.self, "SELECT 1 AS x, 2 AS y WHERE 0") == nil)
        try check(db.fetchAll(Int.self, "VALUES (1), (2)"), equals: [1, 2])
        try check(db.fetchAll(Int?.self, "VALUES (1), (NULL)"), equals: [1, nil])
        try check(
            db.fetchAll(Date.self, "VALUES (60)"), equals: [Date(timeIntervalSince1970: 60)])
        try check(db.fetchAll(Color.self, "VALUES ('red')"), equals: [.red])
        try check(
            db.fetchAll([String: Int].self, "SELECT 1 AS a, 2 AS b"), equals: [["a": 1, "b": 2]])
    }

    @Test(
        arguments: [
            "1 AS x, NULL AS y", "1.5 AS x, 1 AS y", "'one' AS x, 1 AS y",
            "9223372036854775808 AS x, 1 AS y", "x'01' AS x, 1 AS y",
        ])
    func `a value that does not fit is a failed conversion`(_ columns: String) throws {
        check(
            storageError { _ = try db.fetchAll(Point.self, "SELECT \(raw: columns)") },
            equals: .typeConversionFailed)
        check(!db.hasOpenResultSets)
    }

    @Test func `an unknown raw value and broken JSON are failed conversions`() throws {
        check(
            storageError { _ = try db.fetchAll(Color.self, "VALUES ('blue')") },
            equals: .typeConversionFailed)
        for home in ["'{'", "1", "'{\"x\":1}'", "x'ff'"] {
            let complete = "\(Self.complete)"
            let sql = complete.replacingOccurrences(
                of: "'{\"x\":1,\"y\":0.5,\"at\":60}'", with: home)
            check(sql != complete)
            check(
                storageError { _ = try db.fetchAll(User.self, SQL(raw: sql)) },
                equals: .typeConversionFailed,
                "\(home)")
        }
        check(
            storageError { _ = try db.fetchAll([Int].self, "VALUES (1)") },
            equals: .typeConversionFailed)
    }

    @Test func `a missing column is named in the error`() throws {
        let error = storageError { _ = try db.fetchAll(Point.self, "SELECT 1 AS x, 2 AS z") }
        check(error?.code, equals: 25)
        check(error?.description.contains("\"y\"; its columns are: x, z"), equals: true)
        try check(
            db.fetchOne(Point.self, "SELECT 1 AS x, 2 AS y, NULL AS at"),
            equals: Point(x: 1, y: 2, at: nil))
    }

    class Base: Decodable { var a: Int }
    final class Derived: Base {
        let b: Int
        enum CodingKeys: String, CodingKey { case b = "B!" }
        required init(from decoder: any Decoder) throws {
            b = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .b)
            try super.init(from: decoder)
        }
    }

    @Test func `a property whose name several columns have is an error that names it`() throws {
        struct Note: Decodable { var id: Int }
        struct Optional: Decodable { var ID: Int? }
        struct Other: Decodable { var text: String }
        try db.executeStatements(
            """
            CREATE TABLE folder (id INTEGER PRIMARY KEY); INSERT INTO folder VALUES (1);
            CREATE TABLE note (id INTEGER PRIMARY KEY, folder, text);
            INSERT INTO note VALUES (7, 1, 'milk');
            """)
        let join: SQL = "SELECT * FROM note JOIN folder ON folder.id = folder"
        for error in [
            storageError { _ = try db.fetchOne(Note.self, join) },
            storageError { _ = try db.fetchOne(Optional.self, join) },
        ] {
            check(error?.resultCode, equals: .misuse)
            check(error?.description.contains("AS"), equals: true)
        }
        try check(db.fetchOne(Other.self, join)?.text, equals: "milk")
        try check(
            db.fetchOne(Note.self, "SELECT note.* FROM note JOIN folder ON folder.id = folder")?.id,
            equals: 7)
    }

    @Test func `a subclass with coding keys reads the same row`() throws {
        let row = try db.fetchOne(Derived.self, #"SELECT 1 AS a, 2 AS "b!""#)
        check(row?.a, equals: 1)
        check(row?.b, equals: 2)
    }

    struct Closing: Decodable {
        nonisolated(unsafe) static var store: SecureDatabaseStore?
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            Self.store?.close()
            _ = try container.decode(Int.self, forKey: .a)
        }
        enum CodingKeys: CodingKey { case a }
    }

    @Test func `an initializer that closes the store gets an error, not freed memory`() throws {
        Closing.store = db
        defer { Closing.store = nil }
        check(storageError { _ = try db.fetchAll(Closing.self, "SELECT 1 AS a") }, equals: .closed)
        let rs = try TemporaryDatabase().openStore().executeQuery("SELECT 1")
        check(storageError { _ = try rs.decode(Int.self) }?.code, equals: 21)
    }

    @Test func `a decimal number is read completely or not at all`() throws {
        let database = try TemporaryDatabase()
        let db = try database.openStore()
        func decimal(_ text: String) throws -> Decimal? {
            try db.fetchOne(Decimal.self, "SELECT ?", values: [text])
        }
        try check(decimal("-12345678901234567890.123456789") != nil)
        for text in ["1\u{662}", "1\u{967}.5", "", "1 ", String(repeating: "9", count: 39)] {
            check(storageError { _ = try decimal(text) }, equals: .typeConversionFailed, "\(text)")
        }
    }

    @Test func `a URL and an array are read from the first column`() throws {
        let db = try TemporaryDatabase().openStore()
        try check(
            db.fetchAll(URL.self, "SELECT 'https://example.org/a' AS u"),
            equals: [URL(string: "https://example.org/a")])
        try check(db.fetchOne([Int].self, "SELECT '[1, 2]'"), equals: [1, 2])
        check(storageError { _ = try db.fetchOne([Int].self, "SELECT 5") } != nil)
    }

    // MARK: - Dates

    private static let date = Date(timeIntervalSince1970: 1_700_000_000.25)

    @Test(
        arguments: [
            ("1700000000.25", .secondsSince1970), ("1700000000250", .millisecondsSince1970),
            ("'2023-11-14 22:13:20.250'", .text), ("'2023-11-14T22:13:20.250Z'", .text),
            ("'2023-11-14 23:43:20.250+01:30'", .text),
            ("'2023-11-14T17:13:20.250 -05:00'", .text),
            ("datetime(1700000000, 'unixepoch') || '.25'", .text),
            (
                "strftime('%Y-%m-%dT%H:%M:%fZ', 1700000000.25, 'unixepoch')",
                .text
            ),
            (
                "-1700000000.25",
                .custom { value in
                    guard case .real(let seconds) = value else { return .distantPast }
                    return Date(timeIntervalSince1970: -seconds)
                }
            ),
        ] as [(String, SecureDatabaseResultSet.DateDecodingStrategy)])
    func `a date is decoded with the given strategy, in a column and in JSON`(
        _ stored: String, _ strategy: SecureDatabaseResultSet.DateDecodingStrategy
    ) throws {
        struct Row: Codable, Equatable {
            var at: Date
            var missing: Date?
            var all: [Date]
        }
        let row = try db.fetchOne(
            Row.self,
            "SELECT \(raw: stored) AS at, NULL AS missing, json_array(\(raw: stored)) AS 'all'",
            dates: strategy)
        let near = { (date: Date) in abs(date.timeIntervalSince(Self.date)) < 0.001 }
        check(row.map { near($0.at) }, equals: true)
        check(row?.missing == nil)
        check(row?.all.map(near), equals: [true])
        try check(
            db.fetchAll(Date.self, "SELECT \(raw: stored)", dates: strategy).map(near),
            equals: [true])
    }

    @Test func `a date may lack the time or the seconds`() throws {
        for (text, seconds) in [
            ("1970-01-02", 86_400.0), ("1970-01-01 00:01", 60), ("1969-12-31 23:59:59", -1),
            ("2024-02-29", 1_709_164_800), ("1970-01-01 14:00+14:00", 0),
            ("1969-12-31 22:01:00-01:59", 0),
        ] {
            try check(
                db.fetchOne(Date.self, "SELECT ?", values: [text], dates: .text),
                equals: Date(timeIntervalSince1970: seconds))
        }
    }

    @Test(
        arguments: [
            "2023-02-29", "2023-02-30 00:00:00", "2023-13-01", "2023-00-10", "2023-01-01 24:01",
            "2023-01-01 00:60", "2023-01-01 00:00:61", "2023-1-1", "now", "", "12:00",
            "2023-01-01 00:00:00+99:00", "2023-01-01 00:00+15:00", "2023-01-01 00:00-01:60",
            "2023-01-01x",
        ])
    func `text that is not a date is a failed conversion`(_ text: String) throws {
        check(
            storageError {
                _ = try db.fetchOne(Date.self, "SELECT ?", values: [text], dates: .text)
            }, equals: .typeConversionFailed)
    }
}
