internal import SecureStoragePlatform

/// A call whose task may be cancelled while it waits for its turn or while it runs.
///
/// The task is resumed once: when the call is finished, or by its cancellation if the block has not
/// begun.
final class AsyncCall<T: Sendable>: CancellableCall, Sendable {
    private let call = Locked((state: State.new, isCancelled: false))

    private typealias Continuation = CheckedContinuation<T, any Error>

    private enum State {
        case new
        case waiting(Continuation)
        case running(Continuation, Interruption)
        /// The block has returned, with a value or an error.
        case ran(Continuation, T?, wasCancelled: Bool)
        case ended
    }

    /// Makes the task wait for a call.
    ///
    /// - Parameter start: Ensures that the call is run and finished, without waiting for it.
    /// - Returns: What its block returns.
    /// - Throws: What its block throws, or the error passed to `finish(_:)`; `CancellationError`.
    static func perform(_ start: (AsyncCall<T>) -> Void) async throws -> T {
        let call = AsyncCall()
        // The block's result was made by another thread. ThreadSanitizer does not always see the
        // runtime's own ordering of the two (4 reports in half a million calls), but it sees that
        // of a lock.
        defer { call.call.withLock { _ in } }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard call.wait(continuation) else { return }
                start(call)
            }
        } onCancel: {
            call.cancel()
        }
    }

    /// Stores the continuation; returns false if the task was cancelled before, and resumes it.
    private func wait(_ continuation: Continuation) -> Bool {
        let waits = call.withLock { call in
            call.state = call.isCancelled ? .ended : .waiting(continuation)
            return !call.isCancelled
        }
        if !waits { continuation.resume(throwing: CancellationError()) }
        return waits
    }

    /// Whether the task still waits for the block to begin.
    var isWaiting: Bool {
        call.withLock { call in
            guard case .waiting = call.state else { return false }
            return true
        }
    }

    /// Runs `body` on a store, unless the task was cancelled in the meantime.
    ///
    /// - Throws: What `body` throws, so that the caller can clean up after it.
    func run(on store: SecureDatabaseStore, _ body: (SecureDatabaseStore) throws -> T) throws {
        let begins = call.withLock { call in
            guard case .waiting(let continuation) = call.state else { return false }
            call.state = .running(continuation, store.interruption)
            return true
        }
        guard begins else { return }
        let outer = store.bounds
        store.bounds.call = self
        var value: T?
        defer {
            store.bounds = outer
            call.withLock { call in
                guard case .running(let continuation, _) = call.state else {
                    preconditionFailure("an asynchronous call ended twice")
                }
                call.state = .ran(continuation, value, wasCancelled: call.isCancelled)
            }
        }
        value = try body(store)
    }

    /// Resumes the task once the commits that it saw are on the disk.
    func finish(after commits: CommitsInFlight?) {
        guard let commits else { return finish() }
        commits.whenDurable { self.finish($0) }
    }

    /// Resumes the task.
    ///
    /// - Parameter failure: The error that kept the call from running, or from succeeding.
    func finish(_ failure: (any Error)? = nil) {
        let ended = call.withLock { call in
            defer { call.state = .ended }
            return call.state
        }
        switch ended {
        case .new, .running: preconditionFailure("an asynchronous call ended before its block")
        case .ended: break
        case .waiting(let continuation):
            continuation.resume(throwing: failure ?? CancellationError())
        case .ran(let continuation, let value?, _) where failure == nil:
            continuation.resume(returning: value)
        // Regardless of how the block handled the interruption.
        case .ran(let continuation, _, let wasCancelled):
            continuation.resume(
                throwing: wasCancelled ? CancellationError() : failure ?? CancellationError())
        }
    }

    /// Ends the wait, or the running statement.
    private func cancel() {
        let waiting: Continuation? = call.withLock { call in
            call.isCancelled = true
            switch call.state {
            case .waiting(let continuation):
                call.state = .ended
                return continuation
            case .running(_, let interruption):
                // Under the lock: a moment later the connection may belong to another call.
                interruption.interrupt(.cancellation)
                return nil
            case .new, .ran, .ended: return nil
            }
        }
        waiting?.resume(throwing: CancellationError())
    }

    var wasCancelled: Bool { call.withLock { $0.isCancelled } }
}
