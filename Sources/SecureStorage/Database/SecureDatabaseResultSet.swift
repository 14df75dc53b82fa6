/// The rows of a query, read one at a time.
///
/// ```swift
/// let rs = try db.executeQuery("SELECT id, text, at FROM note")
/// while try rs.next() {
///     let id = try rs.value(forColumnName: "id", as: Int64.self)
///     let text = try rs.value(forColumnName: "text", as: String.self)
///     print(id ?? 0, text ?? "", rs["at"] ?? .null)
/// }
/// ```
///
/// A result set belongs to the thread of its store. It keeps the store alive, and keeps its
/// statement busy until it reaches its end, is closed with ``close()`` or loses its last reference.
public class SecureDatabaseResultSet {
    private enum State {
        case beforeFirstRow
        case onRow
        case atEnd
        case closed
    }

    /// The SQL text.
    public var query: String { statement.sql }

    let statement: Statement
    /// The sequence number of this result set within its store.
    let number: Int
    private let store: SecureDatabaseStore
    @exclusivity(unchecked) private var state = State.beforeFirstRow
    /// The number of columns of the current row; 0 when no row is current.
    @exclusivity(unchecked) private(set) var readableColumns = 0
    /// The type last decoded; see `decode(_:dates:)`.
    @exclusivity(unchecked) var lastDecodedType: (identifier: ObjectIdentifier, isColumn: Bool)?
    /// The adjacent ones in the store's list of open result sets.
    @exclusivity(unchecked) private var older: Unmanaged<SecureDatabaseResultSet>?
    @exclusivity(unchecked) private var newer: Unmanaged<SecureDatabaseResultSet>?

    init(_ statement: Statement, of store: SecureDatabaseStore) {
        self.statement = statement
        self.store = store
        store.session.resultSetCount += 1
        number = store.session.resultSetCount
        older = store.session.newestResultSet
        older?._withUnsafeGuaranteedRef { $0.newer = .passUnretained(self) }
        store.session.newestResultSet = .passUnretained(self)
    }

    deinit { close() }

    /// Advances to the next row; the first call advances to the first row.
    ///
    /// - Returns: false at the end, also when called again there.
    /// - Throws: `.backingStoreError` with SQLite's code and message, after which the result set is
    ///   closed; `.closed` when the result set was closed before its end, also by its store or
    ///   queue.
    ///
    /// The corresponding C function is [`sqlite3_step`](https://sqlite.org/c3ref/step.html).
    public func next() throws -> Bool {
        switch state {
        case .atEnd: return false
        case .closed: throw SecureStorageError.closed
        case .beforeFirstRow:
            // Nothing has run yet, and the statement might write.
            try store.requireWorking(statement.connection)
        case .onRow: break
        }
        do {
            guard try statement.step() else {
                finish(.atEnd)
                return false
            }
        } catch {
            finish(.closed)
            throw error
        }
        if state == .beforeFirstRow {
            statement.refreshColumns()
            state = .onRow
            readableColumns = statement.knownColumnCount
        }
        return true
    }

    /// Releases the statement.
    ///
    /// Has no effect at the end, when already closed, and after the store has closed.
    public func close() {
        if state == .beforeFirstRow || state == .onRow { finish(.closed) }
    }

    private func finish(_ end: State) {
        state = end
        readableColumns = 0
        statement.giveBack()
        older?._withUnsafeGuaranteedRef { $0.newer = newer }
        if let newer {
            newer._withUnsafeGuaranteedRef { $0.older = older }
        } else {
            store.session.newestResultSet = older
        }
        older = nil
        newer = nil
    }

    /// Whether the statement still belongs to this result set, which is neither at its end nor
    /// closed.
    var isOpen: Bool { state == .beforeFirstRow || state == .onRow }

    /// Whether a row is current; false in a child made with `fork()`, where reading a long value
    /// would access the file.
    @inline(__always)
    var isOnRow: Bool { state == .onRow && statement.isAtHome }

    var isClosed: Bool { state == .closed }

    /// Returns the index if a row is current and has that column.
    @inline(__always)
    func column(_ index: Int) -> Int? {
        // A negative index is a large unsigned one.
        UInt(bitPattern: index) < UInt(bitPattern: readableColumns) && statement.isAtHome
            ? index : nil
    }

    /// Returns the index of the column with that name if a row is current.
    @inline(__always)
    func column(_ name: String) -> Int? {
        isOnRow ? statement.columnIndex(named: name) : nil
    }
}

@available(
    *, unavailable, message: "a result set belongs to its store's thread; return its values instead"
)
extension SecureDatabaseResultSet: Sendable {}
