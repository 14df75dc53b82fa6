public import Foundation

// Maps Swift and Foundation types to SQLite's storage classes. Reading converts a value if nothing
// is lost: an INTEGER that a Double holds exactly becomes a Double, a REAL without a fraction an
// Int, and TEXT that spells a number that number. A value that cannot be represented becomes nil,
// never a wrapped number.

extension String: SQLiteDatatypeBridgeable {
    /// TEXT.
    public var sqliteValue: SQLiteValue { .text(self) }

    /// Converts TEXT, a number to SQLite's spelling (`7`, `1.0e+15`, `Inf`), or a UTF-8 BLOB.
    public init?(sqliteValue: SQLiteValue) {
        switch sqliteValue {
        case .text(let text): self = text
        case .integer(let number): self = String(number)
        case .real(let number): self = NumberText.text(of: number)
        case .blob(let bytes):
            guard let text = String(bytes: bytes, encoding: .utf8) else { return nil }
            self = text
        case .null: return nil
        }
    }
}

extension Data: SQLiteDatatypeBridgeable {
    /// BLOB.
    public var sqliteValue: SQLiteValue { .blob(self) }

    /// Converts a BLOB, or TEXT to its UTF-8 bytes.
    public init?(sqliteValue: SQLiteValue) {
        switch sqliteValue {
        case .blob(let bytes): self = bytes
        case .text(let text): self = Data(text.utf8)
        case .null, .integer, .real: return nil
        }
    }
}

extension Array: SQLiteColumnReadable, SQLiteDatatypeBridgeable where Element == UInt8 {
    /// BLOB.
    public var sqliteValue: SQLiteValue { .blob(Data(self)) }

    /// Converts a BLOB, or TEXT to its UTF-8 bytes.
    public init?(sqliteValue: SQLiteValue) {
        switch sqliteValue {
        case .blob(let bytes): self.init(bytes)
        case .text(let text): self.init(text.utf8)
        case .null, .integer, .real: return nil
        }
    }
}

extension Date: SQLiteDatatypeBridgeable {
    /// INTEGER, whole seconds since 1970-01-01 00:00:00 UTC, rounded down.
    ///
    /// - Throws: `.typeConversionFailed` for a date that is not finite or out of range.
    public var sqliteValue: SQLiteValue {
        get throws {
            guard let seconds = Int64(exactly: timeIntervalSince1970.rounded(.down)) else {
                throw SecureStorageError.typeConversionFailed
            }
            return .integer(seconds)
        }
    }

    /// Converts seconds since 1970: INTEGER, REAL, or TEXT that spells a finite number, as SQLite
    /// stores a number in a TEXT column.
    public init?(sqliteValue: SQLiteValue) {
        switch sqliteValue {
        case .integer(let seconds):
            guard let seconds = TimeInterval(exactly: seconds) else { return nil }
            self.init(timeIntervalSince1970: seconds)
        case .real(let seconds): self.init(timeIntervalSince1970: seconds)
        case .text(let text):
            guard let seconds = NumberText.number(in: text), seconds.isFinite else { return nil }
            self.init(timeIntervalSince1970: seconds)
        case .null, .blob: return nil
        }
    }
}

extension Bool: SQLiteDatatypeBridgeable {
    /// INTEGER, 1 or 0.
    public var sqliteValue: SQLiteValue { .integer(self ? 1 : 0) }

    /// Converts a number: false for zero, true for any other.
    public init?(sqliteValue: SQLiteValue) {
        if case .integer(let number) = sqliteValue {
            self = number != 0
        } else {
            guard let number = Double(sqliteValue: sqliteValue) else { return nil }
            self = number != 0
        }
    }
}

extension Double: SQLiteDatatypeBridgeable {
    /// REAL; SQLite stores NaN as NULL.
    public var sqliteValue: SQLiteValue { .real(self) }

    /// Converts a REAL, an INTEGER that a `Double` holds exactly (any up to 2^53), or TEXT that
    /// spells a number, rounded to the nearest `Double`.
    public init?(sqliteValue: SQLiteValue) {
        switch sqliteValue {
        case .real(let number): self = number
        case .integer(let number):
            guard let number = Double(exactly: number) else { return nil }
            self = number
        case .text(let text):
            guard let number = NumberText.number(in: text) else { return nil }
            self = number
        case .null, .blob: return nil
        }
    }
}

extension Float: SQLiteDatatypeBridgeable {
    /// REAL; SQLite stores NaN as NULL.
    public var sqliteValue: SQLiteValue { .real(Double(self)) }

    /// Converts a REAL, or TEXT that spells a number, rounded to the nearest `Float`, or an INTEGER
    /// that a `Float` holds exactly (any up to 2^24).
    ///
    /// nil for a finite number outside of its range.
    public init?(sqliteValue: SQLiteValue) {
        if case .integer(let number) = sqliteValue {
            guard let number = Float(exactly: number) else { return nil }
            self = number
            return
        }
        guard let number = Double(sqliteValue: sqliteValue) else { return nil }
        self = Float(number)
        if isInfinite, number.isFinite { return nil }
    }
}

/// The conversions of the fixed-width integers: INTEGER in both directions, range-checked.
extension SQLiteDatatypeBridgeable where Self: FixedWidthInteger {
    /// INTEGER.
    ///
    /// - Throws: `.typeConversionFailed` for a number above `Int64.max`.
    public var sqliteValue: SQLiteValue {
        get throws {
            guard let number = Int64(exactly: self) else {
                throw SecureStorageError.typeConversionFailed
            }
            return .integer(number)
        }
    }

    /// Converts an INTEGER in range, a REAL without a fraction, or TEXT that spells one of these.
    public init?(sqliteValue: SQLiteValue) {
        switch sqliteValue {
        case .integer(let number): self.init(exactly: number)
        case .real(let number): self.init(exactly: number)
        case .text(let text):
            if let number = Self(text) {
                self = number
            } else {
                guard let number = NumberText.number(in: text) else { return nil }
                self.init(exactly: number)
            }
        case .null, .blob: return nil
        }
    }
}

extension Int: SQLiteDatatypeBridgeable {}
extension Int8: SQLiteDatatypeBridgeable {}
extension Int16: SQLiteDatatypeBridgeable {}
extension Int32: SQLiteDatatypeBridgeable {}
extension Int64: SQLiteDatatypeBridgeable {}
extension UInt: SQLiteDatatypeBridgeable {}
extension UInt8: SQLiteDatatypeBridgeable {}
extension UInt16: SQLiteDatatypeBridgeable {}
extension UInt32: SQLiteDatatypeBridgeable {}
extension UInt64: SQLiteDatatypeBridgeable {}
