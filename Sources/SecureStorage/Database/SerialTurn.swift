/// Runs blocks one at a time, in the order of their arrival, and lets a block run further ones inside
/// itself.
///
/// Waiting for a second turn inside the first would last for ever. So each thread remembers the turns that
/// it holds: that the turn itself knows its owner would not do, since a block of another turn, run from
/// inside, comes between.
final class SerialTurn: Sendable {
    private let line = WaitingLine()

    /// Runs `block` on the calling thread: at once when it holds the turn already, else in its turn.
    func run<T>(_ block: () throws -> sending T) throws -> sending T {
        let outer = HeldTurn.innermost
        if isHeld(by: outer) { return try block() }
        return try line.enter { try hold(inside: outer, block) }
    }

    /// Runs `block` in its turn, on a thread of Dispatch's, and does not wait for it.
    func enqueue(_ block: @escaping @Sendable () -> Void) {
        // The block has no result, and so no error.
        line.enqueue { try? self.hold(inside: nil) { block() } }
    }

    private func hold<T>(
        inside outer: UnsafePointer<HeldTurn>?, _ block: () throws -> sending T
    ) throws -> sending T {
        var held = HeldTurn(turn: Unmanaged.passUnretained(self).toOpaque(), outer: outer)
        // Unsafe for the compiler only, which takes the value for a part of `held`.
        nonisolated(unsafe) let value = try withUnsafeMutablePointer(to: &held) { held in
            HeldTurn.innermost = UnsafePointer(held)
            defer { HeldTurn.innermost = outer }
            return try block()
        }
        return value
    }

    private func isHeld(by innermost: UnsafePointer<HeldTurn>?) -> Bool {
        let turn = Unmanaged.passUnretained(self).toOpaque()
        var held = innermost
        while let one = held?.pointee {
            if one.turn == turn { return true }
            held = one.outer
        }
        return false
    }
}

/// A turn that the current thread holds: a link of a chain that lies on its stack.
private struct HeldTurn {
    let turn: UnsafeMutableRawPointer
    let outer: UnsafePointer<HeldTurn>?

    /// The end of the calling thread's chain.
    static var innermost: UnsafePointer<HeldTurn>? {
        get { slot.link }
        set { slot.link = newValue }
    }

    private static let slot = ThreadSlot<HeldTurn>()
}
