/// A block of a pool that the current thread is running: a link of a chain on the thread's stack.
///
/// The effect of a call inside it depends on the block, and a block of another pool or queue can
/// come between. So each thread records its own blocks, as `SerialTurn` does for the turns of a
/// queue.
struct PoolBlock {
    enum Kind {
        /// The initialization handler, the configuration of a connection, or a key change.
        case setup
        case reading
        case writing
    }

    let kind: Kind
    private let pool: UnsafeMutableRawPointer
    private let outer: UnsafePointer<PoolBlock>?
    /// The block's connection, which is alive as long as the block runs.
    private let unretainedStore: Unmanaged<SecureDatabaseStore>

    var store: SecureDatabaseStore { unretainedStore.takeUnretainedValue() }

    /// Returns the block of `pool` that the calling thread is in, or nil if it is in none.
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
        // Unsafe only to the compiler, which regards the value as part of `block`.
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
