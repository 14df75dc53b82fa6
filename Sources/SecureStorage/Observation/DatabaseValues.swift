/// A value that is read from a database again and again, as often as it may have changed, for `for
/// await`.
///
/// ```swift
/// let counts = pool.values { db in
///     try db.int(forQuery: "SELECT count(*) FROM note") ?? 0
/// }
/// for await count in counts {
///     print(try count.get(), "notes")
/// }
/// ```
///
/// The first value comes at once. Then the closure runs again after each commit on a table that it
/// has read the last time, after each change of the schema, and after commits of other processes,
/// whose tables are not known. A value like the one before is not told again. What is committed
/// while it runs leads to one more run.
///
/// An error is told as a failure, and does not end the sequence: the next commit leads to the next
/// run.
///
/// What the closure reads is noted by table: pragmas, temporary tables and attached databases are
/// not. It must not write. Each iteration runs it on its own, until its task is cancelled.
public struct DatabaseValues<Value: Equatable & Sendable>: AsyncSequence, Sendable {
    /// What a loop gets.
    public typealias Element = Result<Value, any Error>

    /// Reads the value, and says which tables it has read.
    typealias Reading = @Sendable () async throws -> (Value, ObservedTables)

    let store: ObservedStore
    let read: Reading

    /// Begins to observe.
    ///
    /// - Returns: An iterator that is an observer until its last copy goes.
    public func makeAsyncIterator() -> Iterator {
        let buffer = ChangeBuffer(.all, wantsRowIDs: false, wantsShadows: true)
        // A run before that moment may have missed a commit that nobody will tell of.
        let observer = Observer(store, buffer) { buffer.add(.foreign) }
        return Iterator(observer: observer, read: read)
    }

    /// Reads the values of one iteration.
    public struct Iterator: AsyncIteratorProtocol {
        let observer: Observer
        let read: Reading
        private var last: Element?

        init(observer: Observer, read: @escaping Reading) {
            self.observer = observer
            self.read = read
        }

        /// The first value, or the next that differs from the one before.
        ///
        /// - Returns: nil when the task is cancelled, and ever after.
        public mutating func next() async -> Element? {
            while true {
                if last == nil {
                    guard !Task.isCancelled else { return nil }
                } else {
                    guard await observer.next() != nil else { return nil }
                }
                let value = await run()
                guard !Task.isCancelled else {
                    observer.end()
                    return nil
                }
                if let last, Self.isSame(last, value) { continue }
                last = value
                return value
            }
        }

        private func run() async -> Element {
            // What was told before is seen by this run; until it is known what it reads, everything
            // counts.
            observer.buffer.observeAll()
            do {
                let (value, tables) = try await read()
                observer.buffer.observe(tables)
                return .success(value)
            } catch {
                return .failure(error)
            }
        }

        private static func isSame(_ one: Element, _ other: Element) -> Bool {
            switch (one, other) {
            case (.success(let one), .success(let other)): one == other
            case (.failure(let one), .failure(let other)):
                String(reflecting: one) == String(reflecting: other)
            default: false
            }
        }
    }
}

extension SecureDatabaseReader {
    /// The value of a query, now and whenever it has changed.
    ///
    /// - Parameter read: Runs as a `read`, on a separate thread.
    /// - Returns: A sequence without end; see ``DatabaseValues``.
    public func values<Value: Equatable & Sendable>(
        of read: @escaping @Sendable (SecureDatabaseStore) throws -> Value
    ) -> DatabaseValues<Value> {
        DatabaseValues(store: access.point.observed) { [self] in
            try await self.read { try $0.notingTables(read) }
        }
    }
}

extension SecureDatabaseStore {
    /// Runs `body` and notes the tables that its statements read.
    fileprivate func notingTables<T>(
        _ body: (SecureDatabaseStore) throws -> T
    ) throws -> (T, ObservedTables) {
        let connection = try openConnection()
        try connection.beginNotingTables()
        defer { connection.readTables = nil }
        let value = try body(self)
        // Another connection: what was read with it is not known.
        guard self.connection === connection, let names = connection.readTables else {
            return (value, .all)
        }
        return (value, .only(names.union(["sqlite_schema"])))
    }
}
