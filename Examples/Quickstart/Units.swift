import Foundation

/// Numbers as people read them, alike on every machine.
enum Units {
    /// `1,234,567`.
    static func count(_ number: Int) -> String {
        var digits = String(number.magnitude)
        var groups: [Substring] = []
        while digits.count > 3 {
            groups.insert(digits.suffix(3), at: 0)
            digits.removeLast(3)
        }
        return (number < 0 ? "-" : "") + ([digits[...]] + groups).joined(separator: ",")
    }

    /// `1 package`, `2 packages`.
    static func count(_ number: Int, _ noun: String) -> String {
        "\(count(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// `611.2 KiB`.
    static func bytes(_ number: Int) -> String { scaled(Double(number), from: 0) }

    /// The same of a number of KiB, however large: it may be no more than a claim in a file.
    static func kibibytes(_ number: Int) -> String { scaled(Double(number), from: 1) }

    /// `12 ms`, `1.23 s`.
    static func time(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        return seconds < 1
            ? String(format: "%.0f ms", seconds * 1000) : String(format: "%.2f s", seconds)
    }

    /// `3.14`.
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
