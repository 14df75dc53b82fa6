import Foundation
import SecureStorage
import Testing
import TestSupport

/// UUIDs, URLs, decimal numbers and substrings: what every call writes, every call reads.
struct FoundationValueTests {
    typealias Value = SQLiteDatatypeBridgeable & Codable & Hashable & Sendable

    private struct Row<Content: Value>: Codable {
        var id: Int
        var v: Content
        var optional: Content?
    }

    private let database: TemporaryDatabase
    private let db: SecureDatabaseStore
    /// `make campaign NAME=values` tries more.
    private let rounds = environmentNumber("SECURESTORAGE_VALUES", default: 200)

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT, optional TEXT)")
    }

    /// Writes a value by each call; each row has it then.
    private func write<T: Value>(_ value: T, _ statement: SecureDatabaseStatement) throws {
        try db.executeUpdate("DELETE FROM t")
        try db.executeUpdate("INSERT INTO t VALUES (1, ?, NULL)", value)
        try db.executeUpdate("INSERT INTO t VALUES (2, ?, NULL)", values: [value])
        try db.executeUpdate(
            "INSERT INTO t VALUES (3, :v, NULL)", parameterDictionary: ["v": value])
        let any: [Any?] = [4, value, nil]
        try db.executeUpdate("INSERT INTO t VALUES (?, ?, ?)", values: any)
        try statement.executeUpdate(values: [5, value])
        try db.insert(Row(id: 6, v: value), into: "t")
        try db.insert(["id": 7, "v": value], into: "t")
        try db.upsert(Row(id: 7, v: value, optional: value), into: "t", key: "id")
        try db.update(["optional": nil as T?], in: "t", key: ["v": value])
    }

    private func roundTrip<T: Value>(_ values: [T]) throws {
        let statement = try db.prepare("INSERT INTO t VALUES (?, ?, NULL)")
        for value in values {
            try write(value, statement)
            // One spelling, so that SQL compares what any call has written.
            try check(db.count(in: "t", key: ["v": value, "optional": nil]), equals: 7)
            let rs = try db.executeQuery("SELECT v, id, optional FROM t WHERE v = ?", value)
            while try rs.next() {
                let named: T? = try rs.object(forColumnName: "v")
                check(named, equals: value)
                try check(rs.value(forColumnIndex: 0, as: T.self), equals: value)
                try check(rs.decode(Row<T>.self).v, equals: value)
                try check(rs.row { (v: T, id: Int, optional: T?) in v }, equals: value)
            }
            try check(
                db.find(Row<T>.self, in: "t", key: ["v": value])?.v, equals: value)
            try check(
                db.fetchAll(T.self, "SELECT v FROM t"), equals: [T](repeating: value, count: 7))
        }
    }

    @Test func `a UUID is read by every call as every call wrote it`() throws {
        var random = SplitMix64(seed: 1)
        try roundTrip((0..<rounds).map { _ in UUID.random(using: &random) })
    }

    @Test func `a UUID is also read in lower case, and from 16 bytes`() throws {
        let uuid = UUID()
        var bytes = uuid.uuid
        let blob = withUnsafeBytes(of: &bytes) { Data($0) }
        for stored: any SQLiteDatatypeBridgeable in [uuid.uuidString.lowercased(), blob] {
            try check(db.fetchOne("SELECT ?", stored) { (read: UUID) in read }, equals: uuid)
        }
        for other: any SQLiteDatatypeBridgeable in [
            "x", blob.dropLast(), blob + [0], 7, 0.5, uuid.uuidString + "\0x",
        ] {
            check(
                storageError { _ = try db.fetchOne(UUID.self, "SELECT ?", values: [other]) },
                equals: .typeConversionFailed)
        }
    }

    @Test func `a URL is read by every call as every call wrote it`() throws {
        var random = SplitMix64(seed: 2)
        let parts = ["a", "b%20c", "%C3%A9", "?q=1&r=%26", "#top", "..", "~x", ";v=1", "%00"]
        try roundTrip(
            try (0..<rounds).map { _ in
                let path = (0...Int.random(in: 0..<4, using: &random)).map { _ in
                    parts.randomElement(using: &random) ?? ""
                }
                return try require(
                    URL(string: "https://example.org:8080/" + path.joined(separator: "/")))
            } + [URL(fileURLWithPath: "/tmp/ö b"), require(URL(string: "mailto:a@example.org"))])
    }

    @Test func `a text that a URL would change is not read as one`() throws {
        for text in ["not a url", "%", ""] {
            check(
                storageError { _ = try db.fetchOne(URL.self, "SELECT ?", values: [text]) },
                equals: .typeConversionFailed)
        }
    }

    @Test func `a decimal number keeps all of its digits`() throws {
        var random = SplitMix64(seed: 3)
        try roundTrip(
            (0..<rounds).map { _ in
                let digits = (0..<Int.random(in: 1...38, using: &random)).map { _ in
                    String(Int.random(in: 0...9, using: &random))
                }
                let significand = Decimal(string: digits.joined()) ?? 0
                return Decimal(
                    sign: Bool.random(using: &random) ? .plus : .minus,
                    exponent: Int.random(in: -60...60, using: &random), significand: significand)
            } + [0, -1, Decimal.greatestFiniteMagnitude, Decimal.leastNonzeroMagnitude])
        check(
            storageError { try db.executeUpdate("INSERT INTO t (v) VALUES (?)", Decimal.nan) },
            equals: .typeConversionFailed)
    }

    @Test func `a substring is stored as its text`() throws {
        let text = "buy milk and bread"
        try roundTrip(text.split(separator: " ").map { BridgedSubstring($0) })
        try check(db.string(forQuery: "SELECT ?", text.prefix(3)), equals: "buy")
    }

    @Test func `a key-value store takes these types`() throws {
        let store = try SecureKeyValueStore(databaseStore: db, name: "settings")
        let (uuid, url) = (UUID(), try require(URL(string: "https://example.org/?a=b")))
        try store.put(uuid, forKey: "device")
        try store.put(url, forKey: "server")
        try store.put(Decimal(string: "0.10"), forKey: "price")
        let device: UUID? = try store.get("device")
        let server: URL? = try store.get("server")
        let price: Decimal? = try store.get("price")
        check(device, equals: uuid)
        check(server, equals: url)
        check(price, equals: Decimal(string: "0.10"))
    }
}

/// A substring for generic tests, since `Substring` itself is not `Codable`.
private struct BridgedSubstring: FoundationValueTests.Value {
    var text: Substring

    init(_ text: Substring) { self.text = text }
    init(from decoder: any Decoder) throws { text = Substring(try String(from: decoder)) }
    func encode(to encoder: any Encoder) throws { try String(text).encode(to: encoder) }

    var sqliteValue: SQLiteValue { text.sqliteValue }

    init?(sqliteValue: SQLiteValue) {
        guard let text = Substring(sqliteValue: sqliteValue) else { return nil }
        self.text = text
    }
}

extension UUID {
    fileprivate static func random(using random: inout SplitMix64) -> UUID {
        let (high, low) = (random.next(), random.next())
        return withUnsafeBytes(of: (high, low)) { UUID(uuid: $0.load(as: uuid_t.self)) }
    }
}
