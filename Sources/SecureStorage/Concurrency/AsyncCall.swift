internal import Foundation

/// A call whose task may be cancelled while it waits for its turn, or while it runs.
///
/// The task gets its answer once: from the block, or from its cancellation when the block has not begun.
final class AsyncCall<T: Sendable>: CancellableCall, @unchecked Sendable {
    // @unchecked: everything below is only touched under `lock`.
    private let lock = NSLock()
    private var state = State.new
    private var isCancelled = false

    private enum State {
        case new
        case waiting(CheckedContinuation<T, any Error>)
        case running(CheckedContinuation<T, any Error>, Interruption)
        case ended
    }

    /// Takes the continuation of the task; false when the task was cancelled before, and has its answer.
    func wait(_ continuation: CheckedContinuation<T, any Error>) -> Bool {
        let goesOn = lock.withLock {
            state = isCancelled ? .ended : .waiting(continuation)
            return !isCancelled
        }
        if !goesOn { continuation.resume(throwing: CancellationError()) }
        return goesOn
    }

    /// Runs `body` on a store, unless the task was cancelled meanwhile, and answers the task.
    func run(on store: SecureDatabaseStore, _ body: (SecureDatabaseStore) throws -> T) {
        let begins = lock.withLock {
            guard case .waiting(let continuation) = state else { return false }
            state = .running(continuation, store.interruption)
            return true
        }
        guard begins else { return }
        let outer = store.bounds
        store.bounds.call = self
        let outcome = Result { try body(store) }
        store.bounds = outer
        let (continuation, endedEarly) = lock.withLock {
            defer { state = .ended }
            guard case .running(let continuation, _) = state else {
                preconditionFailure("an asynchronous call ended twice")
            }
            return (continuation, isCancelled)
        }
        switch outcome {
        case .success(let value): continuation.resume(returning: value)
        // Whatever the block made of the interruption.
        case .failure where endedEarly: continuation.resume(throwing: CancellationError())
        case .failure(let error): continuation.resume(throwing: error)
        }
    }

    /// Ends the waiting, or the statement that runs.
    func cancel() {
        let waiting: CheckedContinuation<T, any Error>? = lock.withLock {
            isCancelled = true
            switch state {
            case .waiting(let continuation):
                state = .ended
                return continuation
            case .running(_, let interruption):
                // Under the lock: a moment later the connection may be another call's.
                interruption.interrupt()
                return nil
            case .new, .ended: return nil
            }
        }
        waiting?.resume(throwing: CancellationError())
    }

    var wasCancelled: Bool { lock.withLock { isCancelled } }
}
