internal import SecureStoragePlatform
public import Vaults

/// A clock that a test sets, because a test cannot wait for days.
///
/// Thread-safe.
public final class ManualClock: IdleClock {
    private let time: Locked<Duration>

    /// Creates a stopped clock.
    ///
    /// - Parameter now: The initial time.
    public init(now: Duration = .seconds(1_000)) { time = Locked(now) }

    /// The current time of the clock.
    public var now: Duration { time.withLock { $0 } }

    /// Advances the clock.
    ///
    /// - Parameter duration: The time to add.
    public func advance(by duration: Duration) { time.withLock { $0 += duration } }
}
