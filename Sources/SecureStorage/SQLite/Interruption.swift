internal import CSQLCipher
internal import Foundation

/// The way for other threads to end a connection's running statements.
///
/// `sqlite3_interrupt` may be called from any thread, but not while the connection is closed. So
/// the handle is lent under a lock, and withdrawn before it is closed.
final class Interruption: @unchecked Sendable {
    // @unchecked: everything below is only touched under `lock`.
    private let lock = NSLock()
    private var handle: OpaquePointer?
    private var pauses = 0
    private var isPending = false
    private var lastCause: SecureDatabaseInterruption?

    /// Ends the running statements, if any; during a pause, as soon as the pause is over.
    func interrupt(_ cause: SecureDatabaseInterruption = .request) {
        lock.withLock {
            guard let handle else { return }
            keep(cause)
            if pauses > 0 {
                isPending = true
            } else {
                sqlite3_interrupt(handle)
            }
        }
    }

    func attach(_ handle: OpaquePointer?) {
        lock.withLock {
            self.handle = handle
            isPending = false
            lastCause = nil
        }
    }

    /// Withdraws the handle before it is closed, unless another one was attached in the meantime.
    func detach(_ handle: OpaquePointer?) {
        lock.withLock { if self.handle == handle { self.handle = nil } }
    }

    /// Why the last statement that ended before its time did so.
    var cause: SecureDatabaseInterruption { lock.withLock { lastCause ?? .request } }

    /// Notes the cause of an interruption that does not use `interrupt(_:)`.
    func note(_ cause: SecureDatabaseInterruption) { lock.withLock { keep(cause) } }

    /// Forgets the causes of earlier blocks.
    func beginBlock() { lock.withLock { lastCause = nil } }

    /// Keeps the latest cause, but lets nothing replace a suspension: the block that it ended may
    /// be repeated.
    private func keep(_ cause: SecureDatabaseInterruption) {
        if lastCause != .suspension { lastCause = cause }
    }

    var isPaused: Bool { lock.withLock { pauses > 0 } }

    /// Defers interruptions while an operation that must complete is running; may be nested.
    func pause() {
        lock.withLock { pauses += 1 }
    }

    func resume() {
        lock.withLock {
            pauses -= 1
            guard pauses == 0, isPending else { return }
            isPending = false
            if let handle { sqlite3_interrupt(handle) }
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
        let isWait = isInterruptedWait(code)
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
