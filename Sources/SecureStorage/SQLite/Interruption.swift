internal import CSQLCipher
internal import Foundation

/// What another thread may hold of a connection: the way to end its running statements.
///
/// `sqlite3_interrupt` may be called from any thread, but not while the connection is closed. So
/// the handle is lent under a lock, and taken back before it goes.
final class Interruption: @unchecked Sendable {
    // @unchecked: everything below is only touched under `lock`.
    private let lock = NSLock()
    private var handle: OpaquePointer?
    private var pauses = 0
    private var isPending = false
    private var lastCause: SecureDatabaseInterruption?

    /// Ends what runs, or does nothing; during a pause once it is over.
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

    /// To be called before the handle is closed; another handle may have come meanwhile.
    func detach(_ handle: OpaquePointer?) {
        lock.withLock { if self.handle == handle { self.handle = nil } }
    }

    /// Why the last statement that was ended before its time was so.
    var cause: SecureDatabaseInterruption { lock.withLock { lastCause ?? .request } }

    /// Notes what ends a statement in another way than by `interrupt(_:)`.
    func note(_ cause: SecureDatabaseInterruption) { lock.withLock { keep(cause) } }

    /// Forgets the causes of earlier blocks.
    func beginBlock() { lock.withLock { lastCause = nil } }

    /// The latest counts, but in a block that a suspension ends nothing hides that: it may be
    /// repeated.
    private func keep(_ cause: SecureDatabaseInterruption) {
        if lastCause != .suspension { lastCause = cause }
    }

    var isPaused: Bool { lock.withLock { pauses > 0 } }

    /// Keeps interruptions off what must not end half way; nests.
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
    /// Runs `body` so that no interruption of the caller ends it half way.
    func uninterrupted<R>(_ body: () throws -> R) rethrows -> R {
        interruption?.pause()
        defer { interruption?.resume() }
        return try body()
    }

    /// The error for a statement that has ended with `code` before its time; nil for any other
    /// code.
    func interrupted(_ code: ResultCode, _ sql: String?) -> SecureStorageError? {
        let isWait = isInterruptedWait(code)
        guard isWait || code.primary == .interrupted else { return nil }
        return .ended(by: interruption?.cause ?? .request, whileWaiting: isWait, in: sql)
    }

    /// Drops an interruption that came while nothing ran.
    ///
    /// Statements do that themselves when they begin, a checkpoint does not: it would end before
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
    /// Keeps the connection open for the step that is running, and sees to it that the step fails.
    func refuseClose() {
        callbacks.wasCloseRefused = true
        // A collation has no result that could be an error.
        if callbacks.isComparing, let handle { sqlite3_interrupt(handle) }
    }
}
