internal import SecureStoragePlatform

/// The threads that wait for a turn while holding another one: only these can deadlock.
enum NestedWaits {
    final class Wait: Sendable {
        let wanted: SerialTurn
        // nonisolated(unsafe): the chain does not change while its thread waits.
        nonisolated(unsafe) let held: UnsafePointer<HeldTurn>

        init(wanted: SerialTurn, held: UnsafePointer<HeldTurn>) {
            self.wanted = wanted
            self.held = held
        }
    }

    private struct Graph {
        var waits: [Wait] = []

        /// Whether waiting for `wanted` while holding `held` would close a cycle.
        func closesCycle(_ wanted: SerialTurn, _ held: UnsafePointer<HeldTurn>) -> Bool {
            var turn = wanted
            // Terminates: the graph contains no cycle.
            while let owner = waits.first(where: { HeldTurn.chain($0.held, holds: turn) }) {
                if HeldTurn.chain(held, holds: owner.wanted) { return true }
                turn = owner.wanted
            }
            return false
        }
    }

    private static let graph = Locked(Graph())

    /// Records that the calling thread, which holds turns, will wait for another one.
    ///
    /// - Returns: A token for `end(_:)`, to be called as soon as the thread has the turn, before it
    ///   waits for another.
    /// - Throws: `.backingStoreError` code `.locked` if the wait would deadlock.
    static func begin(
        for wanted: SerialTurn, inside held: UnsafePointer<HeldTurn>
    ) throws -> Wait {
        try graph.withLock { graph in
            guard !graph.closesCycle(wanted, held) else {
                throw SecureStorageError.backingStoreError(
                    code: ResultCode.locked.rawValue,
                    message:
                        "a deadlock: this block waits for a queue whose block waits for this one; "
                        + "always nest the blocks of two queues in the same "
                        + "order")
            }
            let wait = Wait(wanted: wanted, held: held)
            graph.waits.append(wait)
            return wait
        }
    }

    static func end(_ wait: Wait) {
        graph.withLock { $0.waits.removeAll { $0 === wait } }
    }
}
