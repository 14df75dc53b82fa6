/// A turn that the current thread holds: a node of a linked list on its stack.
struct HeldTurn {
    private let turn: UnsafeMutableRawPointer
    private let outer: UnsafePointer<HeldTurn>?

    init(of turn: SerialTurn, outer: UnsafePointer<HeldTurn>?) {
        self.turn = Unmanaged.passUnretained(turn).toOpaque()
        self.outer = outer
    }

    /// The innermost turn of the calling thread, the head of its list.
    static var innermost: UnsafePointer<HeldTurn>? {
        get { slot.link }
        set { slot.link = newValue }
    }

    private static let slot = ThreadSlot<HeldTurn>()

    /// Whether `turn` is in the list that begins at `innermost`.
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
