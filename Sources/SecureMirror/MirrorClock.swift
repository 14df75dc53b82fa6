internal import Foundation
internal import SecureStoragePlatform

/// The times of what a mirror stores: they never go back, whatever the machine's clock does.
///
/// Between readings, the machine's uptime is a second witness. A clock that jumps is believed after
/// a minute, so that one that was wrong for seconds leaves no trace. What nobody can notice is a
/// clock that is wrong from the start of the mirror on, and later than everything in the store.
///
/// Thread-safe.
final class MirrorClock: Sendable {
    private let wall: @Sendable () -> Date
    /// nil: the wall clock has no witness.
    private let uptime: (@Sendable () -> Duration)?
    private let state = Locked(State())

    private struct State {
        /// The wall clock's difference to the uptime, in milliseconds.
        var offset: Int64?
        /// Another one that it had later, and since when.
        var jump: (offset: Int64, since: Int64)?
        /// The latest time in the store.
        var latest: UInt64 = 0
        /// The latest of a state.
        var latestState: UInt64 = 0
        /// What may be taken for the time when something is removed.
        var trusted: UInt64?
        /// The uptime then.
        var trustedAt: Int64 = 0
        var hasRemoved = false
    }

    /// Less than this is not a jump: clocks are adjusted in small steps, too.
    private static let tolerance: Int64 = 2000
    /// How long a jump has to last.
    private static let patience: Int64 = 60_000
    /// What may have passed since the newest object that was there at the start.
    private static let longestPause: UInt64 = 24 * 3_600_000

    init(
        _ wall: @escaping @Sendable () -> Date, uptime: (@Sendable () -> Duration)? = nil
    ) {
        self.wall = wall
        self.uptime = uptime
    }

    /// The machine's clock, with its uptime as the witness.
    convenience init() {
        let start = ContinuousClock.now
        self.init({ Date() }, uptime: { .now - start })
    }

    /// The time for a new object, in milliseconds since 1970: not before any in the store.
    func next() -> UInt64 {
        state.withLock { state in
            let now = now(&state)
            state.latest = now < state.latest ? state.latest + 1 : now
            return state.latest
        }
    }

    /// The time for a new state.
    func nextOfState() -> UInt64 {
        let time = next()
        state.withLock { $0.latestState = max($0.latestState, time) }
        return time
    }

    /// The time for a generation's manifest: later than all states before, so that a time tells
    /// which generation has its state.
    func nextOfGeneration() -> UInt64 {
        state.withLock { state in
            let now = now(&state)
            state.latest = max(now, state.latest, state.latestState + 1)
            state.latestState = state.latest
            return state.latest
        }
    }

    /// The time as far as it is known; may be earlier than that of the newest object, if that was
    /// stored with a wrong clock.
    var now: UInt64 { state.withLock { now(&$0) } }

    /// Takes note of the newest time in the store.
    func note(_ time: UInt64) {
        let time = min(time, UInt64(Int64.max))
        state.withLock { state in
            state.latest = max(state.latest, time)
            state.latestState = max(state.latestState, time)
            if state.trusted == nil { (state.trusted, state.trustedAt) = (time, up ?? 0) }
        }
    }

    private func now(_ state: inout State) -> UInt64 {
        let now = milliseconds(wall().timeIntervalSince1970)
        guard let up else { return UInt64(max(now, 0)) }
        let seen = now - up
        let offset = state.offset ?? seen
        // What is earlier than the store is known to be wrong: a jump can only make it better.
        let isKnownWrong = offset + up < Int64(clamping: state.latest) && seen > offset
        if abs(seen - offset) <= Self.tolerance || isKnownWrong {
            (state.offset, state.jump) = (seen, nil)
        } else if let jump = state.jump, abs(jump.offset - seen) <= Self.tolerance {
            if up - jump.since >= Self.patience { (state.offset, state.jump) = (seen, nil) }
        } else {
            state.jump = (seen, up)
        }
        return UInt64(max((state.offset ?? offset) + up, 0))
    }

    private var up: Int64? { uptime.map { milliseconds($0() / .seconds(1)) } }

    private func milliseconds(_ seconds: Double) -> Int64 {
        Int64(min(max(seconds * 1000, 0), 1e15))
    }

    // MARK: - Removing

    /// The time that decides what is removed.
    ///
    /// It begins at most a day after the newest object that was in the store, and continues with
    /// the uptime: a clock that is years ahead removes what a day would. After a longer pause it
    /// stays behind until the next start; then less is removed.
    func nextForRemoval() -> UInt64 {
        state.withLock { state in
            let (now, up) = (now(&state), up)
            var limit = state.trusted ?? state.latest
            if let up { limit += UInt64(max(up - state.trustedAt, 0)) }
            if up == nil || !state.hasRemoved { limit += Self.longestPause }
            (state.trusted, state.trustedAt) = (min(now, limit), up ?? 0)
            state.hasRemoved = true
            return min(now, limit)
        }
    }

}
