internal import Dispatch
internal import Foundation

/// Holds an unwrapped data key, and drops it when nobody has used it for a while.
///
/// The key is cleared when it is dropped: after the idle time, by ``drop()``, when another one is
/// held, or with the holder. The time asleep counts as idle, and setting the machine's date makes
/// no difference to whether ``withKey(_:)`` still lends the key. While the machine sleeps its
/// memory still has the key: drop it when the system announces sleep, if that matters.
///
/// Thread-safe; a key may be lent to several threads.
public final class KeyHolder: @unchecked Sendable {
    // @unchecked: everything that changes is only touched under `lock`.
    private let idleTime: Duration
    private let clock: any IdleClock
    private let lock = NSLock()
    private var key: DataEncryptionKey?
    private var lastUse: Duration = .zero
    private var users = 0
    private var timers: [any DispatchSourceTimer] = []

    /// A holder without a key.
    ///
    /// - Parameters:
    ///   - idleTime: How long after its last use the key is dropped; from the end of a use.
    ///   - clock: For tests; the default goes on while the machine sleeps.
    public init(idleTime: Duration, clock: some IdleClock = SystemIdleClock()) {
        self.idleTime = idleTime
        self.clock = clock
    }

    deinit {
        for timer in timers { timer.cancel() }
        key?.clear()
    }

    /// Whether a key is held.
    ///
    /// Asking is not a use.
    public var isHolding: Bool {
        lock.withLock {
            dropIfIdle()
            return key != nil
        }
    }

    /// Takes a key over; one that was held before is cleared.
    ///
    /// - Parameter key: The holder clears it: it is of no use elsewhere afterwards.
    public func hold(_ key: DataEncryptionKey) {
        lock.withLock {
            if self.key !== key { clear() }
            self.key = key
            lastUse = clock.now
            startTimers()
        }
    }

    /// Lends the key, which counts as a use until `body` returns.
    ///
    /// - Parameter body: Gets the key; it must not keep it. ``drop()`` on another thread clears it
    ///   meanwhile.
    /// - Returns: What `body` returns.
    /// - Throws: `EnvelopeError.locked` when no key is held; what `body` throws.
    public func withKey<R>(_ body: (DataEncryptionKey) throws -> R) throws -> R {
        let key = try lock.withLock {
            dropIfIdle()
            guard let key = self.key else { throw EnvelopeError.locked }
            users += 1
            return key
        }
        defer {
            lock.withLock {
                users -= 1
                lastUse = clock.now
            }
        }
        return try body(key)
    }

    /// Drops the key now.
    ///
    /// Does nothing when none is held.
    public func drop() {
        lock.withLock { clear() }
    }

    private func clear() {
        key?.clear()
        key = nil
        for timer in timers { timer.cancel() }
        timers = []
    }

    private func dropIfIdle() {
        if key != nil, users == 0, clock.now - lastUse >= idleTime { clear() }
    }

    // Two timers, since neither sort alone will do: one stands still while the machine sleeps, the
    // other follows the date. What counts is the clock, which each of them asks.
    private func startTimers() {
        for timer in timers { timer.cancel() }
        let left = max(users > 0 ? idleTime : idleTime - (clock.now - lastUse), .milliseconds(10))
        // A year is as good as never, and cannot overflow.
        let seconds = min(left, .seconds(31_536_000)) / .seconds(1)
        timers = [false, true].map { followsDate in
            let timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
            if followsDate {
                timer.schedule(wallDeadline: .now() + seconds, leeway: .milliseconds(100))
            } else {
                timer.schedule(deadline: .now() + seconds, leeway: .milliseconds(100))
            }
            timer.setEventHandler { [weak self] in self?.timerFired() }
            timer.resume()
            return timer
        }
    }

    private func timerFired() {
        lock.withLock {
            dropIfIdle()
            if key != nil { startTimers() }
        }
    }
}

extension KeyHolder: CustomStringConvertible, CustomReflectable {
    /// `<redacted>`, always.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
