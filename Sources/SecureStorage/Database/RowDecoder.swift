internal import Foundation

/// A row as a decoder sees it: a container with a key for each column.
///
/// Every access goes through the result set, which knows whether its row is still there: an `init(from:)`
/// may do anything, closing the store included.
struct RowDecoder: Decoder {
    let rows: SecureDatabaseResultSet
    let dates: SecureDatabaseResultSet.DateDecodingStrategy
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(RowContainer(rows: rows, dates: dates, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NeedsJSON() }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        RowColumn(rows: rows, dates: dates, index: 0, codingPath: codingPath)
    }
}

/// The columns of the current row by name.
struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let rows: SecureDatabaseResultSet
    let dates: SecureDatabaseResultSet.DateDecodingStrategy
    let codingPath: [any CodingKey]

    var allKeys: [Key] {
        rows.isOnRow ? rows.statement.columnNames.compactMap { Key(stringValue: $0) } : []
    }

    func contains(_ key: Key) -> Bool { rows.column(key.stringValue) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try column(key).decodeNil() }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try column(key).decode(type)
    }

    func superDecoder() -> any Decoder {
        RowDecoder(rows: rows, dates: dates, codingPath: codingPath)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try column(key) }

    // What is nested lies in one column, as JSON; it is decoded as a type of its own, not piecemeal.

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        throw SecureStorageError.typeConversionFailed
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        throw SecureStorageError.typeConversionFailed
    }

    private func column(_ key: Key) throws -> RowColumn {
        RowColumn(
            rows: rows, dates: dates, index: try rows.requiredColumn(key.stringValue),
            codingPath: codingPath + [key])
    }
}

/// A type asks one column for keys or elements: it is stored as JSON.
struct NeedsJSON: Error {}

/// One column of the current row.
struct RowColumn: Decoder, SingleValueDecodingContainer {
    let rows: SecureDatabaseResultSet
    let dates: SecureDatabaseResultSet.DateDecodingStrategy
    let index: Int
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        throw NeedsJSON()
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NeedsJSON() }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    /// False when the row is gone; whoever decodes then gets the error.
    func decodeNil() -> Bool { rows[index] == .null }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let value = rows.storedValue(at: try rows.requiredColumn(index))
        if type == Date.self { return try converted(dates.date(from: value)) }
        if let bridged = type as? any SQLiteDatatypeBridgeable.Type {
            return try converted(bridged.init(sqliteValue: value))
        }
        // These two ask for keys, but JSON has them as one text or number, too.
        if type == URL.self {
            return try converted(String(sqliteValue: value).flatMap { URL(string: $0) })
        }
        if type == Decimal.self {
            return try converted(String(sqliteValue: value).flatMap(Self.decimal))
        }
        do {
            return try T(from: self)
        } catch is NeedsJSON {
            guard let json = Data(sqliteValue: value) else {
                throw SecureStorageError.typeConversionFailed
            }
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = dates.json
            return try decoder.decode(type, from: json)
        }
    }

    /// Whether a type stands for one column and not for a row.
    static func holds(_ type: any Decodable.Type) -> Bool {
        type is any SQLiteDatatypeBridgeable.Type || type == URL.self || type == Decimal.self
    }

    private func converted<T>(_ value: Any?) throws -> T {
        guard let value = value as? T else { throw SecureStorageError.typeConversionFailed }
        return value
    }

    /// `Decimal(string:)` takes the longest beginning that is a number, and rounds to 38 digits.
    private static func decimal(_ text: String) -> Decimal? {
        guard
            let match = text.wholeMatch(of: /[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?/),
            match.1.filter({ $0 != "." }).drop(while: { $0 == "0" }).count <= 38
        else { return nil }
        return Decimal(string: text)
    }
}
