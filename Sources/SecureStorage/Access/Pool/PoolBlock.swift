/// A block of a pool that the current thread is in: a link of a chain that lies on its stack.
///
/// What a call inside it does depends on the block, and another pool's or queue's block can come
/// between. So each thread remembers its own, as `SerialTurn` does for the turns of a queue.
struct PoolBlock {
    enum Kind {
        /// The initialization handler, the configuration of a connection, or a change of the key.
        case setup
        case reading
        case writing
    }

    let kind: Kind
    private let pool: UnsafeMutableRawPointer
    private let outer: UnsafePointer<PoolBlock>?
    /// The connection of the block; alive as long as it runs.
    private let unretainedStore: Unmanaged<SecureDatabaseStore>

    var store: SecureDatabaseStore { unretainedStore.takeUnretainedValue() }

    /// The block of `pool` that the calling thread is in; nil when it is in none.
    static func current(of pool: SecureDatabasePool) -> PoolBlock? {
        let pool = Unmanaged.passUnretained(pool).toOpaque()
        var block = innermost
        while let one = block?.pointee {
            if one.pool == pool { return one }
            block = one.outer
        }
        return nil
    }

    /// Runs `body` on the calling thread as a block of `pool`.
    static func run<T>(
        _ kind: Kind, of pool: SecureDatabasePool, on store: SecureDatabaseStore,
        _ body: () throws -> sending T
    ) throws -> sending T {
        let outer = innermost
        var block = PoolBlock(
            kind: kind, pool: Unmanaged.passUnretained(pool).toOpaque(), outer: outer,
            unretainedStore: .passUnretained(store))
        // Unsafe for the compiler only, which takes the value for a part of `block`.
        nonisolated(unsafe) let value = try withUnsafeMutablePointer(to: &block) { block in
            innermost = UnsafePointer(block)
            defer { innermost = outer }
            return try body()
        }
        return value
    }

    /// The end of the calling thread's chain.
    private static var innermost: UnsafePointer<PoolBlock>? {
        get { slot.link }
        set { slot.link = newValue }
    }

    private static let slot = ThreadSlot<PoolBlock>()
}
