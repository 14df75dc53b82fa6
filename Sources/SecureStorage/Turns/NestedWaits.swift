internal import Foundation

/// The threads that wait for a turn inside another one: the only ones that can wait for each other
/// in a circle.
enum NestedWaits {
    final class Wait: @unchecked Sendable {
        // @unchecked: the chain does not change while its thread waits.
        let wanted: SerialTurn
        let held: UnsafePointer<HeldTurn>

        init(wanted: SerialTurn, held: UnsafePointer<HeldTurn>) {
            self.wanted = wanted
            self.held = held
        }
    }

    private final class Graph: @unchecked Sendable {
        // @unchecked: `waits` is only touched under `lock`.
        let lock = NSLock()
        var waits: [Wait] = []

        /// Whether somebody who would have to go on first waits for a turn of `held`.
        func closesCircle(_ wanted: SerialTurn, _ held: UnsafePointer<HeldTurn>) -> Bool {
            var turn = wanted
            // Ends: what is in the graph has no circle.
            while let owner = waits.first(where: { HeldTurn.chain($0.held, holds: turn) }) {
                if HeldTurn.chain(held, holds: owner.wanted) { return true }
                turn = owner.wanted
            }
            return false
        }
    }

    private static let graph = Graph()

    /// Notes that the calling thread, which holds turns, will wait for another one.
    ///
    /// - Returns: What ends with `end(_:)`, as soon as it has that one, before it takes further
    ///   ones.
    /// - Throws: `.backingStoreError` code 6 (SQLITE_LOCKED) when it would wait for ever.
    static func begin(
        for wanted: SerialTurn, inside held: UnsafePointer<HeldTurn>
    ) throws -> Wait {
        try graph.lock.withLock {
            guard !graph.closesCircle(wanted, held) else {
                throw SecureStorageError.backingStoreError(
                    code: ResultCode.locked.rawValue,
                    message:
                        "a deadlock: this block waits for a queue whose block waits for this one; "
                        + "where blocks of two queues are nested, nest them in the same order "
                        + "everywhere")
            }
            let wait = Wait(wanted: wanted, held: held)
            graph.waits.append(wait)
            return wait
        }
    }

    static func end(_ wait: Wait) {
        graph.lock.withLock { graph.waits.removeAll { $0 === wait } }
    }
}
