internal import Foundation

/// A status and its followers.
package final class StatusChanges<Status: Sendable>: Sendable {
    private let state: Locked<State>

    private struct State {
        var status: Status
        var followers: [UUID: AsyncStream<Status>.Continuation] = [:]
    }

    package init(_ status: Status) { state = Locked(State(status: status)) }

    deinit { state.withLock { $0.followers }.values.forEach { $0.finish() } }

    package var now: Status { state.withLock { $0.status } }

    package func update(_ body: (inout Status) -> Void) {
        // Under the lock, since the followers receive the states in this order.
        state.withLock { state in
            body(&state.status)
            for follower in state.followers.values { follower.yield(state.status) }
        }
    }

    /// Changes the status without notifying its followers.
    package func updateSilently<T>(_ body: (inout Status) -> T) -> T {
        state.withLock { body(&$0.status) }
    }

    package func stream() -> AsyncStream<Status> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let id = UUID()
            state.withLock { state in
                continuation.yield(state.status)
                state.followers[id] = continuation
            }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.followers.removeValue(forKey: id) }
            }
        }
    }
}
