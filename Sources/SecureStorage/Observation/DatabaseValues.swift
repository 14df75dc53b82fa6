/// An asynchronous sequence of a value that is read from a database again whenever it may have
/// changed.
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
/// The first value is delivered immediately. The closure then runs again after each commit to a
/// table that its last run read, after each schema change, and after each commit of another process
/// if its tables are unknown. A value equal to the previous one is not delivered. Commits during a
/// run lead to one more run.
///
/// An error is delivered as `.failure`; the sequence continues, and the next commit leads to the
/// next run.
///
/// Reads are tracked by table, but not those of pragmas, temporary tables and attached databases.
/// The closure must not write. Each iteration runs it separately until its task is cancelled.
public struct DatabaseValues<Value: Equatable & Sendable>: AsyncSequence, Sendable {
    /// The type of the sequence's elements.
    public typealias Element = Result<Value, any Error>

    /// Reads the value, and returns it with the tables that it was read from.
    typealias Reading = @Sendable () async throws -> (Value, ObservedTables)

    let store: ObservedStore
    let read: Reading

    /// Starts observing.
    ///
    /// - Returns: An iterator that observes until its last copy is destroyed.
    public func makeAsyncIterator() -> Iterator {
        let buffer = ChangeBuffer(.all, wantsRowIDs: false, wantsShadows: true)
        // A run before following begins may miss a commit that is never reported.
        let observer = Observer(store, buffer) { buffer.add(.foreign) }
        return Iterator(observer: observer, read: read)
    }

    /// An iterator that reads the values.
    public struct Iterator: AsyncIteratorProtocol {
        let observer: Observer
        let read: Reading
        private var last: Element?

        init(observer: Observer, read: @escaping Reading) {
            self.observer = observer
            self.read = read
        }

        /// Returns the first value, or waits for one that differs from the previous one.
        ///
        /// - Returns: The value or error; nil when the task is cancelled, and from then on.
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
            // This run sees all changes reported so far. Until its tables are known, every change
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
