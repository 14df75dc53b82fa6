/// A turn that the current thread holds: a link of a chain that lies on its stack.
struct HeldTurn {
    private let turn: UnsafeMutableRawPointer
    private let outer: UnsafePointer<HeldTurn>?

    init(of turn: SerialTurn, outer: UnsafePointer<HeldTurn>?) {
        self.turn = Unmanaged.passUnretained(turn).toOpaque()
        self.outer = outer
    }

    /// The end of the calling thread's chain.
    static var innermost: UnsafePointer<HeldTurn>? {
        get { slot.link }
        set { slot.link = newValue }
    }

    private static let slot = ThreadSlot<HeldTurn>()

    /// Whether `turn` is among those of a chain.
    static func chain(_ innermost: UnsafePointer<HeldTurn>, holds turn: SerialTurn) -> Bool {
        let wanted = Unmanaged.passUnretained(turn).toOpaque()
        var held: UnsafePointer<HeldTurn>? = innermost
        while let one = held?.pointee {
            if one.turn == wanted { return true }
            held = one.outer
        }
        return false
    }
}
