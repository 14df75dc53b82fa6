/// The rows of a query, one after the other, for `for try await`.
///
/// ```swift
/// let notes = pool.rows(as: Note.self) { try $0.executeQuery("SELECT * FROM note") }
/// for try await note in notes {
///     print(note.text)
/// }
/// ```
///
/// The query runs on a connection of its own, on a thread of its own, and sees the file as it is
/// when the first row is asked for, whatever the loop and others write meanwhile. Rows are read
/// when the loop asks for them, at most 64 ahead, so that a result of any length takes little
/// memory.
///
/// Each iteration runs the query anew. The connection is closed at the end of the rows, and when
/// the loop is left. Until then the file's log keeps what the snapshot may need: a loop that waits
/// for long lets it grow, and in the journal mode `.delete` nobody can write. A change of the key
/// does not disturb the loop; closing the pool or the store ends it with `.closed`, a suspension
/// with `.suspended`. Cancelling the task interrupts the query and throws `CancellationError`.
public struct SecureDatabaseRows<Element: Sendable>: AsyncSequence, Sendable {
    let makeReader: @Sendable (any EndableRows) throws -> RowReader
    let query: @Sendable (SecureDatabaseStore) throws -> SecureDatabaseResultSet
    let transform: @Sendable (SecureDatabaseResultSet) throws -> Element

    /// Begins an iteration; nothing is read yet.
    ///
    /// - Returns: An iterator with a connection of its own.
    public func makeAsyncIterator() -> Iterator {
        Iterator(cursor: RowCursor(self))
    }

    /// Reads the rows of one iteration.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let cursor: RowCursor<Element>
        private var batch: [Element] = []
        private var position = 0
        private var isAtEnd = false

        fileprivate init(cursor: RowCursor<Element>) { self.cursor = cursor }

        /// The next row.
        ///
        /// - Returns: nil at the end, and after an error.
        /// - Throws: What the query, reading a row and the closures throw; `.closed`, `.suspended`;
        ///   `CancellationError`.
        public mutating func next() async throws -> Element? {
            while position == batch.count {
                guard !isAtEnd else { return nil }
                // What follows an error is the end.
                isAtEnd = true
                (batch, isAtEnd) = try await cursor.nextBatch()
                position = 0
            }
            defer { position += 1 }
            return batch[position]
        }
    }
}

extension SecureDatabaseReader {
    /// The rows of a query, each made into a value.
    ///
    /// The query runs on a separate connection, which takes none of a pool's readers. It waits for
    /// its turn once, at its first row; the loop may use the queue or the pool. On a queue it sees
    /// what is committed, and neither the temporary tables nor the functions and collations of the
    /// store; on a pool the connection has been through `configure`.
    ///
    /// - Parameters:
    ///   - query: Runs a query on the store that it receives, a read-only one on the same file.
    ///   - transform: Makes a value of the current row; it does not advance the result set.
    /// - Returns: Rows that are read as a loop requests them.
    public func rows<Element: Sendable>(
        of query: @escaping @Sendable (SecureDatabaseStore) throws -> SecureDatabaseResultSet,
        map transform: @escaping @Sendable (SecureDatabaseResultSet) throws -> Element
    ) -> SecureDatabaseRows<Element> {
        let point = access.point
        return SecureDatabaseRows(
            makeReader: { try point.makeRowReader($0) }, query: query, transform: transform)
    }

    /// The rows of a query as a `Decodable` type.
    ///
    /// Otherwise as ``rows(of:map:)``.
    ///
    /// - Parameters:
    ///   - type: See ``SecureDatabaseResultSet/decode(_:dates:)``.
    ///   - dates: How dates are stored.
    ///   - query: Runs a query on the store that it receives.
    /// - Returns: Rows that are read as a loop requests them.
    public func rows<Element: Decodable & Sendable>(
        as type: Element.Type = Element.self,
        dates: SecureDatabaseResultSet.DateDecodingStrategy = .secondsSince1970,
        _ query: @escaping @Sendable (SecureDatabaseStore) throws -> SecureDatabaseResultSet
    ) -> SecureDatabaseRows<Element> {
        rows(of: query) { try $0.decode(type, dates: dates) }
    }
}
