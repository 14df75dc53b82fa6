internal import Foundation

/// Runs `body`, which blocks, on a thread of its own, so that it holds none of the few threads that
/// tasks share.
///
/// - Parameters:
///   - evenIfCancelled: Whether `body` also runs when the task has been cancelled before.
///   - body: Runs to its end, even if the task is cancelled in the meantime.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`; `CancellationError`.
package func onOwnThread<R: Sendable>(
    evenIfCancelled: Bool = false, _ body: @escaping @Sendable () throws -> R
) async throws -> R {
    if !evenIfCancelled { try Task.checkCancellation() }
    // The thread may end after the call has returned. It then refers to nothing that `body` used
    // or returned: a vault, for instance, stays unlocked as long as it is referenced.
    let work = Locked(Optional(body))
    @Sendable func runOnce() throws -> R {
        guard let work = work.withLock({ $0.take() }) else { preconditionFailure("run twice") }
        return try work()
    }
    return try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
            do {
                continuation.resume(returning: try runOnce())
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}

/// Runs `body` on a thread of its own; it regularly calls the handler that it receives, which
/// calls `progress`, and throws `CancellationError` once the task is cancelled.
///
/// - Returns: The result of `body`.
/// - Throws: The error of `body`; `CancellationError`.
package func onOwnThread<R: Sendable, Progress>(
    reporting progress: @escaping @Sendable (Progress) throws -> Void,
    _ body:
        @escaping @Sendable (_ progress: @escaping @Sendable (Progress) throws -> Void) throws
        -> R
) async throws -> R {
    let isCancelled = Locked(false)
    let checked: @Sendable (Progress) throws -> Void = {
        if isCancelled.withLock({ $0 }) { throw CancellationError() }
        try progress($0)
    }
    return try await withTaskCancellationHandler {
        try await onOwnThread { try body(checked) }
    } onCancel: {
        isCancelled.withLock { $0 = true }
    }
}
