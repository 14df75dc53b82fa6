/// Prepared statements by their SQL text; the least recently used are evicted first.
///
/// A statement in use stays in the cache but is never handed out a second time: a caller that
/// requests the same SQL in the meantime prepares a separate one. Not thread-safe, like its
/// connection.
final class StatementCache {
    let capacity: Int
    @exclusivity(unchecked) private var statements: [ByteString: Statement] = [:]
    /// The statements last requested with a text in the same storage, as a literal's is: finding
    /// them reads no text.
    ///
    /// Not an array, where each access would need an exclusivity check.
    private let recent: UnsafeMutablePointer<Statement?>
    private static let recentCount = 16
    @exclusivity(unchecked) private var clock = 0

    init(capacity: Int) {
        self.capacity = capacity
        recent = .allocate(capacity: Self.recentCount)
        recent.initialize(repeating: nil, count: Self.recentCount)
    }

    deinit {
        recent.deinitialize(count: Self.recentCount)
        recent.deallocate()
    }

    var count: Int { statements.count }

    /// Returns the free statement for `sql`, marked as in use; nil when none is free.
    func checkOut(_ sql: String) -> Statement? {
        let identity = TextIdentity(sql)
        let slot = identity.slot(of: Self.recentCount)
        if let statement = recent[slot], statement.identity == identity {
            return checkOut(statement)
        }
        guard let statement = statements[ByteString(sql)] else { return nil }
        if statement.identity == identity { recent[slot] = statement }
        return checkOut(statement)
    }

    private func checkOut(_ statement: Statement) -> Statement? {
        guard !statement.use.isInUse else { return nil }
        statement.use.isInUse = true
        touch(statement)
        return statement
    }

    /// Adds a statement that its creator is using, unless its SQL is in the cache already.
    func insertCheckedOut(_ statement: Statement) {
        guard statements[ByteString(statement.sql)] == nil else { return }
        touch(statement)
        statements[ByteString(statement.sql)] = statement
        statement.use.isCached = true
        while statements.count > capacity, evict() {}
    }

    /// Finalises every statement; those in use are finalised when they are given back.
    func removeAll() {
        for statement in statements.values { drop(statement) }
        statements.removeAll()
    }

    private func drop(_ statement: Statement) {
        let slot = statement.identity.slot(of: Self.recentCount)
        if recent[slot] === statement { recent[slot] = nil }
        statement.use.isCached = false
        if !statement.use.isInUse { statement.finalize() }
    }

    private func touch(_ statement: Statement) {
        clock += 1
        statement.use.last = clock
    }

    /// Removes the least recently used free statement; returns false when every one is in use.
    private func evict() -> Bool {
        // A scan, but only when a statement was prepared, which costs far more.
        let free = statements.values.lazy.filter { !$0.use.isInUse }
        guard let oldest = free.min(by: { $0.use.last < $1.use.last }) else { return false }
        statements[ByteString(oldest.sql)] = nil
        drop(oldest)
        return true
    }
}
