internal import Foundation

/// How long a statement takes: on the clock, and on the processor.
struct StatementTimer {
    private let start = ContinuousClock.now
    private let usage = Self.usage()

    /// The times since the timer was made, in seconds.
    var description: String {
        let real = ContinuousClock.now - start
        let now = Self.usage()
        return String(
            format: "time %.3f s, user %.3f, system %.3f",
            Double(real.components.seconds) + Double(real.components.attoseconds) / 1e18,
            Self.seconds(now.ru_utime) - Self.seconds(usage.ru_utime),
            Self.seconds(now.ru_stime) - Self.seconds(usage.ru_stime))
    }

    private static func usage() -> rusage {
        var usage = rusage()
        #if canImport(Darwin)
            _ = getrusage(RUSAGE_SELF, &usage)
        #else
            _ = getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #endif
        return usage
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }
}
