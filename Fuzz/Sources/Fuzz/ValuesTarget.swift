import Foundation
import SecureStorage

/// Reads values of a key-value store as each type that a value can have.
///
/// An input is
///
/// ```
/// offset  bytes
///      0      1  the kind of the value, modulo 7; 4 and above are invalid
///      1      1  the storage class, modulo 5
///      2      1  when it expires, modulo 4; 0 for never
///      3         the value: 8 bytes of a number, or all of a text or blob; a text need not be
///                UTF-8
/// ```
struct ValuesTarget: FuzzTarget {
    private let row: KeyValueRow

    init() throws { row = try KeyValueRow("values") }

    func run(_ input: Data) throws {
        var reader = InputReader(input)
        let kinds: [any SQLiteDatatypeBridgeable] = [0, 1, 2, 3, 4, -1, "kind"]
        let kind = kinds[Int(reader.byte()) % kinds.count]
        let storage = reader.byte() % 5
        let expiries: [(any SQLiteDatatypeBridgeable)?] = [nil, 1, "never", Double.infinity]
        let expires = expiries[Int(reader.byte()) % expiries.count]
        let bytes = Data(reader.rest)
        switch storage {
        case 0: try row.write(bytes, kind: kind, expires: expires)
        case 1: try row.write(bytes, as: "CAST(:value AS TEXT)", kind: kind, expires: expires)
        case 2: try row.write(reader.number(), kind: kind, expires: expires)
        case 3:
            let real = Double(bitPattern: UInt64(bitPattern: reader.number()))
            try row.write(real, kind: kind, expires: expires)
        default: try row.write(nil as Data?, kind: kind, expires: expires)
        }
        try readPlain()
        try readCodable()
        try readColumns()
        _ = try row.read { try $0.getData(KeyValueRow.key) }
        _ = try row.read { try $0.hasKey(KeyValueRow.key) }
        _ = try row.read { try $0.keys() }
    }

    // MARK: - Plain values

    private func readPlain() throws {
        try readPlain(String.self)
        try readPlain(Data.self)
        try readPlain(Date.self)
        try readPlain(Bool.self)
        try readPlain(Float.self)
        try readPlain(Double.self)
        try readPlain(Int.self)
        try readPlain(Int8.self)
        try readPlain(Int16.self)
        try readPlain(Int32.self)
        try readPlain(UInt.self)
        try readPlain(UInt8.self)
        try readPlain(UInt64.self)
    }

    private func readPlain<T: SQLiteDatatypeBridgeable & Equatable & Codable & Sendable>(
        _ type: T.Type
    ) throws {
        let value: T? = try row.read { try $0.get(KeyValueRow.key) }
        let decoded = try row.read { try $0.get(KeyValueRow.key, as: type) }
        guard let value, value == value else { return }
        // A date is a plain value in only one of the two.
        precondition(type == Date.self || decoded == value, "\(type): two values")
        guard try row.read({ try $0.put(value, forKey: KeyValueRow.copy) }) != nil else { return }
        let again: T? = try row.read { try $0.get(KeyValueRow.copy) }
        let isSame = type == Date.self ? again != nil : again == value
        precondition(isSame, "\(type): what was read is not what is read again")
    }

    // MARK: - Codable values

    private func readCodable() throws {
        try readCodable(Note.self)
        try readCodable([Note].self)
        try readCodable([String: Int].self)
        try readCodable([Double].self)
        try readCodable([Data?].self)
        try readCodable(Shape.self)
        try readCodable(Tree.self)
        try readCodable(Date.self)
        try readCodable(URL.self)
        try readCodable(UUID.self)
        try readCodable(Decimal.self)
        try readCodable([Int: Bool].self)
    }

    private func readCodable<T: Codable & Sendable>(_ type: T.Type) throws {
        let value = try row.read { try $0.get(KeyValueRow.key, as: type) }
        guard let value else { return }
        // A type need not encode everything that it decodes, such as a text of lone surrogates or a
        // tree that is too deep.
        let isPut = try row.read {
            try $0.put(value, forKey: KeyValueRow.copy, expiresIn: nil)
            return true
        }
        guard isPut == true else { return }
        let again = try row.read { try $0.get(KeyValueRow.copy, as: type) }
        precondition(again != nil, "\(type): what was put cannot be read")
    }

    /// Reads the value as columns of a row, which have a separate decoder.
    private func readColumns() throws {
        let sql = """
            SELECT value AS title, value AS count, value AS ratio, value AS tags, value AS next
            FROM securestorage_kv_1 WHERE key = '\(KeyValueRow.key)'
            """
        try readColumns(Note.self, sql)
        try readColumns(Shape.self, sql)
        try readColumns(Tree.self, sql)
        try readColumns(Date.self, sql)
        try readColumns(Decimal.self, sql)
        try readColumns(UUID.self, sql)
        try readColumns(String?.self, sql)
    }

    private func readColumns<T: Decodable>(_ type: T.Type, _ sql: String) throws {
        _ = try KeyValueRow.converting { try row.store.fetchAll(type, SQL(raw: sql)) }
        _ = try KeyValueRow.converting { try row.store.fetchAll(type, SQL(raw: sql), dates: .text) }
    }
}

/// A type of an app with everything that JSON supports.
struct Note: Codable, Sendable, Equatable {
    var title: String
    var count: Int?
    var ratio: Double?
    var created: Date?
    var tags: [String]?
    var bytes: Data?
    var next: [Note]?
}

/// A type with several cases, as JSON represents them.
enum Shape: Codable, Sendable {
    case point
    case circle(radius: Float)
    case named(String, UUID?)
}

/// A value as deep as its JSON.
indirect enum Tree: Codable, Sendable {
    case leaf
    case branches([Tree])

    init(from decoder: any Decoder) throws {
        var elements = try decoder.unkeyedContainer()
        var branches: [Tree] = []
        while !elements.isAtEnd { branches.append(try elements.decode(Tree.self)) }
        self = branches.isEmpty ? .leaf : .branches(branches)
    }

    func encode(to encoder: any Encoder) throws {
        var elements = encoder.unkeyedContainer()
        guard case .branches(let branches) = self else { return }
        for branch in branches { try elements.encode(branch) }
    }
}
