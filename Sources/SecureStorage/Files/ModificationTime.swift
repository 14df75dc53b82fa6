internal import Foundation

/// When a file was last written to, as the system says.
struct ModificationTime: Equatable {
    /// Seconds since 1970, and nanoseconds; empty for a file that cannot be asked.
    private let parts: [Int]
    private let asked: Double

    init(_ file: RawFile) {
        // Before: a change in between is later than this.
        asked = Date().timeIntervalSince1970
        parts = file.modified
    }

    static func == (one: Self, other: Self) -> Bool { one.parts == other.parts }

    /// Whether another change would have had another time: the system's times go by ticks of some
    /// milliseconds, and those of some file systems by whole seconds.
    ///
    /// A time in the future is no tick that has just begun.
    var isSettled: Bool {
        guard parts.count == 2 else { return false }
        let age = abs(asked - (Double(parts[0]) + Double(parts[1]) / 1e9))
        return age > (parts[1] == 0 ? 2 : 0.05)
    }
}
