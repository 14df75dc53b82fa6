internal import CSecureStoragePlatform
internal import Foundation

/// A clock that measures idle time.
public protocol IdleClock: Sendable {
    /// The time since a fixed moment in the past; setting the machine's date never moves it back.
    ///
    /// Called by holders and vaults without a lock: it may drop or lock them, but not use them,
    /// since that reads the clock again.
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

/// The time since something was last used; none passes while it is in use.
///
/// Its caller passes the current time, so that no clock of an app is called under a lock.
package struct IdleTime {
    /// How long it may be unused before it counts as idle; nil for ever.
    private(set) var limit: Duration?
    private var lastUse: Duration
    private var users = 0

    package init(limit: Duration?, now: Duration) {
        self.limit = limit
        lastUse = now
    }

    package mutating func beginUse() { users += 1 }

    package mutating func endUse(at now: Duration) {
        users -= 1
        restart(at: now)
    }

    /// Begins again, as after a use.
    package mutating func restart(at now: Duration) {
        // Two threads may have read the clock in one order and come here in the other.
        lastUse = max(lastUse, now)
    }

    package mutating func restart(at now: Duration, limit: Duration?) {
        self.limit = limit
        restart(at: now)
    }

    /// Whether it is unused and the limit is reached.
    package func isOver(at now: Duration) -> Bool {
        users == 0 && left(at: now).map { $0 <= .zero } ?? false
    }

    /// How long the limit is away if no use begins; nil if there is none.
    package func left(at now: Duration) -> Duration? {
        limit.map { users > 0 ? $0 : $0 - (now - lastUse) }
    }
}
