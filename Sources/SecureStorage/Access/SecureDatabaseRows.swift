/// The rows of a query, one after another, for `for try await`.
///
/// ```swift
/// let notes = pool.rows(as: Note.self) { try $0.executeQuery("SELECT * FROM note") }
/// for try await note in notes {
///     print(note.text)
/// }
/// ```
///
/// The query runs on a separate connection and thread, and sees the file as it is when the first
/// row is requested, regardless of later writes by the loop or others. Rows are read when the loop
/// requests them, at most 64 ahead, so that a result of any length needs little memory.
///
/// Each iteration runs the query again. The connection is closed at the end of the rows, or when
/// the loop is left. Until then the file's log keeps what the snapshot may need: a loop that waits
/// for a long time lets it grow, and in the journal mode `.delete` no connection can write. A key
/// change does not disturb the loop; closing the pool or the store ends it with `.closed`, a
/// suspension with `.suspended`. Cancelling the task interrupts the query and throws
/// `CancellationError`.
public struct SecureDatabaseRows<Element: Sendable>: AsyncSequence, Sendable {
    let makeReader: @Sendable (any EndableRows) throws -> RowReader
    /// Begins reading on a store, and returns what gives the elements one after another.
    let begin: @Sendable (SecureDatabaseStore) throws -> () throws -> Element?

    /// Begins an iteration, without reading anything yet.
    ///
    /// - Returns: An iterator with its own connection.
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

        /// Returns the next row.
        ///
        /// - Returns: The row; nil at the end, and after an error.
        /// - Throws: The errors of the query, of reading a row and of the closures; `.closed`,
        ///   `.suspended`; `CancellationError`.
        public mutating func next() async throws -> Element? {
            while position == batch.count {
                guard !isAtEnd else { return nil }
                // An error ends the sequence.
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
    /// Returns the rows of a query, each converted to a value.
    ///
    /// The query runs on a separate connection, which is not one of a pool's readers. It waits for
    /// its turn once, at its first row; the loop may use the queue or the pool. On a queue it sees
    /// only what is committed, and neither the temporary tables nor the functions and collations of
    /// the store; on a pool, `configure` has been called for the connection.
    ///
    /// - Parameters:
    ///   - query: Runs a query on the store that it receives, a read-only one on the same file.
    ///   - transform: Converts the current row to a value; it must not advance the result set.
    /// - Returns: Rows that are read as a loop requests them.
    public func rows<Element: Sendable>(
        of query: @escaping @Sendable (SecureDatabaseStore) throws -> SecureDatabaseResultSet,
        map transform: @escaping @Sendable (SecureDatabaseResultSet) throws -> Element
    ) -> SecureDatabaseRows<Element> {
        let point = access.point
        return SecureDatabaseRows(makeReader: { try point.makeRowReader($0) }) { store in
            let rows = try query(store)
            return { try rows.next() ? transform(rows) : nil }
        }
    }

    /// Returns the rows of a query as a `Decodable` type.
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
