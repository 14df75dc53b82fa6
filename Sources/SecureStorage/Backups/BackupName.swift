internal import Foundation

/// The names of the copies of one schedule, such as `notes-20261124T151230.123Z.db`.
///
/// Their order is that of their times.
struct BackupName {
    let name: String

    /// - Parameter name: The beginning of each name.
    /// - Throws: `.backingStoreError` code `.misuse` for a name that no file can begin with.
    init(_ name: String) throws {
        // With the time, at most 255 bytes.
        guard (1...180).contains(name.utf8.count), !name.hasPrefix("."),
            !name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
        else {
            throw SecureStorageError.statementFailed(
                .misuse,
                "the name of a schedule of backups has 1 to 180 bytes, does not begin with a dot, and "
                    + "contains no slash and no NUL")
        }
        self.name = name
    }

    /// The copy that is not finished.
    var unfinished: String { ".\(name)-unfinished.db" }

    /// The lock that lets one schedule at a time use the names.
    var lock: String { ".\(name)-backups.lock" }

    /// Returns the name of a copy that was begun at a time, in milliseconds since 1970.
    func file(at milliseconds: Int64, isVerified: Bool) -> String {
        "\(name)-\(Self.text(milliseconds))" + (isVerified ? ".db" : "-unverified.db")
    }

    /// Reads a name; nil for any that this type does not make.
    func read(_ file: String) -> (milliseconds: Int64, isVerified: Bool)? {
        guard file.hasPrefix(name + "-"), file.hasSuffix(".db") else { return nil }
        let isVerified = !file.hasSuffix("-unverified.db")
        let digits = file.utf8.dropFirst(name.utf8.count + 1).prefix(15 + 5)
        guard let milliseconds = Self.milliseconds(Array(digits)),
            self.file(at: milliseconds, isVerified: isVerified) == file
        else { return nil }
        return (milliseconds, isVerified)
    }

    // MARK: - Times

    /// The milliseconds of a date, as near to it as the four digits of a year permit.
    static func milliseconds(of date: Date) -> Int64 {
        let seconds = date.timeIntervalSince1970
        // NaN is not a time either.
        guard seconds > 0 else { return 0 }
        return Int64(min(seconds * 1000, 253_402_300_799_000).rounded(.down))
    }

    /// `20261124T151230.123Z`.
    private static func text(_ milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(count - text.utf8.count, 0)) + text
        }
        return digits(Int(parts.tm_year) + 1900, 4) + digits(Int(parts.tm_mon) + 1, 2)
            + digits(Int(parts.tm_mday), 2) + "T" + digits(Int(parts.tm_hour), 2)
            + digits(Int(parts.tm_min), 2) + digits(Int(parts.tm_sec), 2) + "."
            + digits(Int(milliseconds % 1000), 3) + "Z"
    }

    /// Reads digits where `text` has them; what is between them is compared by `read`.
    private static func milliseconds(_ text: [UInt8]) -> Int64? {
        guard text.count == 20 else { return nil }
        func number(_ range: Range<Int>) -> Int32? {
            text[range].reduce(Int32?(0)) { sum, byte in
                guard let sum, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else {
                    return nil
                }
                return sum * 10 + Int32(byte - UInt8(ascii: "0"))
            }
        }
        guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8),
            let hour = number(9..<11), let minute = number(11..<13), let second = number(13..<15),
            let millisecond = number(16..<19), year >= 1970
        else { return nil }
        var parts = tm()
        parts.tm_year = year - 1900
        parts.tm_mon = month - 1
        parts.tm_mday = day
        parts.tm_hour = hour
        parts.tm_min = minute
        parts.tm_sec = second
        return Int64(timegm(&parts)) * 1000 + Int64(millisecond)
    }
}
