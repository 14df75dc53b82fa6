#if PostgreSQL
    internal import SecureStoragePlatform

    /// The connections of a store: how many may be open, and which are idle.
    ///
    /// Waiting callers are served in the order of their calls. Thread-safe.
    final class ConnectionPool: Sendable {
        private typealias Waiting = CheckedContinuation<Connection?, any Error>

        private struct State {
            /// How many more may be acquired.
            var free: Int
            /// The last that was used is the next.
            var idle: [Connection] = []
            var waiting: [(id: Int, caller: Waiting)] = []
            var lastID = 0
            var isClosed = false
            var closers: [CheckedContinuation<Void, Never>] = []
        }

        private let size: Int
        private let state: Locked<State>

        init(size: Int) {
            self.size = max(1, size)
            state = Locked(State(free: self.size))
        }

        /// Waits for the right to use a connection; every call that returns is followed by
        /// ``release(_:)``.
        ///
        /// - Returns: An idle connection; nil if a new one may be opened.
        /// - Throws: ``/ObjectStores/StoreError`` if the pool is closed; `CancellationError`.
        func acquire() async throws -> Connection? {
            let id = state.withLock {
                $0.lastID += 1
                return $0.lastID
            }
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { caller in
                    let answer: Result<Connection?, any Error>? = state.withLock {
                        if Task.isCancelled { return .failure(CancellationError()) }
                        if $0.isClosed { return .failure(Failures.closed) }
                        if $0.free > 0 {
                            $0.free -= 1
                            return .success($0.idle.popLast())
                        }
                        $0.waiting.append((id, caller))
                        return nil
                    }
                    if let answer { caller.resume(with: answer) }
                }
            } onCancel: {
                let caller = state.withLock { state in
                    state.waiting.firstIndex { $0.id == id }
                        .map { state.waiting.remove(at: $0).caller }
                }
                caller?.resume(throwing: CancellationError())
            }
        }

        /// Gives the right back.
        ///
        /// - Parameter connection: The connection if it is of further use.
        func release(_ connection: Connection?) {
            var next: Waiting?
            var closers: [CheckedContinuation<Void, Never>] = []
            state.withLock { state in
                if !state.waiting.isEmpty {
                    next = state.waiting.removeFirst().caller
                    return
                }
                state.free += 1
                if state.isClosed {
                    if state.free == size { swap(&closers, &state.closers) }
                } else if let connection {
                    state.idle.append(connection)
                }
            }
            next?.resume(returning: connection)
            for closer in closers { closer.resume() }
        }

        /// Closes all idle connections: what broke one may have broken them all.
        func discardIdle() {
            // Closed after the lock is released, since that takes system calls.
            let idle = state.withLock { state in
                defer { state.idle = [] }
                return state.idle
            }
            _ = idle
        }

        /// Lets no further call begin, and waits for those that run.
        func close() async {
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                state.isClosed = true
                return state.waiting
            }
            for (_, caller) in waiting { caller.resume(throwing: Failures.closed) }
            discardIdle()
            await withCheckedContinuation { closer in
                let isDone = state.withLock {
                    if $0.free == size { return true }
                    $0.closers.append(closer)
                    return false
                }
                if isDone { closer.resume() }
            }
        }
    }
#endif
