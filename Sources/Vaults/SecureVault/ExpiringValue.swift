public import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// A value that is dropped a fixed time after it was set.
///
/// The time includes sleep and is independent of the system date. A dropped `Data` is overwritten
/// if its bytes are not shared, a ``/SecureKeys/DataEncryptionKey`` is cleared, and a `SecretBytes`
/// overwrites itself when its last reference is released. Reading does not extend the time.
///
/// Thread-safe.
public final class ExpiringValue<Value: Sendable>: Sendable {
    private let duration: Duration
    private let clock: any IdleClock
    private let state = Locked(State())

    private struct State {
        var stored: Value?
        var deadline: Duration = .zero
        var timer = ExpiryTimer()

        mutating func clear() {
            timer.cancel()
            if Value.self == Data.self {
                // In place: a cast would share the bytes and keep them from being overwritten.
                withUnsafeMutablePointer(to: &stored) { stored in
                    stored.withMemoryRebound(to: Data?.self, capacity: 1) { $0.pointee?.erase() }
                }
                stored = nil
            } else {
                (stored as? DataEncryptionKey)?.clear()
                stored = nil
            }
        }
    }

    /// The time that a value is kept, in seconds.
    public let expiresAfter: TimeInterval

    /// Creates an instance without a value.
    ///
    /// - Parameters:
    ///   - expiresAfter: The time in seconds; with 0 or less, no value is kept.
    ///   - clock: For tests; the default continues while the machine sleeps.
    public init(expiresAfter: TimeInterval, clock: some IdleClock = SystemIdleClock()) {
        self.expiresAfter = expiresAfter
        self.clock = clock
        // A century is effectively never and cannot overflow; NaN becomes zero.
        duration =
            expiresAfter > 0 ? .seconds(min(expiresAfter, 3_155_760_000)) : .zero
    }

    deinit { state.withLock { $0.clear() } }

    /// The value, or nil when none was set or it has expired.
    ///
    /// Setting a value starts its time; setting nil drops the value immediately.
    public var value: Value? {
        get {
            let now = clock.now
            return state.withLock { state in
                clearIfExpired(&state, at: now)
                return state.stored
            }
        }
        set {
            let now = clock.now
            state.withLock { state in
                state.clear()
                guard let newValue, duration > .zero else { return }
                state.stored = newValue
                state.deadline = now + duration
                startTimer(&state, at: now)
            }
        }
    }

    private func clearIfExpired(_ state: inout State, at now: Duration) {
        if state.stored != nil, now >= state.deadline { state.clear() }
    }

    private func startTimer(_ state: inout State, at now: Duration) {
        state.timer.start(after: state.deadline - now) { [weak self] in self?.timerFired() }
    }

    private func timerFired() {
        let now = clock.now
        state.withLock { state in
            clearIfExpired(&state, at: now)
            if state.stored != nil { startTimer(&state, at: now) }
        }
    }
}

extension ExpiringValue: CustomStringConvertible, CustomReflectable {
    /// `<redacted>`, always.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
