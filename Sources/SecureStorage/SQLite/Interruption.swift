internal import CSQLCipher
internal import SecureStoragePlatform

/// The way for other threads to end a connection's running statements.
///
/// `sqlite3_interrupt` may be called from any thread, but not while the connection is closed. So
/// the handle is used under a lock, and withdrawn before it is closed.
final class Interruption: Sendable {
    private struct State {
        var handle: OpaquePointer?
        var pauses = 0
        var isPending = false
        var lastCause: SecureDatabaseInterruption?

        /// Keeps the latest cause, but lets nothing replace a suspension: the block that it ended
        /// may be repeated.
        mutating func keep(_ cause: SecureDatabaseInterruption) {
            if lastCause != .suspension { lastCause = cause }
        }
    }

    private let state = Locked(State())
    /// Whether `lastCause` is set; readable without the lock.
    private let hasCause = SharedFlag()

    /// Ends the running statements, if any; during a pause, as soon as the pause is over.
    func interrupt(_ cause: SecureDatabaseInterruption = .request) {
        state.withLock { state in
            guard let handle = state.handle else { return }
            state.keep(cause)
            hasCause.set(true)
            if state.pauses > 0 {
                state.isPending = true
            } else {
                sqlite3_interrupt(handle)
            }
        }
    }

    func attach(_ handle: OpaquePointer?) {
        state.withLock { state in
            state.handle = handle
            state.isPending = false
            state.lastCause = nil
        }
    }

    /// Withdraws the handle before it is closed, unless another one was attached in the meantime.
    func detach(_ handle: OpaquePointer?) {
        state.withLock { if $0.handle == handle { $0.handle = nil } }
    }

    /// Why the last statement that ended before its time did so.
    var cause: SecureDatabaseInterruption { state.withLock { $0.lastCause ?? .request } }

    /// Notes the cause of an interruption that does not use `interrupt(_:)`.
    func note(_ cause: SecureDatabaseInterruption) {
        state.withLock { state in
            state.keep(cause)
            hasCause.set(true)
        }
    }

    /// Forgets the causes of earlier blocks.
    func beginBlock() {
        // Called for each block, mostly with nothing to forget.
        guard hasCause.isOn else { return }
        state.withLock { state in
            state.lastCause = nil
            hasCause.set(false)
        }
    }

    var isPaused: Bool { state.withLock { $0.pauses > 0 } }

    /// Defers interruptions while an operation that must complete is running; may be nested.
    func pause() {
        state.withLock { $0.pauses += 1 }
    }

    func resume() {
        state.withLock { state in
            state.pauses -= 1
            guard state.pauses == 0, state.isPending else { return }
            state.isPending = false
            if let handle = state.handle { sqlite3_interrupt(handle) }
        }
    }
}

extension Connection {
    /// Runs `body` and defers the caller's interruptions until it ends.
    func uninterrupted<R>(_ body: () throws -> R) rethrows -> R {
        interruption?.pause()
        defer { interruption?.resume() }
        return try body()
    }

    /// Returns the error for a statement that has ended with `code` before its time; nil for any
    /// other code.
    func interrupted(_ code: ResultCode, _ sql: String?) -> SecureStorageError? {
        let isWait = takeInterruption(code)
        guard isWait || code.primary == .interrupted else { return nil }
        return .ended(by: interruption?.cause ?? .request, whileWaiting: isWait, in: sql)
    }

    /// Drops an interruption that arrived while nothing was running.
    ///
    /// Statements do that themselves when they begin. A checkpoint does not: it would end before
    /// its first page.
    func dropIdleInterruption() {
        // Even this statement makes SQLite 3.50 read the file, and recover what a crash has left
        // beside it.
        guard let handle, isProven else { return }
        // Only the beginning counts, so the outcome does not.
        _ = sqlite3_exec(handle, "SELECT 1", nil, nil, nil)
    }
}

extension Connection {
    /// Keeps the connection open for the running step, and makes that step fail.
    func refuseClose() {
        callbacks.wasCloseRefused = true
        // A collation cannot return an error.
        if callbacks.isComparing, let handle { sqlite3_interrupt(handle) }
    }
}
