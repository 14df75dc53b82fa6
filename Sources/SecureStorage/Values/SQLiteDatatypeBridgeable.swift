/// A type whose values can be bound to a placeholder and read from a column.
///
/// Adopted by `String`, `Data`, `Date`, `Bool`, `Float`, `Double` and every width of `Int` and
/// `UInt`. An app adopts it for a type of its own with one conversion each way:
///
/// ```swift
/// struct Identifier: SQLiteDatatypeBridgeable {
///     var uuid: UUID
///
///     init(uuid: UUID = UUID()) { self.uuid = uuid }
///
///     init?(sqliteValue: SQLiteValue) {
///         guard case .text(let text) = sqliteValue, let uuid = UUID(uuidString: text) else {
///             return nil
///         }
///         self.uuid = uuid
///     }
///
///     var sqliteValue: SQLiteValue { .text(uuid.uuidString) }
/// }
/// ```
///
/// An enum with a raw value of one of the types above needs no code at all:
/// `enum Color: String, SQLiteDatatypeBridgeable { case red, green }`.
public protocol SQLiteDatatypeBridgeable {
    /// The value to bind.
    ///
    /// - Throws: `SecureStorageError.typeConversionFailed` when no SQLite value can hold this one,
    ///   such as a `UInt64` above `Int64.max`.
    var sqliteValue: SQLiteValue { get throws }

    /// The value of a column; nil when this type cannot represent it without loss.
    init?(sqliteValue: SQLiteValue)
}

extension SQLiteDatatypeBridgeable
where Self: RawRepresentable, RawValue: SQLiteDatatypeBridgeable {
    /// The raw value's.
    public var sqliteValue: SQLiteValue {
        get throws { try rawValue.sqliteValue }
    }

    /// From the raw value; nil also when no case has it.
    public init?(sqliteValue: SQLiteValue) {
        guard let rawValue = RawValue(sqliteValue: sqliteValue) else { return nil }
        self.init(rawValue: rawValue)
    }
}
