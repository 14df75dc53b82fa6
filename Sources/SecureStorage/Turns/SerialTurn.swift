/// Runs blocks one at a time, in the order of their arrival, and lets a block run further ones
/// inside itself.
///
/// Waiting for a second turn inside the first would last for ever. So each thread remembers the
/// turns that it holds: that the turn itself knows its owner would not do, since a block of another
/// turn, run from inside, comes between.
final class SerialTurn: Sendable {
    private let line = WaitingLine()
    private let home = HomeProcess()

    /// Runs `block` on the calling thread: at once when it holds the turn already, else in its
    /// turn.
    ///
    /// - Throws: What `block` throws; `.backingStoreError` code 6 (SQLITE_LOCKED) when its turn
    ///   would never come.
    func run<T>(_ block: () throws -> sending T) throws -> sending T {
        try run(outermost: block, nested: block)
    }

    /// Runs one of two blocks on the calling thread: `nested` at once when it holds the turn
    /// already, else `outermost` in its turn.
    ///
    /// - Throws: As `run(_:)`; `.backingStoreError` code 21 in a child of the process that it was
    ///   made in.
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

    /// Whether the calling thread has it.
    var isHeld: Bool { HeldTurn.innermost.map { HeldTurn.chain($0, holds: self) } ?? false }

    /// Nothing of it is used in a child made with `fork()`: the thread that would let others in may
    /// not be there.
    func requireHome() throws { try home.requireCurrent() }

    /// Runs `block` in its turn, on a thread of Dispatch's, and does not wait for it.
    ///
    /// Does nothing in a child made with `fork()`, which has none of those threads.
    func enqueue(_ block: @escaping @Sendable () -> Void) {
        guard home.isCurrent else { return }
        // The block has no result, and so no error.
        line.enqueue { try? self.hold(inside: nil) { block() } }
    }

    private func hold<T>(
        inside outer: UnsafePointer<HeldTurn>?, _ block: () throws -> sending T
    ) throws -> sending T {
        var held = HeldTurn(of: self, outer: outer)
        // Unsafe for the compiler only, which takes the value for a part of `held`.
        nonisolated(unsafe) let value = try withUnsafeMutablePointer(to: &held) { held in
            HeldTurn.innermost = UnsafePointer(held)
            defer { HeldTurn.innermost = outer }
            return try block()
        }
        return value
    }
}
