internal import Platform

/// Holds an unwrapped data key, and drops it after a period without use.
///
/// The key is cleared when it is dropped: after the idle time, by ``drop()``, when another key is
/// held, or with the holder. Time asleep counts as idle, and setting the machine's date does not
/// affect whether ``withKey(_:)`` still lends the key. While the machine sleeps, its memory still
/// contains the key: if that matters, drop it when the system announces sleep.
///
/// Thread-safe; the key may be lent to several threads.
public final class KeyHolder: Sendable {
    private let idleTime: Duration
    private let clock: any IdleClock
    private let state = Locked(State())

    private struct State {
        var key: DataEncryptionKey?
        var lastUse: Duration = .zero
        var users = 0
        var timer = ExpiryTimer()

        mutating func clear() {
            key?.clear()
            key = nil
            timer.cancel()
        }
    }

    /// Creates a holder without a key.
    ///
    /// - Parameters:
    ///   - idleTime: How long after the end of its last use the key is dropped.
    ///   - clock: For tests; the default keeps running while the machine sleeps.
    public init(idleTime: Duration, clock: some IdleClock = SystemIdleClock()) {
        self.idleTime = idleTime
        self.clock = clock
    }

    deinit { state.withLock { $0.clear() } }

    /// Whether a key is held.
    ///
    /// Reading this property does not count as use.
    public var isHolding: Bool {
        state.withLock { state in
            dropIfIdle(&state)
            return state.key != nil
        }
    }

    /// Takes ownership of a key, and clears the one held before.
    ///
    /// - Parameter key: The holder clears it when it drops it: do not use it elsewhere.
    public func hold(_ key: DataEncryptionKey) {
        state.withLock { state in
            if state.key !== key { state.clear() }
            state.key = key
            state.lastUse = clock.now
            startTimer(&state)
        }
    }

    /// Lends the key to `body`, which counts as use until `body` returns.
    ///
    /// - Parameter body: Receives the key and must not keep it. ``drop()`` on another thread clears
    ///   the key even while it is lent.
    /// - Returns: The result of `body`.
    /// - Throws: `EnvelopeError.locked` if no key is held; errors of `body`.
    public func withKey<R>(_ body: (DataEncryptionKey) throws -> R) throws -> R {
        let key = try state.withLock { state in
            dropIfIdle(&state)
            guard let key = state.key else { throw EnvelopeError.locked }
            state.users += 1
            return key
        }
        defer {
            state.withLock { state in
                state.users -= 1
                state.lastUse = clock.now
            }
        }
        return try body(key)
    }

    /// Drops the key now.
    ///
    /// Does nothing if no key is held.
    public func drop() {
        state.withLock { $0.clear() }
    }

    private func dropIfIdle(_ state: inout State) {
        guard state.key != nil, state.users == 0, clock.now - state.lastUse >= idleTime else {
            return
        }
        state.clear()
    }

    private func startTimer(_ state: inout State) {
        let left = state.users > 0 ? idleTime : idleTime - (clock.now - state.lastUse)
        state.timer.start(after: left) { [weak self] in self?.timerFired() }
    }

    private func timerFired() {
        state.withLock { state in
            dropIfIdle(&state)
            if state.key != nil { startTimer(&state) }
        }
    }
}

extension KeyHolder: CustomStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
