/// Runs blocks one at a time, in order of arrival, and lets a block run nested ones.
///
/// Waiting for a second turn inside the first would deadlock, so each thread records the turns that
/// it holds. Recording the owner in the turn would not suffice, since a nested block of another
/// turn can come between.
final class SerialTurn: Sendable {
    private let line = WaitingLine()
    private let home = HomeProcess()

    /// Runs `block` on the calling thread: immediately if it already holds the turn, else in its
    /// turn.
    ///
    /// - Throws: Errors thrown by `block`; `.backingStoreError` code `.locked` if its turn
    ///   would never come.
    func run<T>(_ block: () throws -> sending T) throws -> sending T {
        try run(outermost: block, nested: block)
    }

    /// Runs one of two blocks on the calling thread: `nested` immediately if it already holds the
    /// turn, else `outermost` in its turn.
    ///
    /// - Throws: As `run(_:)`; `.backingStoreError` code `.misuse` in a child of the process that
    ///   created this turn.
    func run<T>(
        outermost: () throws -> sending T, nested: () throws -> sending T
    ) throws -> sending T {
        try requireHome()
        guard let outer = HeldTurn.innermost else {
            return try line.enter { try hold(inside: nil, outermost) }
        }
        if HeldTurn.chain(outer, holds: self) { return try nested() }
        let wait = try NestedWaits.begin(for: self, inside: outer)
        return try line.enter {
            NestedWaits.end(wait)
            return try hold(inside: outer, outermost)
        }
    }

    /// Whether the calling thread holds the turn.
    var isHeld: Bool { HeldTurn.innermost.map { HeldTurn.chain($0, holds: self) } ?? false }

    /// How long the calling thread, which holds the turn, has waited for it, in nanoseconds.
    var waitTime: Int64 { line.waitTime }

    /// Whether a call waits for the turn.
    var hasWaiters: Bool { line.hasWaiters }

    /// Refuses use in a `fork()` child, where the thread that would release the turn may not exist.
    func requireHome() throws { try home.requireCurrent() }

    /// Runs `block` in its turn on a Dispatch thread, without waiting for it.
    ///
    /// Does nothing in a `fork()` child, which has no Dispatch threads.
    func enqueue(_ block: @escaping @Sendable () -> Void) {
        guard home.isCurrent else { return }
        // The block cannot throw, so `hold` cannot either.
        line.enqueue { try? self.hold(inside: nil) { block() } }
    }

    private func hold<T>(
        inside outer: UnsafePointer<HeldTurn>?, _ block: () throws -> sending T
    ) throws -> sending T {
        var held = HeldTurn(of: self, outer: outer)
        // Unsafe only to the compiler, which regards the value as part of `held`.
        nonisolated(unsafe) let value = try withUnsafeMutablePointer(to: &held) { held in
            HeldTurn.innermost = UnsafePointer(held)
            defer { HeldTurn.innermost = outer }
            return try block()
        }
        return value
    }
}
