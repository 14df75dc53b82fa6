// Further numeric widths, with the same rules as the getters in `SecureDatabaseResultSet+Columns`.

extension SecureDatabaseResultSet {
    /// Returns the value as `Int8`: an INTEGER in its range, or a REAL or TEXT as for `int`.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func int8(forColumnName columnName: String) -> Int8? {
        self[columnName].flatMap { Int8(sqliteValue: $0) }
    }

    /// Returns the value as `Int8`: an INTEGER in its range, or a REAL or TEXT as for `int`.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func int8(forColumnIndex columnIndex: Int) -> Int8? {
        self[columnIndex].flatMap { Int8(sqliteValue: $0) }
    }

    /// Returns the value as `Int16`: an INTEGER in its range, or a REAL or TEXT as for `int`.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func int16(forColumnName columnName: String) -> Int16? {
        self[columnName].flatMap { Int16(sqliteValue: $0) }
    }

    /// Returns the value as `Int16`: an INTEGER in its range, or a REAL or TEXT as for `int`.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func int16(forColumnIndex columnIndex: Int) -> Int16? {
        self[columnIndex].flatMap { Int16(sqliteValue: $0) }
    }

    /// Returns the value as `Int32`: an INTEGER in its range, or a REAL or TEXT as for `int`.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func int32(forColumnName columnName: String) -> Int32? {
        self[columnName].flatMap { Int32(sqliteValue: $0) }
    }

    /// Returns the value as `Int32`: an INTEGER in its range, or a REAL or TEXT as for `int`.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func int32(forColumnIndex columnIndex: Int) -> Int32? {
        self[columnIndex].flatMap { Int32(sqliteValue: $0) }
    }

    /// Returns the value as `Float`: a REAL or TEXT that spells a number, rounded to the nearest
    /// `Float`, or an INTEGER that it holds exactly.
    ///
    /// - Parameter columnName: A case-insensitive name.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func float(forColumnName columnName: String) -> Float? {
        self[columnName].flatMap { Float(sqliteValue: $0) }
    }

    /// Returns the value as `Float`: a REAL or TEXT that spells a number, rounded to the nearest
    /// `Float`, or an INTEGER that it holds exactly.
    ///
    /// - Parameter columnIndex: Zero-based.
    /// - Returns: nil for NULL, a missing column, or a value that does not fit.
    public func float(forColumnIndex columnIndex: Int) -> Float? {
        self[columnIndex].flatMap { Float(sqliteValue: $0) }
    }
}
