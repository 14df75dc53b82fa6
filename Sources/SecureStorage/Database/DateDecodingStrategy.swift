public import Foundation

extension SecureDatabaseResultSet {
    /// The format in which the dates of decoded rows are stored.
    public enum DateDecodingStrategy: Sendable {
        /// Seconds since 1970, INTEGER or REAL, as this library stores a `Date`.
        case secondsSince1970
        /// Milliseconds since 1970, INTEGER or REAL.
        case millisecondsSince1970
        /// Text as SQLite's date functions write it: `YYYY-MM-DD`, optionally followed by ` HH:MM`,
        /// ` HH:MM:SS` or ` HH:MM:SS.SSS`, with `T` allowed in place of the space, and by `Z` or
        /// `±HH:MM`. Without a time zone the text is in UTC.
        case text
        /// The result of a closure that receives the stored value; errors it throws reach the
        /// caller.
        case custom(@Sendable (SQLiteValue) throws -> Date)

        /// Returns the date that `value` represents.
        ///
        /// - Throws: `.typeConversionFailed`; any error thrown by a custom closure.
        func date(from value: SQLiteValue) throws -> Date {
            let date: Date? =
                switch self {
                case .secondsSince1970: Date(sqliteValue: value)
                case .millisecondsSince1970:
                    Double(sqliteValue: value).map { Date(timeIntervalSince1970: $0 / 1000) }
                case .text: String(sqliteValue: value).flatMap(Self.date(fromText:))
                case .custom(let convert): try convert(value)
                }
            guard let date else { throw SecureStorageError.typeConversionFailed }
            return date
        }

        /// The equivalent strategy for dates inside JSON.
        var json: JSONDecoder.DateDecodingStrategy {
            switch self {
            case .secondsSince1970: .secondsSince1970
            case .millisecondsSince1970: .millisecondsSince1970
            case .text, .custom:
                .custom { decoder in
                    let container = try decoder.singleValueContainer()
                    if let number = try? container.decode(Int64.self) {
                        return try date(from: .integer(number))
                    }
                    if let number = try? container.decode(Double.self) {
                        return try date(from: .real(number))
                    }
                    return try date(from: .text(container.decode(String.self)))
                }
            }
        }

        private static func date(fromText text: String) -> Date? {
            let pattern =
                /(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?)?\s*(Z|([+-])(\d\d):(\d\d))?/
            guard let match = text.wholeMatch(of: pattern) else { return nil }
            func number(_ digits: Substring?) -> Int { digits.flatMap { Int($0) } ?? 0 }
            let (hours, minutes) = (number(match.10), number(match.11))
            guard hours <= 14, minutes <= 59,
                let time = CivilTime(
                    year: number(match.1), month: number(match.2), day: number(match.3),
                    hour: number(match.4), minute: number(match.5), second: number(match.6))
            else { return nil }
            let fraction = match.7.flatMap { Double("0\($0)") } ?? 0
            let offset = Double(hours * 3600 + minutes * 60) * (match.9 == "-" ? -1 : 1)
            return Date(timeIntervalSince1970: Double(time.seconds) + fraction - offset)
        }
    }
}
