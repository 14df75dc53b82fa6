internal import Foundation

/// A clock for how long something was idle.
public protocol IdleClock: Sendable {
    /// The time since some moment in the past; it never goes back, whoever sets the machine's date.
    var now: Duration { get }
}

/// The system's clock that goes on while the machine sleeps.
///
/// The corresponding C functions are
/// [`clock_gettime`](https://man7.org/linux/man-pages/man2/clock_gettime.2.html) with
/// `CLOCK_BOOTTIME` on Linux, and `mach_continuous_time` on Apple platforms.
public struct SystemIdleClock: IdleClock {
    /// The clock; all of them tell the same time.
    public init() {}

    /// The time since the machine started.
    public var now: Duration {
        #if canImport(Darwin)
            let clock = CLOCK_MONOTONIC_RAW  // what mach_continuous_time counts, in nanoseconds
        #else
            let clock = CLOCK_BOOTTIME
        #endif
        var time = timespec()
        // It cannot fail with a clock that the system has.
        _ = clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
