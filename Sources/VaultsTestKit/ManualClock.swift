internal import Foundation
public import Vaults

/// A clock that a test sets: what depends on days cannot wait for them.
///
/// Thread-safe.
public final class ManualClock: IdleClock, @unchecked Sendable {
    // @unchecked: `time` is only touched under `lock`.
    private let lock = NSLock()
    private var time: Duration

    /// A clock that stands still.
    ///
    /// - Parameter now: What it shows.
    public init(now: Duration = .seconds(1_000)) { time = now }

    /// What it shows.
    public var now: Duration { lock.withLock { time } }

    /// Sets it forward.
    ///
    /// - Parameter duration: By how much.
    public func advance(by duration: Duration) { lock.withLock { time += duration } }
}
