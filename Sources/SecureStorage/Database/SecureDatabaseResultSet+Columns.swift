public import Foundation

// Each getter returns nil for NULL, for a missing column, for a value that its type cannot
// represent without loss, and when no row is current: before the first `next()`, after the end and
// after `close()`. Names match case-insensitively; if several columns share a name, the first one
// is used.

extension SecureDatabaseResultSet {
    /// Returns the value as `Int`: an INTEGER in range, a REAL without a fraction, or TEXT that
    /// spells such a number.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func int(forColumnName columnName: String) -> Int? {
        column(columnName).flatMap { int(at: $0) }
    }

    /// Returns the value as `Int`: an INTEGER in range, a REAL without a fraction, or TEXT that
    /// spells such a number.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func int(forColumnIndex columnIndex: Int) -> Int? {
        column(columnIndex).flatMap { int(at: $0) }
    }

    /// Returns the value as `Int64`: an INTEGER, a REAL without a fraction, or TEXT that spells
    /// such a number.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func int64(forColumnName columnName: String) -> Int64? {
        column(columnName).flatMap { int64(at: $0) }
    }

    /// Returns the value as `Int64`: an INTEGER, a REAL without a fraction, or TEXT that spells
    /// such a number.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func int64(forColumnIndex columnIndex: Int) -> Int64? {
        column(columnIndex).flatMap { int64(at: $0) }
    }

    /// Returns the value as `UInt64`: a non-negative INTEGER, or a REAL or TEXT as for `Int64`.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func uint64(forColumnName columnName: String) -> UInt64? {
        column(columnName).flatMap { uint64(at: $0) }
    }

    /// Returns the value as `UInt64`: a non-negative INTEGER, or a REAL or TEXT as for `Int64`.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func uint64(forColumnIndex columnIndex: Int) -> UInt64? {
        column(columnIndex).flatMap { uint64(at: $0) }
    }

    /// Returns the value as `Bool`: true for a number other than zero.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func bool(forColumnName columnName: String) -> Bool? {
        column(columnName).flatMap { bool(at: $0) }
    }

    /// Returns the value as `Bool`: true for a number other than zero.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func bool(forColumnIndex columnIndex: Int) -> Bool? {
        column(columnIndex).flatMap { bool(at: $0) }
    }

    /// Returns the value as `Double`: a REAL, an INTEGER that it holds exactly, or TEXT that spells
    /// a number.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func double(forColumnName columnName: String) -> Double? {
        column(columnName).flatMap { double(at: $0) }
    }

    /// Returns the value as `Double`: a REAL, an INTEGER that it holds exactly, or TEXT that spells
    /// a number.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func double(forColumnIndex columnIndex: Int) -> Double? {
        column(columnIndex).flatMap { double(at: $0) }
    }

    /// Returns the value as text: TEXT, a number as SQLite spells it (`7`, `1.0e+15`), or a BLOB
    /// that is UTF-8.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func string(forColumnName columnName: String) -> String? {
        column(columnName).flatMap { string(at: $0) }
    }

    /// Returns the value as text: TEXT, a number as SQLite spells it (`7`, `1.0e+15`), or a BLOB
    /// that is UTF-8.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func string(forColumnIndex columnIndex: Int) -> String? {
        column(columnIndex).flatMap { string(at: $0) }
    }

    /// Returns the value as a date: seconds since 1970-01-01 00:00:00 UTC, a number or TEXT that
    /// spells one.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func date(forColumnName columnName: String) -> Date? {
        column(columnName).flatMap { converted(at: $0) }
    }

    /// Returns the value as a date: seconds since 1970-01-01 00:00:00 UTC, a number or TEXT that
    /// spells one.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func date(forColumnIndex columnIndex: Int) -> Date? {
        column(columnIndex).flatMap { converted(at: $0) }
    }

    /// Returns the value as any type that a column can be read as.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or when no row is current.
    /// - Throws: `.typeConversionFailed` when the type cannot represent the value without loss.
    public func object<T: SQLiteDatatypeBridgeable>(forColumnName columnName: String) throws -> T? {
        try column(columnName).flatMap { try object(at: $0) }
    }

    /// Returns the value as any type that a column can be read as.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or when no row is current.
    /// - Throws: `.typeConversionFailed` when the type cannot represent the value without loss.
    public func object<T: SQLiteDatatypeBridgeable>(forColumnIndex columnIndex: Int) throws -> T? {
        try column(columnIndex).flatMap { try object(at: $0) }
    }
}

// MARK: - By position

extension SecureDatabaseResultSet {
    // Each getter tests the most common storage class first, without building a `SQLiteValue`.

    private func int(at index: Int) -> Int? {
        int64(at: index).flatMap { Int(exactly: $0) }
    }

    @inline(__always)
    private func int64(at index: Int) -> Int64? {
        let column = statement.column(index)
        return switch column.storageClass {
        case .integer: column.integer
        case .null: nil
        default: converted(at: index)
        }
    }

    @inline(__always)
    private func uint64(at index: Int) -> UInt64? {
        let column = statement.column(index)
        return switch column.storageClass {
        case .integer: UInt64(exactly: column.integer)
        case .null: nil
        default: converted(at: index)
        }
    }

    @inline(__always)
    private func bool(at index: Int) -> Bool? {
        let column = statement.column(index)
        return switch column.storageClass {
        case .integer: column.integer != 0
        case .null: nil
        default: converted(at: index)
        }
    }

    @inline(__always)
    private func double(at index: Int) -> Double? {
        let column = statement.column(index)
        return switch column.storageClass {
        case .real: column.real
        case .null: nil
        default: converted(at: index)
        }
    }

    @inline(__always)
    private func string(at index: Int) -> String? {
        let column = statement.column(index)
        return switch column.storageClass {
        // The engine formats the number.
        case .text, .real: column.text
        case .null: nil
        default: converted(at: index)
        }
    }

    /// Converts a value of a less common storage class.
    @inline(never)
    private func converted<T: SQLiteDatatypeBridgeable>(at index: Int) -> T? {
        statement.value(at: index).flatMap { T(sqliteValue: $0) }
    }

    private func object<T: SQLiteDatatypeBridgeable>(at index: Int) throws -> T? {
        guard statement.storageClass(at: index) != .null else { return nil }
        guard let object: T = converted(at: index) else {
            throw SecureStorageError.typeConversionFailed
        }
        return object
    }
}
