internal import Foundation
public import Vaults

/// A clock that a test sets, because a test cannot wait for days.
///
/// Thread-safe.
public final class ManualClock: IdleClock, @unchecked Sendable {
    // @unchecked: `time` is accessed only under `lock`.
    private let lock = NSLock()
    private var time: Duration

    /// Creates a stopped clock.
    ///
    /// - Parameter now: The initial time.
    public init(now: Duration = .seconds(1_000)) { time = now }

    /// The current time of the clock.
    public var now: Duration { lock.withLock { time } }

    /// Advances the clock.
    ///
    /// - Parameter duration: The time to add.
    public func advance(by duration: Duration) { lock.withLock { time += duration } }
}
