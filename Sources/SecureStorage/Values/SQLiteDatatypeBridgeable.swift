/// A type whose values can be bound to a placeholder and read from a column.
///
/// `String`, `Substring`, `Data`, `[UInt8]`, `Date`, `Bool`, `Float`, `Double`, `Decimal`, `UUID`,
/// `URL` and every width of `Int` and `UInt` conform to it. An app's own type conforms with one
/// conversion each way:
///
/// ```swift
/// struct Version: SQLiteDatatypeBridgeable {
///     var major: Int
///     var minor: Int
///
///     init(_ major: Int, _ minor: Int) { (self.major, self.minor) = (major, minor) }
///
///     init?(sqliteValue: SQLiteValue) {
///         guard case .text(let text) = sqliteValue else { return nil }
///         let parts = text.split(separator: ".").compactMap { Int($0) }
///         guard parts.count == 2 else { return nil }
///         self.init(parts[0], parts[1])
///     }
///
///     var sqliteValue: SQLiteValue { .text("\(major).\(minor)") }
/// }
/// ```
///
/// An enum whose raw value has one of these types needs no code:
/// `enum Color: String, SQLiteDatatypeBridgeable { case red, green }`.
public protocol SQLiteDatatypeBridgeable: SQLiteColumnReadable {
    /// The value to bind.
    ///
    /// - Throws: `SecureStorageError.typeConversionFailed` if no SQLite value can represent this
    ///   one, such as a `UInt64` above `Int64.max`.
    var sqliteValue: SQLiteValue { get throws }

    /// Creates a value from a column's; nil if this type cannot represent it without loss.
    init?(sqliteValue: SQLiteValue)
}

extension SQLiteDatatypeBridgeable
where Self: RawRepresentable, RawValue: SQLiteDatatypeBridgeable {
    /// The SQLite value of the raw value.
    public var sqliteValue: SQLiteValue {
        get throws { try rawValue.sqliteValue }
    }

    /// Creates a value from its raw value; nil also if no case has it.
    public init?(sqliteValue: SQLiteValue) {
        guard let rawValue = RawValue(sqliteValue: sqliteValue) else { return nil }
        self.init(rawValue: rawValue)
    }
}
