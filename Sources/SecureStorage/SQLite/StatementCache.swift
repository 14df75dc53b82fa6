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
    /// The statements last requested with these texts around interpolated values.
    private let interpolated: UnsafeMutablePointer<Interpolated?>

    private struct Interpolated {
        let pieces: [(text: TextIdentity, kind: SQL.Piece.Kind)]
        /// Keeps the storage of the texts alive, so that no other text can have the same identity.
        let texts: [String]
        let statement: Statement

        func matches(_ pieces: [SQL.Piece]) -> Bool {
            guard statement.use.isCached, self.pieces.count == pieces.count else { return false }
            // Copying a piece costs more than comparing it.
            return pieces.withUnsafeBufferPointer { pieces in
                self.pieces.withUnsafeBufferPointer { known in
                    for index in known.indices {
                        guard known[index].kind == pieces[index].kind,
                            known[index].text == TextIdentity(pieces[index].text)
                        else { return false }
                    }
                    return true
                }
            }
        }
    }

    @exclusivity(unchecked) private var clock = 0

    init(capacity: Int) {
        self.capacity = capacity
        recent = .allocate(capacity: Self.recentCount)
        recent.initialize(repeating: nil, count: Self.recentCount)
        interpolated = .allocate(capacity: Self.recentCount)
        interpolated.initialize(repeating: nil, count: Self.recentCount)
    }

    deinit {
        recent.deinitialize(count: Self.recentCount)
        recent.deallocate()
        interpolated.deinitialize(count: Self.recentCount)
        interpolated.deallocate()
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

    /// Returns the free statement that these pieces had last, marked as in use; nil if none is
    /// known to be free.
    func checkOut(_ pieces: [SQL.Piece]) -> Statement? {
        let slot = Self.slot(of: pieces)
        guard interpolated[slot]?.matches(pieces) == true,
            let statement = interpolated[slot]?.statement
        else { return nil }
        return checkOut(statement)
    }

    /// Keeps a statement for the next request with the same literals.
    func remember(_ statement: Statement, for pieces: [SQL.Piece]) {
        guard statement.use.isCached else { return }
        interpolated[Self.slot(of: pieces)] = Interpolated(
            pieces: pieces.map { (TextIdentity($0.text), $0.kind) }, texts: pieces.map(\.text),
            statement: statement)
    }

    private static func slot(of pieces: [SQL.Piece]) -> Int {
        // Many statements begin or end alike.
        pieces.withUnsafeBufferPointer { pieces in
            let first = TextIdentity(pieces[0].text).slot(of: recentCount)
            guard pieces.count > 1 else { return first }
            return first ^ TextIdentity(pieces[pieces.count - 1].text).slot(of: recentCount)
        }
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
        interpolated.update(repeating: nil, count: Self.recentCount)
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
