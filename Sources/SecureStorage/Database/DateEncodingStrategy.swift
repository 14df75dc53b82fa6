public import Foundation

extension SecureDatabaseStore {
    /// The format in which the dates of records are stored.
    ///
    /// ``SecureDatabaseResultSet/DateDecodingStrategy`` reads what it writes.
    public enum DateEncodingStrategy: Sendable {
        /// Seconds since 1970, REAL, to the microsecond.
        case secondsSince1970
        /// Whole seconds since 1970, INTEGER, rounded down, as `executeUpdate` binds a `Date`.
        case wholeSecondsSince1970
        /// Milliseconds since 1970, INTEGER, rounded to the nearest.
        case millisecondsSince1970
        /// Text in UTC as SQLite's date functions write it: `YYYY-MM-DD HH:MM:SS.SSS`.
        case text
        /// The result of a closure; errors it throws reach the caller.
        case custom(@Sendable (Date) throws -> SQLiteValue)

        /// Returns what is stored for a date.
        ///
        /// - Throws: `.typeConversionFailed` for a date that is not finite or out of the format's
        ///   range; any error thrown by a custom closure.
        func value(of date: Date) throws -> SQLiteValue {
            switch self {
            case .secondsSince1970: return .real(try date.microsecondsRounded)
            case .wholeSecondsSince1970: return try date.sqliteValue
            case .millisecondsSince1970:
                let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
                guard let milliseconds = Int64(exactly: milliseconds) else {
                    throw SecureStorageError.typeConversionFailed
                }
                return .integer(milliseconds)
            case .text: return .text(try Self.text(of: date))
            case .custom(let convert): return try convert(date)
            }
        }

        /// The equivalent strategy for dates inside JSON.
        var json: JSONEncoder.DateEncodingStrategy {
            .custom { date, encoder in
                var container = encoder.singleValueContainer()
                switch try value(of: date) {
                case .integer(let number): try container.encode(number)
                case .real(let number): try container.encode(number)
                case .text(let text): try container.encode(text)
                case .null: try container.encodeNil()
                case .blob: throw SecureStorageError.typeConversionFailed
                }
            }
        }

        private static func text(of date: Date) throws -> String {
            let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
            // The years 0 to 9999.
            guard (-62_167_219_200_000..<253_402_300_800_000).contains(milliseconds) else {
                throw SecureStorageError.typeConversionFailed
            }
            let seconds = (milliseconds / 1000).rounded(.down)
            let time = CivilTime(seconds: Int(seconds))
            return String(
                format: "%04d-%02d-%02d %02d:%02d:%02d.%03d", time.year, time.month, time.day,
                time.hour, time.minute, time.second, Int(milliseconds - seconds * 1000))
        }
    }
}
