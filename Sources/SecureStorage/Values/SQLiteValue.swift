public import Foundation

/// A value as SQLite stores it: one of its five
/// [storage classes](https://sqlite.org/datatype3.html).
public enum SQLiteValue: Sendable, Equatable {
    /// NULL.
    case null
    /// INTEGER, 64 bits, signed.
    case integer(Int64)
    /// REAL, an IEEE 754 double. Infinities are kept; SQLite stores NaN as NULL.
    case real(Double)
    /// TEXT, UTF-8 of up to a billion bytes. Embedded NULs are kept.
    case text(String)
    /// BLOB. Zero bytes are an empty blob, not NULL.
    case blob(Data)
}

extension SQLiteValue {
    /// Whether both are of one storage class and equal as SQLite compares them: texts by their
    /// bytes, so that composed and decomposed letters differ, numbers by their amount.
    public static func == (left: SQLiteValue, right: SQLiteValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left == right
        case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
        case (.blob(let left), .blob(let right)): left == right
        default: false
        }
    }
}

extension SQLiteValue: SQLiteDatatypeBridgeable {
    /// The value itself.
    public var sqliteValue: SQLiteValue { self }

    /// The value itself.
    public init?(sqliteValue: SQLiteValue) { self = sqliteValue }
}

extension SQLiteValue {
    /// The value of a column in the library's own form: nil is NULL, a `Date` REAL, seconds since
    /// 1970 to the microsecond.
    ///
    /// - Throws: `.typeConversionFailed` for a value that SQLite cannot hold.
    init(storing value: (any SQLiteDatatypeBridgeable)?) throws {
        if let date = value as? Date {
            self = .real(try date.microsecondsRounded)
        } else {
            self = try value?.sqliteValue ?? .null
        }
    }
}

extension Date {
    /// Seconds since 1970 to the microsecond: what is read back is written again as the same
    /// number.
    ///
    /// - Throws: `.typeConversionFailed` for a date that is not finite.
    var microsecondsRounded: Double {
        get throws {
            let seconds = timeIntervalSince1970
            guard seconds.isFinite else { throw SecureStorageError.typeConversionFailed }
            let whole = seconds.rounded(.down)
            return whole + ((seconds - whole) * 1_000_000).rounded() / 1_000_000
        }
    }
}

/// How a value is stored, before any conversion: one of SQLite's five
/// [storage classes](https://sqlite.org/datatype3.html).
///
/// It is a property of each value, not of its column.
public enum SQLiteStorageClass: Sendable, CaseIterable {
    /// NULL.
    case null
    /// INTEGER.
    case integer
    /// REAL.
    case real
    /// TEXT.
    case text
    /// BLOB.
    case blob
}
