internal import SecureStoragePlatform

/// Holds an unwrapped data key, and drops it after a period without use.
///
/// The key is cleared when it is dropped: after the idle time, by ``drop()``, when another key is
/// held, or with the holder. Time asleep counts as idle, and setting the machine's date does not
/// affect whether ``withKey(_:)`` still gives access to the key. While the machine sleeps, its
/// memory still contains the key: if that matters, drop it when the system announces sleep.
///
/// Thread-safe; several threads may use the key.
public final class KeyHolder: Sendable {
    private let clock: any IdleClock
    private let state: Locked<State>

    private struct State {
        var key: DataEncryptionKey?
        var idle: IdleTime
        var timer = ExpiryTimer()

        mutating func clear() {
            key?.clear()
            key = nil
            timer.cancel()
        }

        mutating func clearIfIdle(at now: Duration) {
            if key != nil, idle.isOver(at: now) { clear() }
        }
    }

    /// Creates a holder without a key.
    ///
    /// - Parameters:
    ///   - idleTime: How long after the end of its last use the key is dropped.
    ///   - clock: For tests; the default keeps running while the machine sleeps.
    public init(idleTime: Duration, clock: some IdleClock = SystemIdleClock()) {
        self.clock = clock
        state = Locked(State(idle: IdleTime(limit: idleTime, now: clock.now)))
    }

    deinit { state.withLock { $0.clear() } }

    /// Whether a key is held.
    ///
    /// Reading this property does not count as use.
    public var isHolding: Bool {
        let now = clock.now
        return state.withLock { state in
            state.clearIfIdle(at: now)
            return state.key != nil
        }
    }

    /// Takes ownership of a key, and clears the one held before.
    ///
    /// - Parameter key: The holder clears it when it drops it: do not use it elsewhere.
    public func hold(_ key: DataEncryptionKey) {
        let now = clock.now
        state.withLock { state in
            if state.key !== key { state.clear() }
            state.key = key
            state.idle.restart(at: now)
            startTimer(&state, at: now)
        }
    }

    /// Passes the key to `body`, which counts as use until `body` returns.
    ///
    /// - Parameter body: Receives the key and must not keep it. ``drop()`` on another thread clears
    ///   the key even while it is in use.
    /// - Returns: The result of `body`.
    /// - Throws: `EnvelopeError.locked` if no key is held; errors of `body`.
    public func withKey<R>(_ body: (DataEncryptionKey) throws -> R) throws -> R {
        let now = clock.now
        let key = try state.withLock { state in
            state.clearIfIdle(at: now)
            guard let key = state.key else { throw EnvelopeError.locked }
            state.idle.beginUse()
            return key
        }
        defer {
            let now = clock.now
            state.withLock { $0.idle.endUse(at: now) }
        }
        return try body(key)
    }

    /// Drops the key now.
    ///
    /// Does nothing if no key is held.
    public func drop() {
        state.withLock { $0.clear() }
    }

    private func startTimer(_ state: inout State, at now: Duration) {
        guard let left = state.idle.left(at: now) else { return }
        state.timer.start(after: left) { [weak self] in self?.timerFired() }
    }

    private func timerFired() {
        let now = clock.now
        state.withLock { state in
            state.clearIfIdle(at: now)
            if state.key != nil { startTimer(&state, at: now) }
        }
    }
}

extension KeyHolder: CustomStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
