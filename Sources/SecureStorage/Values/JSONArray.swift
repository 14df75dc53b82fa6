internal import Foundation

/// A list of values as one parameter: a JSON array.
///
/// For `IN` with any number of values, where one statement is prepared for all of them:
///
/// ```swift
/// let sql = "SELECT text FROM note WHERE id IN (SELECT value FROM json_each(?))"
/// let rs = try db.executeQuery(sql, values: [JSONArray([1, 2, 3])])
/// ```
///
/// Holds integers, finite floating-point numbers, texts, Booleans (as 1 and 0) and dates (in whole
/// seconds). JSON has no bytes: compare those with `hex()`.
public struct JSONArray: SQLiteDatatypeBridgeable, Sendable {
    private let text: String

    /// Makes a list.
    ///
    /// - Parameter values: Any number of values.
    /// - Throws: `.typeConversionFailed` for bytes, and for a number that is not finite.
    public init(_ values: [some SQLiteDatatypeBridgeable]) throws {
        try self.init(values.map { try $0.sqliteValue })
    }

    private init(_ values: [SQLiteValue]) throws {
        let elements = try values.map { value in
            switch value {
            case .null: "null"
            case .integer(let number): String(number)
            case .real(let number) where number.isFinite: "\(number)"
            case .text(let text):
                String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
            case .real, .blob: throw SecureStorageError.typeConversionFailed
            }
        }
        text = "[" + elements.joined(separator: ",") + "]"
    }

    /// The JSON, as TEXT.
    public var sqliteValue: SQLiteValue { .text(text) }

    /// Takes a JSON array of numbers, texts and nulls.
    public init?(sqliteValue: SQLiteValue) {
        guard case .text(let text) = sqliteValue, text.hasPrefix("["),
            (try? JSONSerialization.jsonObject(with: Data(text.utf8))) is [Any]
        else { return nil }
        self.text = text
    }
}
