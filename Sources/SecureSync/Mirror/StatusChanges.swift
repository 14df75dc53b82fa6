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

    /// Something was committed that is not in the store yet.
    func noteCommits() {
        update { $0.behindSince = $0.behindSince ?? Date() }
    }

    func noteStored(_ bytes: Int) {
        update { $0.storedBytes += bytes }
    }

    /// Everything that was committed until `date` is in the store.
    func noteComplete(_ date: Date) {
        let isNew = state.withLock { state in
            let status = state.status
            // While nothing is committed, only the time changes, which is no news.
            guard status.behindSince == nil, status.failure == nil, status.completeAt != nil
            else { return true }
            state.status.completeAt = date
            return false
        }
        guard isNew else { return }
        update {
            $0.completeAt = date
            ($0.behindSince, $0.failure, $0.nextTry) = (nil, nil, nil)
        }
    }

    func noteFailure(_ error: any Error) {
        update {
            $0.failure = error
            $0.behindSince = $0.behindSince ?? Date()
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
