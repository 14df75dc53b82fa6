internal import Foundation

/// A decoder over one row: a container with one key per column.
///
/// Every access goes through the result set, which knows whether its row is still valid: an
/// `init(from:)` can do anything, including closing the store. A class, since Swift copies a
/// decoder and its container several times per row: each copy is one reference.
final class RowDecoder: Decoder {
    let rows: SecureDatabaseResultSet
    let dates: SecureDatabaseResultSet.DateDecodingStrategy
    /// The columns of the property that is decoded; nil for the row itself.
    let nested: NestedColumns?
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(
        _ rows: SecureDatabaseResultSet, _ dates: SecureDatabaseResultSet.DateDecodingStrategy,
        _ nested: NestedColumns? = nil
    ) {
        self.rows = rows
        self.dates = dates
        self.nested = nested
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(RowContainer(row: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NeedsJSON() }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        nested == nil ? firstColumn : NestedValue(row: self)
    }

    var firstColumn: RowColumn { RowColumn(row: self, index: 0, codingPath: []) }

    /// The names that the properties have.
    private var names: ColumnNames { nested?.names ?? rows.statement.names }

    var columnNames: [String] { rows.isOnRow ? names.names : [] }

    /// Returns the index of the column of a property; nil if there is none, or no row is current.
    ///
    /// - Throws: `.backingStoreError` code `.misuse` if there are several.
    @inline(__always)
    func column(_ name: String) throws -> Int? {
        guard let nested else {
            // Borrowed, since each use of a property would retain it.
            return try Unmanaged.passUnretained(rows)._withUnsafeGuaranteedRef {
                try $0.statement.requireOneColumn(named: name)
                return $0.column(name)
            }
        }
        return try column(name, of: nested)
    }

    private func column(_ name: String, of nested: NestedColumns) throws -> Int? {
        if nested.names.isRepeated(name) {
            throw rows.statement.repeatedColumn(name)
        }
        guard rows.isOnRow else { return nil }
        return nested.names.index(of: name).map { nested.indexes[$0] }
    }

    /// Returns a decoder of the columns `name.…`; nil if there are none.
    func decoder(of name: String) -> RowDecoder? {
        guard rows.isOnRow, let columns = names.nested(name) else { return nil }
        let inRow = nested.map { outer in columns.moved { outer.indexes[$0] } } ?? columns
        return RowDecoder(rows, dates, inRow)
    }

    func missingColumn(_ name: String) -> any Error {
        do { try rows.requireRow() } catch { return error }
        return rows.missingColumn("\"\(name)\"", in: names.names)
    }

    /// Whether a column of a nested property has a value.
    var hasValue: Bool {
        (nested?.indexes ?? []).contains { rows.statement.storageClass(at: $0) != .null }
    }
}

/// The columns of a property, as `Optional` and types that wrap one other ask for them.
private struct NestedValue: SingleValueDecodingContainer {
    let row: RowDecoder
    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { !row.hasValue }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        // A property `a` that is one value is not in a column `a.b`.
        guard !(type is any SQLiteDatatypeBridgeable.Type) else {
            throw SecureStorageError.typeConversionFailed
        }
        return try T(from: row)
    }
}

/// The columns of the current row, by name.
struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let row: RowDecoder
    var codingPath: [any CodingKey] { [] }

    var allKeys: [Key] { row.columnNames.compactMap { Key(stringValue: $0) } }

    /// Whether decoding the property finds a column, even one too many.
    func contains(_ key: Key) -> Bool {
        do {
            return try row.column(key.stringValue) != nil || row.decoder(of: key.stringValue) != nil
        } catch {
            return true
        }
    }

    func decodeNil(forKey key: Key) throws -> Bool { try !isPresent(key) }

    // Fast paths for the types that most rows consist of. A value in another storage class is
    // converted like any other.

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        let stored = try stored(key)
        if stored.storageClass == .integer, let value = Int(exactly: stored.integer) {
            return value
        }
        return try column(key).decode(type)
    }

    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        let stored = try stored(key)
        return stored.storageClass == .integer ? stored.integer : try column(key).decode(type)
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        let stored = try stored(key)
        return stored.storageClass == .integer ? stored.integer != 0 : try column(key).decode(type)
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        let stored = try stored(key)
        return stored.storageClass == .real ? stored.real : try column(key).decode(type)
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        let stored = try stored(key)
        if stored.storageClass == .text, let value = stored.text { return value }
        return try column(key).decode(type)
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        if T.self == Data.self {
            let stored = try stored(key)
            // Both types are `Data`, so the cast changes nothing.
            if stored.storageClass == .blob { return unsafeBitCast(stored.data, to: T.self) }
        }
        if let index = try row.column(key.stringValue) {
            return try RowColumn(row: row, index: index, codingPath: [key]).decode(type)
        }
        guard let nested = row.decoder(of: key.stringValue) else {
            throw row.missingColumn(key.stringValue)
        }
        do {
            return try T(from: nested)
        } catch is NeedsJSON {
            // An array is in one column.
            throw SecureStorageError.typeConversionFailed
        }
    }

    // Without these overloads, each optional property would be looked up three times.

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try isPresent(key) ? decode(type, forKey: key) : nil
    }

    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        try isPresent(key) ? decode(type, forKey: key) : nil
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try isPresent(key) ? decode(type, forKey: key) : nil
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try isPresent(key) ? decode(type, forKey: key) : nil
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try isPresent(key) ? decode(type, forKey: key) : nil
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try isPresent(key) ? decode(type, forKey: key) : nil
    }

    private func isPresent(_ key: Key) throws -> Bool {
        if let index = try row.column(key.stringValue) {
            return row.rows.statement.storageClass(at: index) != .null
        }
        // Nil for a column that was not selected would be written over what it holds.
        guard let nested = row.decoder(of: key.stringValue) else {
            throw row.missingColumn(key.stringValue)
        }
        return nested.hasValue
    }

    func superDecoder() -> any Decoder { row }

    func superDecoder(forKey key: Key) throws -> any Decoder { try column(key) }

    // Nested content is stored in one column as JSON and decoded as a separate type, not piecemeal.

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        throw SecureStorageError.typeConversionFailed
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        throw SecureStorageError.typeConversionFailed
    }

    @inline(__always)
    private func stored(_ key: Key) throws -> Column {
        let index = try requiredIndex(key)
        // Borrowed, since each use of a property would retain it.
        return Unmanaged.passUnretained(row.rows)._withUnsafeGuaranteedRef {
            $0.statement.column(index)
        }
    }

    private func column(_ key: Key) throws -> RowColumn {
        RowColumn(row: row, index: try requiredIndex(key), codingPath: [key])
    }

    @inline(__always)
    private func requiredIndex(_ key: Key) throws -> Int {
        guard let index = try row.column(key.stringValue) else {
            throw row.missingColumn(key.stringValue)
        }
        return index
    }
}

extension SQLiteValue {
    fileprivate var isBlob: Bool {
        guard case .blob = self else { return false }
        return true
    }
}

/// Thrown when a type requests keys or elements from one column: the column holds JSON.
struct NeedsJSON: Error {}

/// One column of the current row.
struct RowColumn: Decoder, SingleValueDecodingContainer {
    let row: RowDecoder
    let index: Int
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        throw NeedsJSON()
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NeedsJSON() }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    /// Returns false when the row is no longer valid; the decode that follows throws the error.
    func decodeNil() -> Bool { row.rows[index] == .null }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let rows = row.rows
        let value = rows.storedValue(at: try rows.requiredColumn(index))
        if type == Date.self { return try converted(row.dates.date(from: value)) }
        // An array of bytes may also be JSON, as any other array.
        if let bridged = type as? any SQLiteDatatypeBridgeable.Type,
            type != [UInt8].self || value.isBlob
        {
            return try converted(bridged.init(sqliteValue: value))
        }
        do {
            return try T(from: self)
        } catch is NeedsJSON {
            guard let json = Data(sqliteValue: value) else {
                throw SecureStorageError.typeConversionFailed
            }
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = row.dates.json
            return try StoredJSON.decode(type, from: json, with: decoder)
        }
    }

    private func converted<T>(_ value: Any?) throws -> T {
        guard let value = value as? T else { throw SecureStorageError.typeConversionFailed }
        return value
    }
}
