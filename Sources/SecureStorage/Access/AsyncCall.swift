internal import Platform

/// A call whose task may be cancelled while it waits for its turn, or while it runs.
///
/// The task gets its answer once: when the call is finished, or from its cancellation when the
/// block has not begun.
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
    /// - Parameter start: Sees to it that the call is run and finished, without waiting for that.
    /// - Returns: What its block returns.
    /// - Throws: What its block throws, or `finish(_:)` is given; `CancellationError`.
    static func perform(_ start: (AsyncCall<T>) -> Void) async throws -> T {
        let call = AsyncCall()
        // What the block made was made by another thread. The runtime's own order of the two is not
        // always seen by ThreadSanitizer (4 reports in half a million calls), that of a lock is.
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

    /// False when the task was cancelled before, and has its answer.
    private func wait(_ continuation: Continuation) -> Bool {
        let goesOn = call.withLock { call in
            call.state = call.isCancelled ? .ended : .waiting(continuation)
            return !call.isCancelled
        }
        if !goesOn { continuation.resume(throwing: CancellationError()) }
        return goesOn
    }

    /// Whether there is still somebody for whom to run.
    var isWaiting: Bool {
        call.withLock { call in
            guard case .waiting = call.state else { return false }
            return true
        }
    }

    /// Runs `body` on a store, unless the task was cancelled meanwhile.
    ///
    /// - Throws: What `body` throws, for whoever has to clean up after it.
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

    /// Answers the task.
    ///
    /// - Parameter failure: What has kept the call from running, or from ending well.
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
        // Whatever the block made of the interruption.
        case .ran(let continuation, _, let wasCancelled):
            continuation.resume(
                throwing: wasCancelled ? CancellationError() : failure ?? CancellationError())
        }
    }

    /// Ends the waiting, or the statement that runs.
    private func cancel() {
        let waiting: Continuation? = call.withLock { call in
            call.isCancelled = true
            switch call.state {
            case .waiting(let continuation):
                call.state = .ended
                return continuation
            case .running(_, let interruption):
                // Under the lock: a moment later the connection may be another call's.
                interruption.interrupt(.cancellation)
                return nil
            case .new, .ran, .ended: return nil
            }
        }
        waiting?.resume(throwing: CancellationError())
    }

    var wasCancelled: Bool { call.withLock { $0.isCancelled } }
}
