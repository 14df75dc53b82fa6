/// A type that a typed row can have for a column; see
/// ``SecureDatabaseStore/fetchAll(_:_:map:)``.
///
/// Every ``SQLiteDatatypeBridgeable`` type conforms, as does its optional, which is nil for NULL. A
/// type of an app conforms through ``SQLiteDatatypeBridgeable``.
public protocol SQLiteColumnReadable {
    /// Returns the value of a column.
    ///
    /// - Parameter column: A column of the current row.
    /// - Returns: The value.
    /// - Throws: If this type cannot represent the value without loss.
    static func read(from column: SQLiteColumn) throws(SQLiteColumnMismatch) -> Self
}

/// A column holds a value that its type cannot represent; a typed row reports it with the column's
/// name.
public struct SQLiteColumnMismatch: Error {}

/// A column of the current row, as a typed row passes it to the type that reads it.
public struct SQLiteColumn {
    /// The engine's value (`sqlite3_value`), valid until the next step.
    let value: OpaquePointer?
}

extension Optional: SQLiteColumnReadable where Wrapped: SQLiteDatatypeBridgeable {}
