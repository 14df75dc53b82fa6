/// Runs asynchronous work one piece at a time, each to its end even if the caller's task is
/// cancelled.
package final class WorkLine: Sendable {
    private let state = Locked(State())

    package init() {}

    private struct State {
        var last: Task<Void, any Error>?
        /// Work that has not begun, and that later callers may wait for.
        var shared: Task<Void, any Error>?
        /// Counts the tasks that may be shared.
        var number = 0
    }

    /// Runs `work` after all earlier work.
    package func run(_ work: @escaping @Sendable () async throws -> Void) async throws {
        try await state.withLock { state in add(work, to: &state) }.value
    }

    /// Runs `work`, or waits for equal work that has not begun.
    package func runShared(_ work: @escaping @Sendable () async throws -> Void) async throws {
        let task = state.withLock { state in
            if let shared = state.shared { return shared }
            state.number += 1
            let task = add(
                { [self, number = state.number] in
                    self.state.withLock { if $0.number == number { $0.shared = nil } }
                    try await work()
                }, to: &state)
            state.shared = task
            return task
        }
        try await task.value
    }

    private func add(
        _ work: @escaping @Sendable () async throws -> Void, to state: inout State
    ) -> Task<Void, any Error> {
        let task = Task { [before = state.last] in
            _ = await before?.result
            try await work()
        }
        state.last = task
        return task
    }
}
