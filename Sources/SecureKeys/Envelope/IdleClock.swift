internal import CSecureStoragePlatform
internal import Foundation

/// A clock that measures idle time.
public protocol IdleClock: Sendable {
    /// The time since a fixed moment in the past; setting the machine's date never moves it back.
    var now: Duration { get }
}

/// The system clock that keeps running while the machine sleeps.
///
/// The corresponding C functions are
/// [`clock_gettime`](https://man7.org/linux/man-pages/man2/clock_gettime.2.html) with
/// `CLOCK_BOOTTIME` on Linux, and `mach_continuous_time` on Apple platforms.
public struct SystemIdleClock: IdleClock {
    /// Creates the clock; all instances show the same time.
    public init() {}

    /// The time since the machine started.
    public var now: Duration {
        .nanoseconds(cplatform_uptime())
    }
}
