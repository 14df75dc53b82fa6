internal import Foundation

/// The time of a file's last write, as reported by the system.
struct ModificationTime: Equatable {
    /// Seconds since 1970, and nanoseconds; empty if the file's status cannot be read.
    private let parts: [Int64]
    private let noted: Double

    init(_ file: RawFile) {
        // Taken before reading the file's time: a change in between has a later time.
        noted = Date().timeIntervalSince1970
        parts = file.modified
    }

    static func == (one: Self, other: Self) -> Bool { one.parts == other.parts }

    /// Whether another change would get a different time.
    ///
    /// System timestamps advance in ticks of some milliseconds, on some file systems in whole
    /// seconds. A time in the future is not a tick that has just begun.
    var isSettled: Bool {
        guard parts.count == 2 else { return false }
        let age = abs(noted - (Double(parts[0]) + Double(parts[1]) / 1e9))
        return age > (parts[1] == 0 ? 2 : 0.05)
    }
}
