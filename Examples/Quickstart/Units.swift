import Foundation

/// Formats numbers for people, identically on every machine.
enum Units {
    /// Formats a number as in `1,234,567`.
    static func count(_ number: Int) -> String {
        var digits = String(number.magnitude)
        var groups: [Substring] = []
        while digits.count > 3 {
            groups.insert(digits.suffix(3), at: 0)
            digits.removeLast(3)
        }
        return (number < 0 ? "-" : "") + ([digits[...]] + groups).joined(separator: ",")
    }

    /// Formats a number with a noun, as in `1 package` and `2 packages`.
    static func count(_ number: Int, _ noun: String) -> String {
        "\(count(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// Formats a number of bytes, as in `611.2 KiB`.
    static func bytes(_ number: Int) -> String { scaled(Double(number), from: 0) }

    /// Formats a number of KiB, which may be arbitrarily large because a file may claim anything.
    static func kibibytes(_ number: Int) -> String { scaled(Double(number), from: 1) }

    /// Formats a duration, as in `12 ms` and `1.23 s`.
    static func time(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        return seconds < 1
            ? String(format: "%.0f ms", seconds * 1000) : String(format: "%.2f s", seconds)
    }

    /// Formats a number as in `3.14`.
    static func decimal(_ number: Double) -> String { String(format: "%.2f", number) }

    private static func scaled(_ number: Double, from first: Int) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB"]
        var number = number
        var unit = first
        while abs(number) >= 1024, unit < units.count - 1 {
            number /= 1024
            unit += 1
        }
        return String(format: unit == 0 ? "%.0f " : "%.1f ", number) + units[unit]
    }
}
