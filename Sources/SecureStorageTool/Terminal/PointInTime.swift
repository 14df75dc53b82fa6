internal import ArgumentParser
internal import Foundation

/// A point in time as a user writes it: `2026-11-21T10:30`, or `-2h`.
struct PointInTime {
    let date: Date

    /// What a user may write.
    static let forms =
        "in ISO 8601 (2026-11-21T10:30, 2026-11-21T10:30:15.250Z), in the local time zone unless one is "
        + "given, or so long ago: -90s, -30m, -2h, -1d, -1w"

    /// - Throws: a usage error that says what is possible.
    static func argument(_ text: String) throws -> PointInTime {
        guard let point = PointInTime(text, now: Date(), timeZone: .current) else {
            throw ValidationError("\"\(text)\" is not a point in time; write it \(forms)")
        }
        return point
    }

    /// - Parameters:
    ///   - text: ISO 8601, or a minus, a number and a unit.
    ///   - now: What `-2h` counts from.
    ///   - timeZone: That of a text without one.
    init?(_ text: String, now: Date, timeZone: TimeZone) {
        // `\d` also matches the digits of other scripts.
        guard text.utf8.allSatisfy({ $0 < 0x80 }),
            let date = Self.before(now, text) ?? Self.parsed(text, timeZone)
        else { return nil }
        self.date = date
    }

    private static func before(_ now: Date, _ text: String) -> Date? {
        guard let match = text.wholeMatch(of: /-(\d{1,9})([smhdw])/), let count = Double(match.1)
        else { return nil }
        let seconds: Double =
            switch match.2 {
            case "s": 1
            case "m": 60
            case "h": 3600
            case "d": 24 * 3600
            default: 7 * 24 * 3600
            }
        return now - count * seconds
    }

    private static func parsed(_ text: String, _ timeZone: TimeZone) -> Date? {
        let form =
            /(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?(?: ?([Zz]|[+-]\d\d(?::?\d\d)?))?/
        guard let match = text.wholeMatch(of: form) else { return nil }
        func number(_ part: Substring?) -> Int { part.flatMap { Int($0) } ?? 0 }
        let parts = match.output
        let (year, month, day) = (number(parts.1), number(parts.2), number(parts.3))
        let (hour, minute, second) = (number(parts.4), number(parts.5), number(parts.6))
        guard let zone = parts.8.map({ Self.zone($0) }) ?? timeZone else { return nil }
        guard (1...12).contains(month), hour < 24, minute < 60, second < 60 else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let components = DateComponents(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        // A calendar takes the 31st of a shorter month for the next one's first.
        guard let date = calendar.date(from: components),
            calendar.component(.day, from: date) == day
        else { return nil }
        return date + (parts.7.flatMap { Double("0." + $0) } ?? 0)
    }

    private static func zone(_ text: Substring) -> TimeZone? {
        let digits = text.filter(\.isNumber)
        guard let sign = text.first, sign == "+" || sign == "-" else { return .gmt }
        let (hours, minutes) = (Int(digits.prefix(2)) ?? 0, Int(digits.dropFirst(2)) ?? 0)
        guard hours < 24, minutes < 60 else { return nil }
        return TimeZone(secondsFromGMT: (sign == "-" ? -60 : 60) * (hours * 60 + minutes))
    }

    /// Returns a date in a form that is read back as the same millisecond.
    static func text(_ date: Date, in timeZone: TimeZone = .current) -> String {
        let milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded())
        let seconds = Date(timeIntervalSince1970: Double(milliseconds.floored(by: 1000)))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        let parts = calendar.dateComponents(
            [.year, .month, .day, .hour, .minute, .second], from: seconds)
        func padded(_ number: Int?, _ width: Int = 2) -> String {
            let digits = String(number ?? 0)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let offset = timeZone.secondsFromGMT(for: seconds) / 60
        let zone =
            offset == 0
            ? "Z"
            : "\(offset < 0 ? "-" : "+")\(padded(abs(offset) / 60)):\(padded(abs(offset) % 60))"
        return "\(padded(parts.year, 4))-\(padded(parts.month))-\(padded(parts.day))"
            + "T\(padded(parts.hour)):\(padded(parts.minute)):\(padded(parts.second))"
            + ".\(padded(Int(milliseconds - milliseconds.floored(by: 1000) * 1000), 3))\(zone)"
    }

    /// As ``text(_:in:)``, for programs: in UTC.
    static func textInUTC(_ date: Date) -> String { text(date, in: .gmt) }
}

extension Int64 {
    /// Returns the quotient, rounded down.
    fileprivate func floored(by divisor: Int64) -> Int64 {
        self >= 0 ? self / divisor : (self - divisor + 1) / divisor
    }
}
