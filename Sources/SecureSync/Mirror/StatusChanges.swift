internal import Foundation
internal import SecureStoragePlatform

/// A mirror's status, and those that follow it.
final class StatusChanges: Sendable {
    private let state = Locked(State())

    private struct State {
        var status = DatabaseMirror.Status()
        var followers: [UUID: AsyncStream<DatabaseMirror.Status>.Continuation] = [:]
    }

    deinit { state.withLock { $0.followers }.values.forEach { $0.finish() } }

    var now: DatabaseMirror.Status { state.withLock { $0.status } }

    func update(_ body: (inout DatabaseMirror.Status) -> Void) {
        // Under the lock, since the followers receive the states in this order.
        state.withLock { state in
            body(&state.status)
            for follower in state.followers.values { follower.yield(state.status) }
        }
    }

    func stream() -> AsyncStream<DatabaseMirror.Status> {
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
