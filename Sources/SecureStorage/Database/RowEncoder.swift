internal import Foundation

/// Encodes a value as a row: each property as the column of the same name.
///
/// The counterpart of `RowDecoder`: what it writes, that one reads.
struct RowEncoder: Encoder {
    /// The columns in the order of the properties.
    final class Row {
        fileprivate(set) var columns: [(name: String, value: SQLiteValue)] = []
        /// Whether the value has requested keys, and nothing else.
        fileprivate var hasKeys = false
        fileprivate var hasOthers = false
    }

    private let row: Row
    fileprivate let dates: SecureDatabaseStore.DateEncodingStrategy
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Returns the columns of a value.
    ///
    /// - Throws: `.typeConversionFailed` for a property that no column can hold;
    ///   `.backingStoreError` code `.misuse` for a value without properties; errors thrown by its
    ///   `encode(to:)`.
    static func columns(
        of value: some Encodable, dates: SecureDatabaseStore.DateEncodingStrategy
    ) throws -> [(name: String, value: SQLiteValue)] {
        let row = Row()
        do {
            try value.encode(to: RowEncoder(row: row, dates: dates))
        } catch is EncodingError {
            // Its description might quote the value.
            throw SecureStorageError.typeConversionFailed
        }
        guard row.hasKeys, !row.hasOthers else {
            throw SecureStorageError.statementFailed(
                .misuse,
                "a \(type(of: value)) is not a row; pass a type whose properties are the columns")
        }
        return row.columns
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        row.hasKeys = true
        return KeyedEncodingContainer(RowKeys(row: row, encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        row.hasOthers = true
        return NestingProbe.top.unkeyedContainer()
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        row.hasOthers = true
        return NestingProbe.top.singleValueContainer()
    }

    /// Returns the value of one column.
    fileprivate func column<T: Encodable>(_ value: T) throws -> SQLiteValue {
        // Compared first: a cast of each property would cost more.
        // The optional is of a type that encodes it itself.
        if T.self == Date.self || T.self == Date?.self, let date = value as? Date {
            return try dates.value(of: date)
        }
        guard let value = value as? any SQLiteDatatypeBridgeable else { return try json(value) }
        return try value.sqliteValue
    }

    /// Returns any other value as JSON, or a single string, number or Boolean as such.
    private func json<T: Encodable>(_ value: T) throws -> SQLiteValue {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = dates.json
        // Equal values are equal texts, so that an update of what differs leaves them alone.
        encoder.outputFormatting = .sortedKeys
        let json = try StoredJSON.encode(value, with: encoder)
        switch json.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            return .text(String(decoding: json, as: UTF8.self))
        case UInt8(ascii: "\""):
            return .text(try JSONDecoder().decode(String.self, from: json))
        case UInt8(ascii: "t"): return .integer(1)
        case UInt8(ascii: "f"): return .integer(0)
        case UInt8(ascii: "n"): return .null
        default:
            let text = String(decoding: json, as: UTF8.self)
            if let number = Int64(text) { return .integer(number) }
            guard let number = Double(text) else { throw SecureStorageError.typeConversionFailed }
            return .real(number)
        }
    }
}

private struct RowKeys<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let row: RowEncoder.Row
    let encoder: RowEncoder
    var codingPath: [any CodingKey] { [] }

    private func set<T: Encodable>(_ value: T?, _ key: Key) throws {
        row.columns.append((key.stringValue, try value.map { try encoder.column($0) } ?? .null))
    }

    func encodeNil(forKey key: Key) { row.columns.append((key.stringValue, .null)) }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws { try set(value, key) }

    // The default of each of these leaves a column out that is nil.

    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try set(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try set(value, key) }

    // Nested content is one column of JSON, which a type encodes as a property.

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        row.hasOthers = true
        return NestingProbe.top.container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.unkeyedContainer()
    }

    // A superclass adds its properties to the same row.
    func superEncoder() -> any Encoder { encoder }

    func superEncoder(forKey key: Key) -> any Encoder {
        row.hasOthers = true
        return NestingProbe.top
    }
}
